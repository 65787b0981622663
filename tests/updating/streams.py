"""Random streams of changes in random epochs, and operators run on them without Spark."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from engine.plan.tree import RETRACT, is_hidden
from engine.updating.bucket_state import BucketState

if TYPE_CHECKING:
    from engine.spark.state.buckets import Bucketed

Change = tuple[bool, dict[str, Any]]
"""Whether the row is taken back, and the row."""
INSTANT = pa.timestamp("us", tz="UTC")


def identity(*values: object) -> int:
    """A number that is the same for the same values."""
    return int.from_bytes(sha256(repr(values).encode()).digest()[:8], "little", signed=True)


def epochs_of(chance: Random, rows: Sequence[dict[str, Any]], *, taken_back: float) -> list[list[Change]]:
    """The rows in up to six epochs; some of them are taken back in the same epoch or a later one."""
    count = chance.randint(1, 6)
    epochs: list[list[Change]] = [[] for _ in range(count)]
    for row in rows:
        epoch = chance.randrange(count)
        epochs[epoch].append((False, row))
        if chance.random() < taken_back:
            epochs[chance.randrange(epoch, count)].append((True, row))
    return epochs


def rows_after(epochs: Iterable[Sequence[Change]]) -> list[dict[str, Any]]:
    """The rows that are there after all epochs."""
    rows: list[dict[str, Any]] = []
    for epoch in epochs:
        rows += [row for retract, row in epoch if not retract]
        for retract, row in epoch:
            if retract:
                rows.remove(row)
    return rows


class Buckets:
    """An operator with what its buckets keep."""

    def __init__(self, operator: Bucketed) -> None:
        self.operator = operator
        self.states: dict[int, BucketState] = defaultdict(BucketState)

    def run(self, parts: Sequence[tuple[Bucketed, pa.Table]]) -> list[Mapping[str, object]]:
        """One epoch: the changes that go out."""
        payloads: dict[int, list[bytes]] = defaultdict(list)
        for packer, rows in parts:
            for bucket, payload in packer.pack(rows) if rows.num_rows else ():
                payloads[bucket].append(payload)
        if not payloads:
            return []
        result = self.operator.steps({bucket: self.states[bucket] for bucket in payloads}, payloads)
        self.states.update(result.states)
        return result.out.to_pylist()


def fold(changes: Iterable[Mapping[str, object]]) -> Counter[tuple[object, ...]]:
    """The rows that are there after some changes, each as often as it is there. Raises ValueError when one is taken
    back that is not there."""
    rows: Counter[tuple[object, ...]] = Counter()
    for change in changes:
        values = [value for name, value in change.items() if not is_hidden(name)]
        row = tuple(tuple(value) if isinstance(value, list) else value for value in values)
        rows[row] += -1 if change[RETRACT] else 1
        if rows[row] < 0:
            raise ValueError(f"a row is taken back that is not there: {row}")
    return +rows
