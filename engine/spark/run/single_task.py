"""Execute the epoch part in a single task if Spark runs on one machine: collect the emitted rows, compute over Arrow,
and write the segments of all sinks.

    30,000 rows of branches 0 and 1      the task returns the messages of its segments
    5,000,000 rows                       the task writes them to a file and returns its name; Spark does the rest

Stateful operators have run once in both cases: Spark reads the rows from the file instead of its cache.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Row

from engine.arrow.keys import TooManyPairs
from engine.arrow.relations import Relations
from engine.plan.nodes import Write
from engine.schema import Schema, arrow_schema
from engine.spark.tagged_frames import TAG
from engine.spark.write.write_segments import message_of, write_task

if TYPE_CHECKING:
    from engine.connectors.base import Epoch
    from engine.spark.write.targets import Target


@dataclass(frozen=True, slots=True)
class OneTask:
    """Work of the task, built on the driver and executed in a worker. `branches` are the columns of each branch,
    `written` the numbers of the writes to targets; other writes are computed and dropped."""

    writes: Sequence[Write]
    branches: Sequence[Schema]
    targets: Sequence[Target]
    written: Sequence[int]
    epoch: Epoch
    place: OneTaskPlace

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the messages of what was written, or the location of the rows."""
        gathered, size = list[pa.RecordBatch](), 0
        for batch in batches:
            gathered.append(batch)
            size += batch.nbytes
            if size > self.place.most_bytes:
                yield _put_aside([gathered, batches], self.place.scratch)
                return
        try:
            results = self._computed(gathered)
        except TooManyPairs:
            yield _put_aside([gathered], self.place.scratch)
            return
        yield from write_task(self.targets, self.epoch, results, 0)

    def _computed(self, gathered: Sequence[pa.RecordBatch]) -> list[tuple[int, pa.RecordBatch]]:
        """Return the rows for each target that gets any."""
        relations = Relations(_by_branch(gathered, self.branches), self.place.most_pairs)
        results = [(index, relations.rows_of(write)) for index, write in enumerate(self.writes)]
        numbers = {index: number for number, index in enumerate(self.written)}
        return [
            (numbers[index], _as_wanted(rows, self.targets[numbers[index]].schema))
            for index, rows in results
            if index in numbers and rows.num_rows
        ]


def _as_wanted(rows: pa.RecordBatch, schema: Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(rows.select(list(schema.names)).columns, schema=arrow_schema(schema))


def _by_branch(gathered: Sequence[pa.RecordBatch], schemas: Sequence[Schema]) -> list[pa.RecordBatch]:
    """Return the rows of each branch in one piece, under the names of its columns."""
    wanted = [arrow_schema(schema) for schema in schemas]
    parts: list[list[pa.RecordBatch]] = [[] for _ in schemas]
    for batch in gathered:
        for index, columns in _columns_by_branch(batch, len(schemas)):
            parts[index].append(pa.RecordBatch.from_arrays(columns, schema=wanted[index]))
    return [
        pa.concat_batches(batches) if batches else pa.RecordBatch.from_pylist([], schema=schema)
        for batches, schema in zip(parts, wanted, strict=True)
    ]


def _columns_by_branch(batch: pa.RecordBatch, count: int) -> Iterator[tuple[int, list[pa.Array]]]:
    if batch.schema.names[0] != TAG:
        yield 0, batch.columns
        return
    for index in range(count):
        structs = batch.filter(pc.equal(batch.column(0), index)).column(index + 1)
        yield index, structs.flatten()


def _put_aside(batches: Iterable[Iterable[pa.RecordBatch]], scratch: Path) -> pa.RecordBatch:
    """Return the message that names a new file with all rows."""
    with tempfile.NamedTemporaryFile(dir=scratch, prefix="epoch-", suffix=".arrow", delete=False) as file:
        writer = None
        for batch in (batch for part in batches for batch in part):
            writer = writer or pa.ipc.new_stream(file, batch.schema)
            writer.write_batch(batch)
        assert writer is not None, "there are rows where there are too many"
        writer.close()
    return message_of(PUT_ASIDE, 0, file.name.encode())


@dataclass(frozen=True, slots=True)
class RowsPutAside:
    """Reads back, in a task, rows that were written to a file."""

    path: Path

    def __call__(self, _: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the file."""
        with pa.ipc.open_stream(str(self.path)) as reader:
            yield from reader


PUT_ASIDE = -1
"""Replaces the number of a sink in a message that names a file with rows."""


@dataclass(frozen=True, slots=True)
class OneTaskPlace:
    """Settings of single-task execution: the directory for rows that are too many, the number of tasks whose rows are
    collected, the limits of bytes and row pairs, and the number of epochs that Spark executes after a limit was
    exceeded."""

    scratch: Path
    tasks: int
    most_bytes: int = 32 * 1024 * 1024
    most_pairs: int = 2_000_000
    rests_for: int = 16


def put_aside_in(answers: Sequence[Row]) -> Path | None:
    """Return the file into which the task has put rows that were too many for it."""
    return next((Path(bytes(answer.message).decode()) for answer in answers if answer.sink == PUT_ASIDE), None)
