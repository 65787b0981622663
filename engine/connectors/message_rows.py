"""Convert messages to chunks of rows: decode, handle bad records, and add metadata columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from engine.connectors.base import Chunk, DeadLetter, Table
from engine.errors import BadRecordError
from engine.formats import make_decoder
from engine.formats.lines import split_messages

_SHOWN = 120


@dataclass(frozen=True, slots=True)
class Messages:
    """Some messages: their contents, their metadata by key, and a description of where message i is."""

    contents: pa.BinaryArray
    metadata: Mapping[str, pa.Array]
    origin: Callable[[int], str]


class MessageRows:
    """Makes the rows of one table."""

    def __init__(self, table: Table) -> None:
        assert table.format is not None
        self._table = table
        self._decoder = make_decoder(table.format, table.schema, declared=table.declared)

    def chunk(self, messages: Messages) -> Chunk:
        """Return the rows of some messages; messages without content are skipped."""
        contents = messages.contents
        origin: pa.Int64Array | None = None
        if self._table.framing == "newline":
            contents, origin = split_messages(contents, self._table.framing_max_length)
        decoded = self._decoder.decode_messages(contents)
        dead_letters: tuple[DeadLetter, ...] = ()
        if decoded.bad and self._table.bad_data != "drop":
            indices = [bad.index if origin is None else origin[bad.index].as_py() for bad in decoded.bad]
            found = zip(indices, decoded.bad, strict=True)
            dead_letters = tuple(DeadLetter(messages.origin(index), bad.reason, bad.raw) for index, bad in found)
            if self._table.bad_data == "fail":
                raise _refusal(dead_letters[0])
        if decoded.origin is not None:
            origin = decoded.origin if origin is None else origin.take(decoded.origin)
        rows = decoded.rows
        for name, key in self._table.metadata:
            column = messages.metadata[key]
            rows = rows.append_column(name, column if origin is None else column.take(origin))
        return Chunk(rows, len(decoded.bad), dead_letters)


def _refusal(dead_letter: DeadLetter) -> BadRecordError:
    shown = dead_letter.record[:_SHOWN].decode("utf-8", "replace") + "..." * (len(dead_letter.record) > _SHOWN)
    return BadRecordError(
        f"{dead_letter.origin}: {dead_letter.error}. The record is: {shown}",
        hint="leave such records out with bad_data = 'drop' or 'dead_letter'",
    )
