"""Convert blocks of lines to chunks of rows: decode, handle bad records, and add metadata columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from engine.connectors.base import Chunk, Compression, DeadLetter, Table
from engine.connectors.files.inputs import InputFile, local_file
from engine.connectors.text_files import lines_before, read_blocks
from engine.errors import BadRecordError
from engine.formats import make_decoder
from engine.formats.base import BadRecord, Decoded, Decoder
from engine.formats.lines import count_lines, cut_lines

ROWS_PER_BATCH = 65_536


@dataclass(frozen=True, slots=True)
class LineReader:
    """Reads the rows of one table from files of lines."""

    table: Table
    decoder: Decoder

    def read(self, path: InputFile, compression: Compression, start: int, end: int | None) -> Iterator[Chunk]:
        """Yield the rows between two bytes of a file; None is its end."""
        local = local_file(path)
        needs_lines = any(key == "line" for _, key in self.table.metadata)
        line = lines_before(local, compression, start) if needs_lines else 0
        byte = start
        for block in read_blocks(local, compression, start, end):
            longest = self.table.framing_max_length
            decoded = self.decoder.decode_lines(block if longest is None else cut_lines(block, longest))
            dead_letters: tuple[DeadLetter, ...] = ()
            if decoded.bad and self.table.bad_data != "drop":
                dead_letters = self._dead_letters(decoded, path, lines_before(local, compression, byte) + 1)
            yield from chunks(self._with_metadata(decoded, path, line), len(decoded.bad), dead_letters)
            byte += len(block)
            line += count_lines(block) if needs_lines else 0

    def _dead_letters(self, decoded: Decoded, path: InputFile, first: int) -> tuple[DeadLetter, ...]:
        """Return the bad records of a block that begins with the line `first`. Raise if the table accepts none."""
        if self.table.bad_data == "fail":
            raise bad_record(path, first, decoded.bad[0])
        return tuple(
            DeadLetter(f"{path}, line {first + record.index}", record.reason, record.raw) for record in decoded.bad
        )

    def _with_metadata(self, decoded: Decoded, path: InputFile, line: int) -> pa.RecordBatch:
        rows = decoded.rows
        for name, key in self.table.metadata:
            match key:
                case "filename":
                    column = pa.repeat(pa.scalar(str(path)), rows.num_rows)
                case "line":
                    origin = (
                        decoded.origin if decoded.origin is not None else pa.array(range(rows.num_rows), pa.int64())
                    )
                    column = pc.add(origin, line + 1)
                case _:
                    raise TypeError(key)
            rows = rows.append_column(pa.field(name, column.type), column)
        return rows


def line_reader(table: Table) -> LineReader:
    """Return the reader of a table's rows from files of lines."""
    assert table.format is not None
    return LineReader(table, make_decoder(table.format, table.schema, declared=table.declared))


def chunks(rows: pa.RecordBatch, dropped: int = 0, dead_letters: tuple[DeadLetter, ...] = ()) -> Iterator[Chunk]:
    """Yield the rows in batches of a size that suits Spark, with the dropped ones on the first."""
    if dropped or rows.num_rows:
        yield Chunk(rows.slice(0, ROWS_PER_BATCH), dropped, dead_letters)
    for start in range(ROWS_PER_BATCH, rows.num_rows, ROWS_PER_BATCH):
        yield Chunk(rows.slice(start, ROWS_PER_BATCH))


def bad_record(path: InputFile, first_line: int, record: BadRecord) -> BadRecordError:
    """Return the error of a record that its table does not accept."""
    shown = record.raw[:120].decode("utf-8", "replace") + ("..." if len(record.raw) > 120 else "")
    return BadRecordError(
        f"{path}, line {first_line + record.index}: {record.reason}. The record is: {shown}",
        hint="correct the record, or leave such records out with bad_data = 'drop' or 'dead_letter'",
    )
