"""Hadoop's checksum files: `.offsets.crc` for `offsets`.

    crc 0               a magic number of four bytes
    512                 number of bytes per checksum
    CRC-32, CRC-32 ...

Hadoop verifies them whenever it reads the file, and ignores a missing checksum file, as in a restored state.
"""

from __future__ import annotations

import zlib
from pathlib import Path

from engine.inspection.bytes_read import NotAsWrittenError

_MARK = b"crc\0"
_LARGEST = 1 << 20
"""Largest number of bytes per checksum, for which Hadoop allocates a buffer; 512 by default."""


class SumsUnreadableError(NotAsWrittenError):
    """The checksum file is invalid."""


def sums_of(path: Path) -> Path:
    """Return the path of a file's checksums, if there are any."""
    return path.with_name(f".{path.name}.crc")


def has_sums(path: Path) -> bool:
    """Whether a file is what its sums say; False when there are none. Raises NotAsWrittenError when it differs."""
    try:
        sums = sums_of(path).read_bytes()
    except FileNotFoundError:
        return False
    size = int.from_bytes(sums[4:8], "big")
    if sums[:4] != _MARK or len(sums) % 4 or not 0 < size <= _LARGEST:
        raise SumsUnreadableError("has a file of checksums that cannot be read")
    with path.open("rb") as content:
        for at in range(8, len(sums), 4):
            block = content.read(size)
            if not block or zlib.crc32(block) != int.from_bytes(sums[at : at + 4], "big"):
                raise NotAsWrittenError("differs from its sum")
        if content.read(1):
            raise NotAsWrittenError("is longer than its sums say")
    return True
