"""Read and write the footer of a Parquet file (Thrift compact protocol) as plain values.

    one file         {2: schema, 3: 5 rows, 4: [group at byte 4]}, 100 bytes of row groups
    another file     {2: schema, 3: 2 rows, 4: [group at byte 4]}
    both as one      {2: schema, 3: 7 rows, 4: [group at byte 4, group at byte 104]}

Files of one schema can be joined without decoding them: their row groups are copied unchanged, and every offset in the
footer is shifted. The code interprets only the field numbers below; all others are copied. See
`docs/decisions/files-are-built-of-segments.md`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

Fields: TypeAlias = "dict[int, tuple[int, Any]]"
"""Fields of a structure by number, each with its type in the compact protocol."""

MAGIC = b"PAR1"
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_INTEGERS = {4, 5, 6}

_SCHEMA, _ROWS, _GROUPS = 2, 3, 4
_COLUMNS, _GROUP_OFFSET, _ORDINAL = 1, 5, 7
_CHUNK_OFFSETS, _METADATA = (2, 4, 6), 3
_COLUMN_OFFSETS = (9, 10, 11, 14)


@dataclass(frozen=True, slots=True)
class Footer:
    """A footer; `fields` are the fields of the file's metadata."""

    fields: Fields

    @classmethod
    def read(cls, content: bytes) -> Footer:
        """Parse a footer from its bytes, without its length and the magic word."""
        return cls(_Reader(content).struct())

    @property
    def schema(self) -> Any:
        """Return the columns."""
        return self.fields[_SCHEMA][1]

    def moved(self, by: int) -> Footer:
        """Return the footer of a file whose row groups are moved by this many bytes."""
        return Footer(self.fields | {_GROUPS: _each(self.fields[_GROUPS], lambda group: _moved_group(group, by))})

    def joined(self, footers: list[Footer]) -> Footer:
        """Return the footer of a file with the row groups of several, in order."""
        groups = [group for footer in (self, *footers) for group in footer.fields[_GROUPS][1][1]]
        numbered = [group | {_ORDINAL: (4, at)} if at < 2**15 else _without(group) for at, group in enumerate(groups)]
        rows = sum(footer.fields[_ROWS][1] for footer in (self, *footers))
        return replace(self, fields=self.fields | {_ROWS: (6, rows), _GROUPS: (_LIST, (_STRUCT, numbered))})

    def to_bytes(self) -> bytes:
        """Return the bytes of the footer in a file, with its length and the magic word."""
        out = bytearray()
        _write_struct(out, self.fields)
        return bytes(out) + struct.pack("<I", len(out)) + MAGIC


def _each(field: tuple[int, Any], change: Any) -> tuple[int, Any]:
    kind, (element, values) = field
    return kind, (element, [change(value) for value in values])


def _moved_group(group: Fields, by: int) -> Fields:
    columns = _each(group[_COLUMNS], lambda chunk: _moved_chunk(chunk, by))
    return _moved_numbers(group, (_GROUP_OFFSET,), by) | {_COLUMNS: columns}


def _moved_chunk(chunk: Fields, by: int) -> Fields:
    kind, metadata = chunk[_METADATA]
    return _moved_numbers(chunk, _CHUNK_OFFSETS, by) | {
        _METADATA: (kind, _moved_numbers(metadata, _COLUMN_OFFSETS, by))
    }


def _moved_numbers(fields: Fields, numbers: tuple[int, ...], by: int) -> Fields:
    # some writers put zero for "unknown"
    return fields | {at: (fields[at][0], fields[at][1] + by) for at in numbers if at in fields and fields[at][1] > 0}


def _without(group: Fields) -> Fields:
    return {number: field for number, field in group.items() if number != _ORDINAL}


class _Reader:
    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def struct(self) -> Fields:
        return dict(self._fields())

    def _fields(self) -> Iterator[tuple[int, tuple[int, Any]]]:
        number = 0
        while head := self._byte():
            kind = head & 15
            number = number + (head >> 4) if head >> 4 else self._zigzag()
            yield number, (kind, kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind))

    def _value(self, kind: int) -> Any:
        if kind in _INTEGERS:
            return self._zigzag()
        if kind == _BINARY:
            return self._take(self._varint())
        if kind == _STRUCT:
            return self.struct()
        if kind in (_LIST, _SET):
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._varint()
            return head & 15, [self._value(head & 15) for _ in range(count)]
        if kind in (_TRUE, _FALSE, _BYTE):
            return self._byte()
        if kind == _DOUBLE:
            return self._take(8)
        raise ValueError(kind)

    def _byte(self) -> int:
        return self._take(1)[0]

    def _take(self, count: int) -> bytes:
        self._at += count
        return self._content[self._at - count : self._at]

    def _varint(self) -> int:
        number = shift = 0
        while (byte := self._byte()) & 128:
            number |= (byte & 127) << shift
            shift += 7
        return number | byte << shift

    def _zigzag(self) -> int:
        number = self._varint()
        return number >> 1 ^ -(number & 1)


def _write_struct(out: bytearray, fields: Fields) -> None:
    before = 0
    for number, (kind, value) in sorted(fields.items()):
        written_kind = (_TRUE if value else _FALSE) if kind in (_TRUE, _FALSE) else kind
        if 0 < number - before < 16:
            out.append((number - before) << 4 | written_kind)
        else:
            out.append(written_kind)
            _write_zigzag(out, number)
        before = number
        if kind not in (_TRUE, _FALSE):
            _write_value(out, kind, value)
    out.append(0)


def _write_value(out: bytearray, kind: int, value: Any) -> None:
    if kind in _INTEGERS:
        _write_zigzag(out, value)
    elif kind == _BINARY:
        _write_varint(out, len(value))
        out += value
    elif kind == _STRUCT:
        _write_struct(out, value)
    elif kind in (_LIST, _SET):
        element, values = value
        out.append(min(len(values), 15) << 4 | element)
        if len(values) >= 15:
            _write_varint(out, len(values))
        for element_value in values:
            _write_value(out, element, element_value)
    elif kind == _DOUBLE:
        out += value
    else:
        out.append(value)


def _write_zigzag(out: bytearray, number: int) -> None:
    _write_varint(out, number << 1 ^ number >> 63)


def _write_varint(out: bytearray, number: int) -> None:
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
