"""Parse a changelog of Spark's state: the changes of one epoch to a partition of an operator's state.

    LZ4Block ... LZ4Block ...      compressed blocks, each with a checksum
    v3 [lineage]                   the version, and the ids of earlier changelogs
    key value, key -1, ...         a value, or -1 for a removed key
    -1

In versions 2 and 4 a byte before each record is its type, and a byte 0 ends them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import xxhash

from engine.inspection.bytes_read import BytesReader, NotAsWrittenError, unpack_lz4

_MAGIC = b"LZ4Block"
_STORED, _PACKED = 0x10, 0x20
_SEED, _MASK = 0x9747B28C, 0x0FFFFFFF
_END, _PUT, _DELETE = 0, 1, 16


def read_changes(path: Path) -> Iterator[tuple[bytes, bytes | None]]:
    """Yield each key with its new value, None for one that is gone; raises NotAsWrittenError."""
    reader = BytesReader(_unpacked(path.read_bytes()))
    version = reader.take(reader.number(2)).decode(errors="replace")
    if version not in ("v1", "v2", "v3", "v4"):
        raise NotAsWrittenError(f"is of a version that is not known: {version!r}")
    if version in ("v3", "v4"):
        reader.take(reader.number(2))
    yield from _plain_records(reader) if version in ("v1", "v3") else _typed_records(reader)
    if not reader.is_at_end:
        raise NotAsWrittenError("goes on behind its end")


def _plain_records(reader: BytesReader) -> Iterator[tuple[bytes, bytes | None]]:
    while (length := reader.number(4, is_signed=True)) >= 0:
        key = reader.take(length)
        yield key, _value(reader)


def _typed_records(reader: BytesReader) -> Iterator[tuple[bytes, bytes | None]]:
    while (kind := reader.number(1)) != _END:
        if kind not in (_PUT, _DELETE):
            raise NotAsWrittenError(f"has a record of a kind that is not known: {kind}")
        key = reader.take(reader.number(4))
        yield key, _value(reader)


def _value(reader: BytesReader) -> bytes | None:
    length = reader.number(4, is_signed=True)
    return None if length < 0 else reader.take(length)


def _unpacked(packed: bytes) -> bytes:
    reader, blocks = BytesReader(packed), []
    while not reader.is_at_end:
        if reader.take(len(_MAGIC)) != _MAGIC:
            raise NotAsWrittenError("is not packed as Spark packs it")
        method = reader.take(1)[0] & 0xF0
        packed_length, length, wanted = (int.from_bytes(reader.take(4), "little") for _ in range(3))
        content = reader.take(packed_length)
        if method not in (_STORED, _PACKED):
            raise NotAsWrittenError("has a block that is packed in an unknown way")
        block = content if method == _STORED else unpack_lz4(content, length)
        # the last block is empty, and its sum is zero
        if len(block) != length or (length and xxhash.xxh32_intdigest(block, _SEED) & _MASK != wanted):
            raise NotAsWrittenError("has a block that differs from its sum")
        blocks.append(block)
    if not blocks:
        raise NotAsWrittenError("is empty")
    return b"".join(blocks)
