"""Read Parquet files as chunks of rows: only the table's columns, with the table's types."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.connectors.base import Chunk, DeadLetter, Table
from engine.connectors.files.inputs import InputFile, local_file
from engine.connectors.line_rows import ROWS_PER_BATCH
from engine.errors import BadRecordError, UnreadableFileError, message_of
from engine.schema import Field, Schema, arrow_schema, to_arrow


def count_rows(path: InputFile) -> int:
    """Return the number of rows in a file."""
    with _open(path) as file:
        return int(file.metadata.num_rows)


def group_ends(path: InputFile, start: int, end: int | None) -> list[int]:
    """Return the rows at which row groups end, after `start` and up to `end`; None is the end of the file."""
    with _open(path) as file:
        last = file.metadata.num_rows if end is None else end
        ends, at = [], 0
        for group in range(file.metadata.num_row_groups):
            at += file.metadata.row_group(group).num_rows
            if start < at < last:
                ends.append(at)
    return [*ends, last]


def read_rows(table: Table, path: InputFile, start: int, end: int | None) -> Iterator[Chunk]:
    """Yield the rows between two row numbers of a file; None is its end."""
    with _open(path) as file:
        table = replace(table, declared=_checked(table, file))
        names = _columns(table, path, file.schema_arrow)
        groups, at = _groups(file.metadata, start, end)
        last = file.metadata.num_rows if end is None else end
        present = [name for name in names if name is not None]
        for batch in file.iter_batches(ROWS_PER_BATCH, groups, present, use_threads=False):
            skip = max(0, start - at)
            rows = batch.slice(skip, max(0, min(batch.num_rows, last - at) - skip))
            at += batch.num_rows
            if rows.num_rows:
                yield _chunk(table, path, rows, names, at)


def _groups(metadata: pq.FileMetaData, start: int, end: int | None) -> tuple[list[int], int]:
    """Return the row groups that hold a range, and the row number of the first of them."""
    groups: list[int] = []
    first, at = start, 0
    for group in range(metadata.num_row_groups):
        rows = metadata.row_group(group).num_rows
        if at + rows > start and (end is None or at < end):
            first = at if not groups else first
            groups.append(group)
        at += rows
    return groups, first


def _checked(table: Table, file: pq.ParquetFile) -> Schema:
    """Return the columns that are read, and those whose values must be checked against their declaration.

    A column of the declared type always fits, and the footer tells whether it holds a null."""
    by_name = {name.lower(): number for number, name in enumerate(file.schema_arrow.names)}
    read = frozenset(table.schema.names)

    def is_checked(field: Field) -> bool:
        number = by_name.get(field.name.lower())
        if field.name in read or number is None:
            return field.name in read or not field.nullable
        is_same = file.schema_arrow.field(number).type == to_arrow(field.type)
        return not is_same or (not field.nullable and _has_nulls(file, file.schema_arrow.names[number]))

    return Schema(tuple(field for field in table.declared or table.schema if is_checked(field)))


def _has_nulls(file: pq.ParquetFile, name: str) -> bool:
    """Whether a column may hold a null, according to the statistics of the row groups."""
    metadata = file.metadata
    paths = [metadata.schema.column(number).path for number in range(metadata.num_columns)]
    if name not in paths:
        return True
    found = [metadata.row_group(group).column(paths.index(name)).statistics for group in range(metadata.num_row_groups)]
    return any(each is None or not each.has_null_count or each.null_count for each in found)


def _columns(table: Table, path: InputFile, file_schema: pa.Schema) -> list[str | None]:
    """Return the file's name of each table column, or None if the file lacks it."""
    by_name = {name.lower(): name for name in file_schema.names}
    checked = table.declared or table.schema
    names = [by_name.get(field.name.lower()) for field in checked]
    for field, name in zip(checked, names, strict=True):
        if name is None and not field.nullable:
            raise UnreadableFileError(
                f"{path} has no column {field.name!r}, which is NOT NULL in {table.name}",
                hint=f"it has {', '.join(file_schema.names)}",
            )
    return names


def _chunk(table: Table, path: InputFile, rows: pa.RecordBatch, names: list[str | None], last: int) -> Chunk:
    checked = table.declared or table.schema
    target = arrow_schema(checked)
    arrays = [
        pa.nulls(rows.num_rows, field.type) if name is None else _cast(rows.column(name), field, path)
        for field, name in zip(target, names, strict=True)
    ]
    batch = pa.RecordBatch.from_arrays(arrays, schema=target)
    dropped = 0
    dead_letters: tuple[DeadLetter, ...] = ()
    holes = [
        array.is_null() for array, field in zip(arrays, checked, strict=True) if array.null_count and not field.nullable
    ]
    if holes:
        bad = reduce(pc.or_, holes)
        if table.bad_data == "fail":
            raise BadRecordError(
                f"{path}, among rows {last - rows.num_rows + 1} to {last}: a NOT NULL column of {table.name} is null",
                hint="correct the file, or leave such rows out with bad_data = 'drop' or 'dead_letter'",
            )
        dropped = pc.sum(bad).as_py()
        dead_letters = _dead_letters(table, path, batch, bad, last) if table.bad_data == "dead_letter" else ()
        batch = batch.filter(pc.invert(bad))
    batch = batch.select(list(table.schema.names))
    for name, key in table.metadata:
        if key != "filename":
            raise UnreadableFileError(f"Parquet files have no {key!r}", hint="leave the metadata column out")
        batch = batch.append_column(name, pa.repeat(pa.scalar(str(path)), batch.num_rows))
    return Chunk(batch, dropped, dead_letters)


def _dead_letters(
    table: Table, path: InputFile, rows: pa.RecordBatch, bad: pa.Array, last: int
) -> tuple[DeadLetter, ...]:
    first = last - rows.num_rows + 1
    error = f"a NOT NULL column of {table.name} is null"
    return tuple(
        DeadLetter(
            f"{path}, row {first + at}", error, json.dumps(rows.slice(at, 1).to_pylist()[0], default=str).encode()
        )
        for at in pc.indices_nonzero(bad).to_pylist()
    )


def _cast(array: pa.Array, field: pa.Field, path: InputFile) -> pa.Array:
    try:
        if pa.types.is_timestamp(field.type) and pa.types.is_timestamp(array.type):
            # digits behind micros are cut, and a timestamp without a zone is in UTC
            return array.cast(pa.timestamp("us", array.type.tz), safe=False).cast(field.type)
        return array.cast(field.type)
    except pa.ArrowException as wrong:
        raise UnreadableFileError(
            f"{path}: column {field.name!r} has type {array.type} in the file, which cannot be read as {field.type}: "
            f"{message_of(wrong)}",
            hint="declare the column with the type it has in the file, and cast it in the query",
        ) from wrong


def _open(path: InputFile) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(local_file(path))
    except (OSError, pa.ArrowException) as wrong:
        raise UnreadableFileError(
            f"{path} cannot be read as Parquet: {message_of(wrong)}", hint="check that the file is complete"
        ) from wrong
