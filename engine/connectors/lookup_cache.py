"""Cache of lookup results, limited in bytes and age.

    room for 4 rows, if rows were counted instead of bytes
    young {a, b}, old {c, d}    the keys a, c, e are requested
    a is in the young generation; c is in the old one, and moves to the young; e is fetched from the table, and cached
    young {a, b, c, e}          is more than half, so it becomes the old one; d, which was not requested, is dropped

See `docs/decisions/lookups-happen-when-a-row-passes.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from engine.connectors.base import Cache, Lookup, LookupResult
from engine.schema import Schema, arrow_schema

_PER_KEY = 120
"""Approximate overhead of a key besides its row: a dict entry and a tuple."""
_ABSENT = -1


@dataclass(slots=True)
class _Generation:
    """Some cached results: for each key the number of its row in `rows`, and when it was fetched."""

    rows: pa.RecordBatch
    index: dict[object, tuple[int, float]] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        """Estimate its bytes in memory; keys are counted as short texts."""
        return int(self.rows.nbytes) + len(self.index) * _PER_KEY

    def add(self, keys: list[object], rows: pa.RecordBatch, numbers: Sequence[int], times: Sequence[float]) -> None:
        """Store answers; a key that is present already is renewed."""
        first = self.rows.num_rows
        self.rows = pa.concat_batches([self.rows, rows])
        for key, number, time in zip(keys, numbers, times, strict=True):
            self.index[key] = (_ABSENT if number == _ABSENT else first + number, time)


@dataclass(frozen=True, slots=True)
class _Request:
    """Keys of one call, as Arrow and as Python values, and its time."""

    keys: pa.Array
    values: list[object]
    time: float


@dataclass(frozen=True, slots=True)
class _Hits:
    """Cache hits in a generation: the result, the indices of its keys and when each was fetched, and the indices of
    missing keys."""

    answer: LookupResult
    positions: Sequence[int]
    times: Sequence[float]
    missing: Sequence[int]


class CachedLookup:
    """A lookup that fetches only keys that are not cached. It has two generations: a used result moves to the young
    one. When the young one has half of the allowed size, it becomes the old one, and the old one is dropped. So the
    least recently used results go first."""

    is_local = True

    def __init__(self, inner: Lookup, schema: Schema, cache: Cache, clock: Callable[[], float]) -> None:
        self._inner = inner
        self._max_bytes = cache.max_bytes
        self._ttl = None if cache.ttl is None else cache.ttl.total_seconds()
        self._clock = clock
        self._empty = pa.RecordBatch.from_pylist([], schema=arrow_schema(schema))
        self._young = _Generation(self._empty)
        self._old = _Generation(self._empty)

    @property
    def bytes(self) -> int:
        """Estimate the bytes of the cache in memory."""
        return self._young.bytes + self._old.bytes

    def refresh(self) -> None:
        """Refresh the inner lookup; cached values stay."""
        self._inner.refresh()

    def fetch(self, keys: pa.Array) -> LookupResult:
        """Return the rows of these keys, cached ones first."""
        request = _Request(keys, keys.to_pylist(), self._clock())
        young = self._hits(self._young, request, range(len(keys)))
        old = self._hits(self._old, request, young.missing)
        self._remember(request, old.positions, old.answer, old.times)
        answers = [young.answer, old.answer]
        if old.missing:
            answers.append(self._ask(request, old.missing))
        self._forget()
        return LookupResult(
            pa.concat_batches([answer.rows for answer in answers]),
            pa.concat_arrays([answer.keys for answer in answers]),
        )

    def close(self) -> None:
        """Close the inner lookup; the cache is released with the object."""
        self._inner.close()

    def _forget(self) -> None:
        if self._young.bytes > self._max_bytes // 2 or self.bytes > self._max_bytes:
            self._old, self._young = self._young, _Generation(self._empty)
        if self._old.bytes > self._max_bytes:
            self._old = _Generation(self._empty)

    def _hits(self, generation: _Generation, request: _Request, positions: Sequence[int]) -> _Hits:
        """Look up some of the keys in a generation of the cache."""
        missing: list[int] = []
        hits: list[int] = []
        entries: list[tuple[int, float]] = []
        for position in positions:
            entry = generation.index.get(request.values[position])
            if entry is None or (self._ttl is not None and request.time - entry[1] >= self._ttl):
                missing.append(position)
            else:
                hits.append(position)
                entries.append(entry)
        with_rows = [(position, number) for position, (number, _) in zip(hits, entries, strict=True) if number >= 0]
        rows = generation.rows.take(pa.array([number for _, number in with_rows], pa.int64()))
        answer = LookupResult(rows, pa.array([position for position, _ in with_rows], pa.int64()))
        return _Hits(answer, hits, [time for _, time in entries], missing)

    def _ask(self, request: _Request, positions: Sequence[int]) -> LookupResult:
        indices = pa.array(positions, pa.int64())
        result = self._inner.fetch(request.keys.take(indices))
        answer = LookupResult(result.rows, indices.take(result.keys))
        # without a time to live, only rows are remembered: that there is none would be believed for ever
        remembered = positions if self._ttl is not None else answer.keys.to_pylist()
        self._remember(request, remembered, answer, [request.time] * len(remembered))
        return answer

    def _remember(
        self, request: _Request, positions: Sequence[int], answer: LookupResult, times: Sequence[float]
    ) -> None:
        if positions:
            numbers = dict(zip(answer.keys.to_pylist(), range(answer.rows.num_rows), strict=True))
            keys = [request.values[position] for position in positions]
            self._young.add(keys, answer.rows, [numbers.get(position, _ABSENT) for position in positions], times)
