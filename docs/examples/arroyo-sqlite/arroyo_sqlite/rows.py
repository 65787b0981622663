"""The implementation. A position is the id of the last row that was read, so a range of ids is always the same rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import pyarrow as pa

from arroyo_sqlite.connector import SqliteOptions, SqliteSourceOptions
from engine.connectors.kit import Chunk, Epoch, Position, SinkContext, Slice, SourceUnavailableError, Table
from engine.connectors.kit_rows import StagedSink, arrow_schema

_ROWS = 8_192


class SqliteSource:
    """Reads the rows that are there, and ends."""

    bounded = True

    def __init__(self, table: Table, options: SqliteSourceOptions) -> None:
        self._table = table
        self._options = options

    def partitions(self) -> Sequence[str]:
        """A table is one partition."""
        return ("rows",)

    def start(self, partition: str) -> Position:
        """Ids are positive."""
        return 0

    def advance(self, at: Mapping[str, Position], max_rows: int | None) -> Mapping[str, Position]:
        """Up to the id after which `max_rows` rows are read."""
        limit = -1 if max_rows is None else max_rows
        query = "SELECT max(i) FROM (SELECT {id} AS i FROM {table} WHERE {id} > ? ORDER BY {id} LIMIT ?)"
        return {name: next(self._query(query, begin, limit))[0] or begin for name, begin in at.items()}

    def is_finished(self, partition: str, at: Position) -> bool:
        """Whether no row follows."""
        return next(self._query("SELECT count(*) FROM {table} WHERE {id} > ?", at))[0] == 0

    def slices(self, partition: str, start: Position, end: Position, tasks: int) -> Sequence[Slice]:
        """One slice: SQLite is read by one task."""
        return () if start == end else (Slice(partition, start, end),)

    def read(self, task_slice: Slice) -> Iterator[Chunk]:
        """The rows of a range of ids, in their order."""
        columns = ", ".join(f'"{name}"' for name in self._table.schema.names)
        query = f"SELECT {columns} FROM {{table}} WHERE {{id}} > ? AND {{id}} <= ? ORDER BY {{id}}"
        found = list(self._query(query, task_slice.start, task_slice.end))
        for first in range(0, len(found), _ROWS):
            yield Chunk(self._batch(found[first : first + _ROWS]))

    def _batch(self, found: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
        schema = arrow_schema(self._table.schema)
        columns = zip(*found, strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _query(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        options = self._options
        text = query.format(table=f'"{options.table}"', id=f'"{options.id_column}"')
        try:
            with closing(sqlite3.connect(f"file:{options.path}?mode=ro", uri=True)) as database:
                yield from database.execute(text, values)
        except sqlite3.Error as error:
            raise SourceUnavailableError(
                f"{options.path} cannot be read: {error}", hint="check the path, and the names of table and columns"
            ) from error


def open_sink(table: Table, options: SqliteOptions, context: SinkContext) -> StagedSink:
    """A sink that appends the rows of each epoch in one transaction."""
    names = ", ".join(f'"{name}"' for name in table.schema.names)
    marks = ", ".join("?" for _ in table.schema.names)

    def send(epoch: Epoch, batches: Iterator[pa.RecordBatch]) -> int:
        with closing(sqlite3.connect(options.path)) as database, database:
            for batch in batches:
                rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
                database.executemany(f'INSERT INTO "{options.table}" ({names}) VALUES ({marks})', rows)
        return 0

    return StagedSink(table, context, send)
