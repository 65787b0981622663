"""Look up rows in files. All rows are in memory, and are read again when a file changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from engine.connectors.base import Chunk, LookupResult, Table, row_schema
from engine.connectors.files.csv_rows import read_csv
from engine.connectors.files.inputs import InputFile, file_of, list_inputs
from engine.connectors.files.listing import ListedFile, list_for_task
from engine.connectors.files.parquet_rows import read_rows
from engine.connectors.filesystem.options import METADATA, FilesystemLookupOptions
from engine.connectors.line_rows import line_reader
from engine.connectors.text_files import compression_of
from engine.errors import DuplicateKeyError
from engine.schema import arrow_schema

_LISTED_EVERY = 10.0
"""Seconds from one listing of a bucket to the next."""


class FilesystemLookup:
    """All rows of the files, by key. Files must be replaced atomically, by renaming: a file that is read while it is
    written is read incompletely."""

    is_local = True

    def __init__(
        self, table: Table, options: FilesystemLookupOptions, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._listed_at = 0.0
        self._table = table
        self._options = options
        self._files: list[ListedFile] | None = None
        self._empty = pa.RecordBatch.from_pylist([], schema=arrow_schema(row_schema(table, METADATA)))
        self._rows = self._empty
        self._numbers: dict[object, int] = {}

    def refresh(self) -> None:
        """Read the files if their names, sizes or times have changed since the last read."""
        files = self._list()
        if files == self._files:
            return
        self._rows = pa.concat_batches(
            [self._empty, *(chunk.rows for file in files for chunk in self._read(self._path(file)))]
        )
        self._numbers = self._numbered()
        self._files = files

    def fetch(self, keys: pa.Array) -> LookupResult:
        """Return the rows of these keys."""
        numbers = [self._numbers.get(key) for key in keys.to_pylist()]
        present = [position for position, number in enumerate(numbers) if number is not None]
        rows = self._rows.take(pa.array([numbers[position] for position in present], pa.int64()))
        return LookupResult(rows, pa.array(present, pa.int64()))

    def close(self) -> None:
        """Do nothing: no file is open between reads."""

    def _numbered(self) -> dict[object, int]:
        (name,) = self._table.primary_key
        keys = self._rows.column(self._rows.schema.names.index(name)).to_pylist()
        numbers = dict(zip(keys, range(len(keys)), strict=True))
        if len(numbers) < len(keys):
            twice = next(key for number, key in enumerate(keys) if numbers[key] != number)
            raise DuplicateKeyError(
                f"{self._options.path} has two rows with {name} = {twice!r}, which is the primary key of "
                f"{self._table.name}",
                hint="keep one row of each key",
            )
        return numbers

    def _list(self) -> list[ListedFile]:
        location, pattern = self._options.path, self._options.regex_pattern
        if isinstance(location, Path):
            return list_for_task(location, pattern)
        if self._files is not None and self._clock() < self._listed_at + _LISTED_EVERY:
            return self._files  # a listing is a request, and costs money
        self._listed_at = self._clock()
        return list_inputs(location, self._options, pattern, by_time=True)

    def _read(self, path: InputFile) -> Iterator[Chunk]:
        assert self._table.format is not None
        match self._table.format.format:
            case "parquet":
                return read_rows(self._table, path, 0, None)
            case "csv":
                return read_csv(self._table, path, self._options.compression or compression_of(path))
        compression = self._options.compression or compression_of(path)
        return line_reader(self._table).read(path, compression, 0, None)

    def _path(self, file: ListedFile) -> InputFile:
        return file_of(self._options.path, file.key.name, self._options)
