"""Convert Kafka records to chunks of rows: decode, handle bad records, and add metadata columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from engine.connectors.base import Chunk, DeadLetter, Table
from engine.connectors.schema_registry import subject_of
from engine.errors import BadRecordError
from engine.formats import make_decoder
from engine.formats.lines import split_messages

if TYPE_CHECKING:
    from engine.connectors.kafka.read.records import PartitionRecords
    from engine.formats.base import BadRecord


class RowMaker:
    """Makes the rows of one table."""

    def __init__(self, table: Table) -> None:
        assert table.format is not None
        self._table = table
        self._decoder = make_decoder(table.format, table.schema, subject_of(table, ""), table.declared)

    def chunk(self, records: PartitionRecords) -> Chunk:
        """Return the rows of some records. Records without a value are skipped; lost ones count as dropped."""
        payloads = records.values()
        origin: pa.Int64Array | None = None
        if self._table.framing == "newline":
            payloads, origin = split_messages(payloads, self._table.framing_max_length)
        decoded = self._decoder.decode_messages(payloads)
        dead_letters: tuple[DeadLetter, ...] = ()
        if decoded.bad and self._table.bad_data != "drop":
            bad = tuple(
                DeadLetter(_origin_of(records, record, origin), record.reason, record.raw) for record in decoded.bad
            )
            if self._table.bad_data == "fail":
                raise _refusal(bad[0])
            dead_letters = bad
        if decoded.origin is not None:
            origin = decoded.origin if origin is None else origin.take(decoded.origin)
        rows = decoded.rows
        for name, key in self._table.metadata:
            column = records.around(key)
            rows = rows.append_column(name, column if origin is None else column.take(origin))
        return Chunk(rows, len(decoded.bad) + records.lost, dead_letters)


def _origin_of(records: PartitionRecords, record: BadRecord, origin: pa.Int64Array | None) -> str:
    offset = records.offset(record.index if origin is None else origin[record.index].as_py())
    return f"topic {records.topic!r}, partition {records.partition}, offset {offset}"


def _refusal(dead_letter: DeadLetter) -> BadRecordError:
    shown = dead_letter.record[:120].decode("utf-8", "replace") + ("..." if len(dead_letter.record) > 120 else "")
    return BadRecordError(
        f"{dead_letter.origin}: {dead_letter.error}. The record is: {shown}",
        hint="leave such records out with bad_data = 'drop' or 'dead_letter'",
    )
