"""Sources that generate rows from a counter: their rate, their event times, and reading a range.

A position is {"n": rows generated, "origin": when row 0 was due}. Row n is due at origin + n / rate. When the job was
stopped or cannot keep up, `origin` moves, so that at most a minute of rows is outstanding.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from engine.connectors.base import Chunk, Position, Slice, Table

MICROS = 1_000_000
_PARTITION = "0"
_FIRST_STEP = MICROS // 10
_MOST_OWED = 60 * MICROS
_ROWS_PER_EPOCH = 4_000_000
"""Limit for a generator without a rate, so that a stop need not wait for its last row."""
_SMALLEST_SLICE = 8_192

Clock = Callable[[], int]
Numbers = npt.NDArray[np.int64]


class MakeRows(Protocol):
    """Generates the rows of some counter values, with the given event times in microseconds since 1970."""

    def __call__(self, numbers: Numbers, micros: Numbers) -> pa.RecordBatch:
        """Return one row per number; the same numbers and times give the same rows."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Number of rows, their rate, and the distance of their event times."""

    rate: float | None
    """Rows per second; None means as fast as possible."""
    count: int | None
    spacing: timedelta | None
    """Distance of event times; None means 1 / rate, as of the wall clock."""
    start: datetime | None
    """Event time of row 0; None means the first start of the pipeline."""


class GeneratedSource:
    """A source of generated rows, in one partition."""

    def __init__(
        self,
        table: Table,
        pace: Pace,
        make: MakeRows,
        *,
        batch: int = 65_536,
        clock: Clock = lambda: time.time_ns() // 1000,
    ) -> None:
        self.bounded = pace.count is not None
        self._table = table
        self._pace = pace
        self._make = make
        self._batch = batch
        self._clock = clock

    def partitions(self) -> Sequence[str]:
        """Return the only partition, a counter."""
        return (_PARTITION,)

    def start(self, partition: str) -> Position:
        """Return the position before row 0; its due time is only known from the first step on."""
        return {"n": 0}

    def advance(self, at: Mapping[str, Position], max_rows: int | None) -> Mapping[str, Position]:
        """Return the position that the clock and the count allow."""
        return {partition: self._advance(position, max_rows) for partition, position in at.items()}

    def is_finished(self, partition: str, at: Position) -> bool:
        """Whether the last row was generated."""
        return self._pace.count is not None and _number(at, "n") >= self._pace.count

    def slices(self, partition: str, start: Position, end: Position, tasks: int) -> Sequence[Slice]:
        """Return the counter's range in about equal parts."""
        first, last = _number(start, "n"), _number(end, "n")
        if first >= last:
            return ()
        count = max(1, min(tasks, (last - first) // _SMALLEST_SLICE))
        cuts = [first + (last - first) * number // count for number in range(count + 1)]
        positions: list[Position] = [{**_fields(end), "n": cut} for cut in cuts]
        return tuple(Slice(partition, cut, next_cut) for cut, next_cut in pairwise(positions))

    def read(self, task_slice: Slice) -> Iterator[Chunk]:
        """Yield the rows of a range of the counter. Their times are computed from the end of the range: the start may
        be older than the origin."""
        first, last = _number(task_slice.start, "n"), _number(task_slice.end, "n")
        for start in range(first, last, self._batch):
            numbers = np.arange(start, min(start + self._batch, last), dtype=np.int64)
            micros = self._times(numbers, task_slice.end)
            yield Chunk(self._with_metadata(self._make(numbers, micros), micros))

    def _advance(self, at: Position, max_rows: int | None) -> Position:
        first = _number(at, "n")
        most = first + (_ROWS_PER_EPOCH if max_rows is None else max_rows)
        if self._pace.count is not None:
            most = min(most, self._pace.count)
        if most <= first:
            return at
        now = self._clock()
        fields = _fields(at)
        origin = _number(at, "origin") if "origin" in fields else now - self._first_step()
        if self._pace.rate is not None:
            owed = first + self._pace.rate * _MOST_OWED / MICROS
            origin = max(origin, now - int(owed * MICROS / self._pace.rate))
            most = min(most, int((now - origin) * self._pace.rate / MICROS))
        if most <= first:
            return at
        first_time: dict[str, Position] = {}
        if self._pace.spacing is not None and not self._pace.start:
            first_time = {"first": fields.get("first", now)}
        return {"n": most, "origin": origin, **first_time}

    def _first_step(self) -> int:
        """Return how long before the first step row 0 was due: long enough for one row, so that the origin is
        recorded."""
        return _FIRST_STEP if self._pace.rate is None else max(_FIRST_STEP, int(MICROS / self._pace.rate) + 1)

    def _times(self, numbers: Numbers, end: Position) -> Numbers:
        if self._pace.spacing is not None:
            start = self._pace.start
            first = _micros(start) if start is not None else _number(end, "first")
            return first + numbers * (self._pace.spacing // timedelta(microseconds=1))
        first = _micros(self._pace.start) if self._pace.start is not None else _number(end, "origin")
        assert self._pace.rate is not None
        return first + (numbers * (MICROS / self._pace.rate)).astype(np.int64)

    def _with_metadata(self, rows: pa.RecordBatch, micros: Numbers) -> pa.RecordBatch:
        for name, _ in self._table.metadata:
            rows = rows.append_column(name, timestamps(micros))
        return rows


def timestamps(micros: Numbers) -> pa.TimestampArray:
    """Return microseconds since 1970 as an Arrow column."""
    return pa.array(micros, pa.timestamp("us", tz="UTC"))


def _micros(instant: datetime) -> int:
    aware = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
    return (aware - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def _fields(position: Position) -> dict[str, Position]:
    assert isinstance(position, dict)
    return position


def _number(position: Position, name: str) -> int:
    number = _fields(position)[name]
    assert isinstance(number, int)
    return number
