"""Parse the files in which Spark keeps a partition of an operator's state: RocksDB tables (SST files), and changelogs
of an epoch.

Parse a RocksDB table (SST file): sorted keys and values of a partition of an operator's state.

    data blocks         keys that share prefixes with the previous key, and values
    other blocks        a filter, properties
    index block         the positions of the data blocks
    footer              the position of the index, the kind of checksums, the version, a magic number

After each block come its compression and its checksum. Each key ends with 8 bytes of RocksDB: the sequence number of
the change, and whether it has put or removed the key.

Parse a changelog of Spark's state: the changes of one epoch to a partition of an operator's state.

    LZ4Block ... LZ4Block ...      compressed blocks, each with a checksum
    v3 [lineage]                   the version, and the ids of earlier changelogs
    key value, key -1, ...         a value, or -1 for a removed key
    -1

In versions 2 and 4 a byte before each record is its type, and a byte 0 ends them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import xxhash

from engine.inspection.bytes_read import BytesReader, NotAsWrittenError, unpack_lz4

_MAGIC = 0x88E241B785F4CFF7
_FOOTER = 53
_VERSIONS = (3, 4, 5)
_NOT_PACKED, _LZ4, _LZ4HC = 0, 4, 5
_XXH3 = 4
_PRIME = 0x6B9083D9
_REMOVED, _PUT, _REMOVED_ONCE = 0, 1, 7


class Change(NamedTuple):
    """A key of a store, the sequence number of the change, and the new value; None for a removed key."""

    key: bytes
    number: int
    value: bytes | None


class _Handle(NamedTuple):
    offset: int
    size: int


def read_table(path: Path) -> Iterator[Change]:
    """Yield the changes that a table holds, in the order of their keys; raises NotAsWrittenError."""
    content = path.read_bytes()
    if len(content) < _FOOTER:
        raise NotAsWrittenError("ends too early" if content else "is empty")
    if int.from_bytes(content[-8:], "little") != _MAGIC:
        raise NotAsWrittenError("does not end as a table of RocksDB does")
    if int.from_bytes(content[-12:-8], "little") not in _VERSIONS:
        raise NotAsWrittenError("is of a version that is not known")
    footer = BytesReader(content, len(content) - _FOOTER)
    sums = footer.number(1)
    names, index = _handle(footer), _handle(footer)
    for _, place in _entries(_block(content, names, sums)):
        _block(content, _handle(BytesReader(place)), sums)  # not needed here, but RocksDB reads it
    for handle in _handles(_block(content, index, sums)):
        for key, value in _entries(_block(content, handle, sums)):
            yield _change(key, value)


def _handle(reader: BytesReader) -> _Handle:
    return _Handle(reader.varint(), reader.varint())


def _change(key: bytes, value: bytes) -> Change:
    if len(key) < 8:
        raise NotAsWrittenError("has a key that is too short")
    mark = int.from_bytes(key[-8:], "little")
    number, kind = mark >> 8, mark & 0xFF
    if kind not in (_REMOVED, _PUT, _REMOVED_ONCE):
        raise NotAsWrittenError(f"has a change of a kind that is not known: {kind}")
    return Change(key[:-8], number, value if kind == _PUT else None)


def _block(content: bytes, handle: _Handle, sums: int) -> bytes:
    reader = BytesReader(content, handle.offset)
    block, packing = reader.take(handle.size), reader.take(1)[0]
    if not _is_whole(block, packing, int.from_bytes(reader.take(4), "little"), sums):
        raise NotAsWrittenError("has a block that differs from its sum")
    if packing == _NOT_PACKED:
        return block
    unpacked = BytesReader(block)
    length = unpacked.varint()
    if packing in (_LZ4, _LZ4HC):
        return unpack_lz4(block[unpacked.at :], length)
    raise NotAsWrittenError(f"has a block that is packed in an unknown way: {packing}")


def _is_whole(block: bytes, packing: int, wanted: int, sums: int) -> bool:
    if sums != _XXH3:
        raise NotAsWrittenError(f"has sums of a kind that Spark does not make: {sums}")
    return (xxhash.xxh3_64_intdigest(block) ^ packing * _PRIME) & 0xFFFFFFFF == wanted


def _handles(index: bytes) -> Iterator[_Handle]:
    """Yield the location of each data block. A block is recorded by offset and size, or only by the difference of its
    size from the block before it."""
    reader, end = BytesReader(index), _end_of_entries(index)
    last = _Handle(0, 0)
    while reader.at < end:
        shared = reader.varint()
        reader.take(reader.varint())
        if shared == 0:
            last = _handle(reader)
        else:
            coded = reader.varint()
            last = _Handle(last.offset + last.size + 5, last.size + ((coded >> 1) ^ -(coded & 1)))
        yield last


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    reader, end, key = BytesReader(block), _end_of_entries(block), b""
    while reader.at < end:
        shared, own, length = reader.varint(), reader.varint(), reader.varint()
        if shared > len(key):
            raise NotAsWrittenError("has a key that shares too much")
        key = key[:shared] + reader.take(own)
        yield key, reader.take(length)


def _end_of_entries(block: bytes) -> int:
    """Return the end of a block's entries, which are followed by the positions of complete keys, and their number."""
    restarts = int.from_bytes(block[-4:], "little") & 0x7FFFFFFF
    end = len(block) - 4 - 4 * restarts
    if len(block) < 4 or end < 0:
        raise NotAsWrittenError("has a block that ends too early")
    return end


_CHANGELOG_MAGIC = b"LZ4Block"
_STORED, _PACKED = 0x10, 0x20
_SEED, _MASK = 0x9747B28C, 0x0FFFFFFF
_END, _CHANGED, _DELETE = 0, 1, 16


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
        if kind not in (_CHANGED, _DELETE):
            raise NotAsWrittenError(f"has a record of a kind that is not known: {kind}")
        key = reader.take(reader.number(4))
        yield key, _value(reader)


def _value(reader: BytesReader) -> bytes | None:
    length = reader.number(4, is_signed=True)
    return None if length < 0 else reader.take(length)


def _unpacked(packed: bytes) -> bytes:
    reader, blocks = BytesReader(packed), []
    while not reader.is_at_end:
        if reader.take(len(_CHANGELOG_MAGIC)) != _CHANGELOG_MAGIC:
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
