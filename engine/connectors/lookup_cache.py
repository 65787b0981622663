"""Remembering what a lookup has found, up to a number of bytes and for a length of time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

from engine.connectors.base import Cache, Lookup, LookupResult
from engine.schema import Schema, arrow_schema

_PER_KEY = 120
"""About what a key costs beside its row: an entry of a dict, and a tuple."""
_ABSENT = -1


@dataclass(slots=True)
class _Generation:
    """Some answers: of each key the number of its row in `rows`, and when it was asked for."""

    rows: pa.RecordBatch
    index: dict[object, tuple[int, float]] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        """About what it holds in memory; keys are counted as if each were a short text."""
        return int(self.rows.nbytes) + len(self.index) * _PER_KEY

    def add(self, keys: list[object], rows: pa.RecordBatch, numbers: list[int], times: list[float]) -> None:
        """Remember answers; a key that was there already is believed anew."""
        first = self.rows.num_rows
        self.rows = pa.concat_batches([self.rows, rows])
        for key, number, time in zip(keys, numbers, times, strict=True):
            self.index[key] = (_ABSENT if number == _ABSENT else first + number, time)


class CachedLookup:
    """A lookup that asks only for what it does not know. It keeps two generations of answers: what is used again moves
    to the young one. When that is half of what there may be, it becomes the old one, and the old one is forgotten: what
    was not asked for the longest goes first."""

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
        """About what all that it remembers costs in memory."""
        return self._young.bytes + self._old.bytes

    def refresh(self) -> None:
        """What is remembered is not asked for again."""
        self._inner.refresh()

    def fetch(self, keys: pa.Array) -> LookupResult:
        """The rows of these keys, remembered ones first."""
        now = self._clock()
        asked: list[object] = keys.to_pylist()
        parts: list[LookupResult] = []
        unknown = self._take(self._young, asked, range(len(asked)), now, parts, keep=False)
        unknown = self._take(self._old, asked, unknown, now, parts, keep=True)
        if unknown:
            parts.append(self._ask(keys, asked, unknown, now))
        self._forget()
        return LookupResult(
            pa.concat_batches([part.rows for part in parts]) if parts else self._empty,
            pa.concat_arrays([part.keys for part in parts]) if parts else pa.array([], pa.int64()),
        )

    def close(self) -> None:
        """Close what is asked; what is remembered goes with the object."""
        self._inner.close()

    def _forget(self) -> None:
        if self._young.bytes > self._max_bytes // 2 or self.bytes > self._max_bytes:
            self._old, self._young = self._young, _Generation(self._empty)
        if self._old.bytes > self._max_bytes:
            self._old = _Generation(self._empty)

    def _take(
        self, known: _Generation, asked: list[object], wanted: range | list[int], now: float, parts: list[LookupResult],
        *, keep: bool,
    ) -> list[int]:  # fmt: skip
        """Add the answers that a generation has; the positions of the keys that it does not know."""
        missing: list[int] = []
        positions: list[int] = []
        entries: list[tuple[int, float]] = []
        for position in wanted:
            entry = known.index.get(asked[position])
            if entry is None or (self._ttl is not None and now - entry[1] >= self._ttl):
                missing.append(position)
            else:
                positions.append(position)
                entries.append(entry)
        there = [(position, number) for position, (number, _) in zip(positions, entries, strict=True) if number >= 0]
        rows = known.rows.take(pa.array([number for _, number in there], pa.int64()))
        parts.append(LookupResult(rows, pa.array([position for position, _ in there], pa.int64())))
        if keep and positions:
            self._remember(asked, positions, parts[-1], [time for _, time in entries])
        return missing

    def _ask(self, keys: pa.Array, asked: list[object], wanted: list[int], now: float) -> LookupResult:
        positions = pa.array(wanted, pa.int64())
        found = self._inner.fetch(keys.take(positions))
        answer = LookupResult(found.rows, positions.take(found.keys))
        if self._ttl is None:
            wanted = answer.keys.to_pylist()  # that there is no row is not believed for ever
        self._remember(asked, wanted, answer, [now] * len(wanted))
        return answer

    def _remember(self, asked: list[object], wanted: list[int], answer: LookupResult, times: list[float]) -> None:
        numbers = dict(zip(answer.keys.to_pylist(), range(answer.rows.num_rows), strict=True))
        self._young.add(
            [asked[one] for one in wanted], answer.rows, [numbers.get(one, _ABSENT) for one in wanted], times
        )
