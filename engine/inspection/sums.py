"""The sums that Hadoop keeps of a file: `.offsets.crc` beside `offsets`.

    crc 0               a mark of four bytes
    512                 how many bytes of the file each sum is of
    CRC-32, CRC-32 ...

Hadoop compares them whenever it reads the file, and does without where there is no such file, as in what was restored.
"""

from __future__ import annotations

import zlib
from pathlib import Path

from engine.inspection.bytes_read import NotAsWrittenError

_MARK = b"crc\0"
_LARGEST = 1 << 20
"""Hadoop makes room for as many bytes as one sum is of; 512, unless somebody has set it."""


class SumsUnreadableError(NotAsWrittenError):
    """The file with the sums is none."""


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
