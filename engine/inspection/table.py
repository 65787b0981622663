"""Parse a RocksDB table (SST file): sorted keys and values of a partition of an operator's state.

    data blocks         keys that share prefixes with the previous key, and values
    other blocks        a filter, properties
    index block         the positions of the data blocks
    footer              the position of the index, the kind of checksums, the version, a magic number

After each block come its compression and its checksum. Each key ends with 8 bytes of RocksDB: the sequence number of
the change, and whether it has put or removed the key.
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
