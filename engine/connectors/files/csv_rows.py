"""Read CSV files as chunks of rows: only the table's columns, with the table's types."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from engine import types
from engine.arrow.evaluate import evaluate
from engine.connectors.base import Chunk, Compression, Table
from engine.connectors.files.inputs import InputFile, local_file
from engine.connectors.text_files import open_text
from engine.errors import BadRecordError, EngineError, UnreadableFileError, message_of
from engine.formats.csv import CsvOptions
from engine.formats.timestamps import fitting
from engine.plan.expressions.expr import Cast, Column
from engine.schema import Field, Schema, arrow_schema, to_arrow

_MOST_COLUMNS = 5000


def read_csv(table: Table, path: InputFile, compression: Compression) -> Iterator[Chunk]:
    """Yield all rows of a file. A record is bad if a value does not have its column's type, or is NULL where that is
    not allowed."""
    assert isinstance(table.format, CsvOptions)
    declared = table.declared or table.schema
    names, texts = _texts(declared, table.format, path, compression)
    arrays: dict[str, pa.Array] = {}
    bad: dict[int, str] = {}
    for field in declared:
        if field.name.lower() in names:
            array, wrong = _cast(texts.column(names.index(field.name.lower())), field)
            bad |= dict.fromkeys(wrong, f"column {field.name!r} cannot be {field.type}")
        else:
            array = pa.nulls(texts.num_rows, to_arrow(field.type))
        if not field.nullable and array.null_count:
            holes = pc.indices_nonzero(array.is_null()).to_pylist()
            bad = dict.fromkeys(holes, f"column {field.name!r} is NOT NULL") | bad
        arrays[field.name] = array
    if bad and table.bad_data == "fail":
        first = min(bad)
        raise _refused(path, first, bad[first], texts.slice(first, 1))
    rows = pa.RecordBatch.from_arrays([arrays[name] for name in table.schema.names], schema=arrow_schema(table.schema))
    if bad:
        rows = rows.filter(pa.array([row not in bad for row in range(rows.num_rows)], pa.bool_()))
    for name, _ in table.metadata:
        rows = rows.append_column(name, pa.repeat(pa.scalar(str(path)), rows.num_rows))
    yield Chunk(rows, len(bad))


def _refused(path: InputFile, index: int, complaint: str, record: pa.RecordBatch) -> BadRecordError:
    shown = ", ".join(str(column[0]) for column in record.columns)[:120]
    return BadRecordError(
        f"{path}, record {index + 1}: {complaint}. The record is: {shown}",
        hint="correct the record, or leave such records out with bad_data = 'drop'",
    )


def _texts(
    declared: Schema, options: CsvOptions, path: InputFile, compression: Compression
) -> tuple[list[str], pa.RecordBatch]:
    """Return the column names in lower case, and all values as text."""
    try:
        with open_text(local_file(path), compression) as file:
            read = csv.read_csv(
                file,
                csv.ReadOptions(autogenerate_column_names=True, use_threads=False),
                csv.ParseOptions(delimiter=options.delimiter, newlines_in_values=True),
                csv.ConvertOptions(
                    column_types={f"f{number}": pa.string() for number in range(_MOST_COLUMNS)},
                    null_values=[options.null],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
    except (OSError, pa.ArrowException) as wrong:
        if "Empty CSV file" in message_of(wrong):
            return [], pa.RecordBatch.from_pylist([])
        raise UnreadableFileError(
            f"{path} cannot be read as CSV: {message_of(wrong)}", hint="check the options csv.*"
        ) from wrong
    rows = read.combine_chunks().to_batches()[0]
    if not options.header:
        return [name.lower() for name in declared.names[: rows.num_columns]], rows
    return [str(column[0]).strip("\ufeff").lower() for column in rows.columns], rows.slice(1)


def _cast(texts: pa.Array, field: Field) -> tuple[pa.Array, list[int]]:
    """Return the values in the column's type. Values that do not fit become NULL; also return their positions."""
    try:
        return _values(texts, field.type), []
    except (pa.ArrowException, ValueError, EngineError):
        if len(texts) == 1:
            return pa.nulls(1, to_arrow(field.type)), [0]
    half = len(texts) // 2
    first, bad_first = _cast(texts.slice(0, half), field)
    second, bad_second = _cast(texts.slice(half), field)
    return pa.concat_arrays([first, second]), [*bad_first, *(half + row for row in bad_second)]


def _decimal(text: str, kind: types.Decimal) -> Decimal:
    try:
        return fitting(Decimal(text), kind)
    except InvalidOperation as error:
        raise ValueError(text) from error


def _values(texts: pa.Array, kind: types.Type) -> pa.Array:
    match kind:
        case types.Timestamp():
            rows = pa.RecordBatch.from_arrays([texts], names=["text"])
            return evaluate(Cast(Column("text", types.TEXT), kind), rows)
        case types.Integer(bits, signed=False):
            unsigned = {8: pa.uint8(), 16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}[bits]
            return texts.cast(unsigned).cast(to_arrow(kind))
        case types.Float():
            numbers = texts.cast(to_arrow(kind))
            if pc.all(pc.is_finite(numbers)).as_py() is False:
                raise ValueError(f"a number is out of range for {kind}")
            return numbers
        case types.Decimal():
            return pa.array(
                [None if text is None else _decimal(text, kind) for text in texts.to_pylist()], to_arrow(kind)
            )
    return texts.cast(to_arrow(kind))
