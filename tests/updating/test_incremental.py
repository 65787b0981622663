"""Aggregates of the user's that take rows one by one: the object is kept, and gives what the batch answer is."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from engine.errors import UdfFailedError
from engine.schema import Field, Schema, to_arrow
from engine.types import BIGINT, TEXT
from engine.udf.declared import Udf, UdfFile
from engine.udf.reading import read_udfs
from engine.updating.accumulators.counts import Measure
from engine.updating.aggregate import AggregateOperator
from engine.updating.aggregate_spec import AggregateSpec
from tests.updating.streams import INSTANT, Buckets, Change, epochs_of, fold, identity, rows_after

SPREAD = """
from collections import Counter
from engine.udf import udaf

class Seen(Counter):
    pass

@udaf
class spread:
    def __init__(self) -> None:
        self.seen = Seen()

    def add(self, number: int) -> None:
        self.seen[number] += 1
{more}
    def finish(self) -> int | None:
        there = [number for number, count in self.seen.items() if count]
        return max(there) - min(there) if there else None
"""
MERGE = "    def merge(self, other: 'spread') -> None:\n        self.seen.update(other.seen)\n"
RETRACT = """
    def retract(self, number: int) -> None:
        assert self.seen[number] > 0, "went before it came"
        self.seen[number] -= 1
"""
WAYS = {"forward": "", "merged": MERGE, "both": RETRACT, "both, merged": MERGE + RETRACT}
DAY = 86_400_000_000


def spread(more: str = "") -> Udf:
    return read_udfs([UdfFile("own.py", SPREAD.format(more=more))]).by_name["spread"]


def buckets(udf: Udf, *, only_appends: bool) -> Buckets:
    measure = Measure("spread", (BIGINT,), BIGINT, has_condition=True, udf=udf)
    schema = Schema((Field("c0", TEXT), Field("c1", BIGINT)))
    return Buckets(AggregateOperator(AggregateSpec(schema, 1, (measure,), only_appends, DAY)))


def packed(changes: list[Change]) -> pa.Table:
    rows = [row for _, row in changes]
    return pa.table(
        {
            "_id": pa.array([identity(row["key"]) for row in rows], pa.int64()),
            "k0": pa.array([row["key"] for row in rows], pa.string()),
            "_timestamp": pa.array([row["at"] for row in rows], INSTANT),
            "a0_0": pa.array([row["number"] for row in rows], to_arrow(BIGINT)),
            "c0": pa.array([row["flag"] for row in rows], pa.bool_()),
            "_retract": pa.array([retract for retract, _ in changes]),
        }
    )


def random_rows(chance: Random) -> list[dict[str, Any]]:
    return [
        {
            "key": chance.choice("abcd"),
            "number": chance.choice([None, *range(-20, 20)]),
            "flag": chance.random() < 0.8,
            "at": chance.randrange(1000),
        }
        for _ in range(chance.randrange(1, 80))
    ]


def batch_answer(rows: list[dict[str, Any]]) -> Counter[tuple[object, ...]]:
    groups: dict[str, list[int]] = {row["key"]: [] for row in rows}
    for row in rows:
        if row["flag"] and row["number"] is not None:
            groups[row["key"]].append(row["number"])
    return Counter((key, max(some) - min(some) if some else None) for key, some in groups.items())


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("more", WAYS.values(), ids=WAYS)
def test_the_folded_changes_are_the_batch_answer(seed: int, more: str) -> None:
    chance = Random(seed)
    running = buckets(spread(more), only_appends="retract" not in more)
    epochs = epochs_of(chance, random_rows(chance), taken_back=0.4 if "retract" in more else 0)
    changes: list[Any] = []

    for number, epoch in enumerate(epochs):
        cut = chance.randrange(len(epoch) + 1)
        parts = [(running.operator, packed(part)) for part in (epoch[:cut], epoch[cut:])]
        changes += running.run(parts)

        assert fold(changes) == batch_answer(rows_after(epochs[: number + 1]))


def row(number: int) -> dict[str, Any]:
    return {"key": "a", "number": number, "flag": True, "at": 0}


@pytest.mark.parametrize("more", WAYS.values(), ids=WAYS)
def test_an_object_and_no_rows_are_kept(more: str) -> None:
    running = buckets(spread(more), only_appends="retract" not in more)

    for number in range(3):
        running.run([(running.operator, packed([(False, row(number))]))])

    (state,) = [state for state in running.states.values() if state.tables]
    table = state.tables["rows"].compacted().all()
    assert table is not None
    assert list(state.tables) == ["rows"]
    assert table["m0.0"].null_count == 0
    assert table["m0.1"].null_count == table.num_rows


def test_an_object_that_was_kept_is_one_of_the_class_as_it_is_now() -> None:
    running = buckets(spread(), only_appends=True)
    running.run([(running.operator, packed([(False, row(1)), (False, row(5))]))])
    newer = buckets(spread("    # another text, and so another module\n    unit = 1\n"), only_appends=True)
    newer.states = running.states

    out = newer.run([(newer.operator, packed([(False, row(9))]))])

    assert [(change["_retract"], change["c1"]) for change in out] == [(True, 4), (False, 8)]


def test_exception_of_an_aggregate_class_is_reported_with_its_line() -> None:
    running = buckets(spread(RETRACT), only_appends=False)

    with pytest.raises(UdfFailedError, match=r"spread, own.py:\d+: AssertionError: went before it came"):
        running.run([(running.operator, packed([(False, row(1)), (False, row(1)), (True, row(2))]))])


@pytest.mark.parametrize("more", [RETRACT, MERGE + RETRACT], ids=["both", "both, merged"])
def test_expired_group_retracts_nothing(more: str) -> None:
    running = buckets(spread(more), only_appends=False)
    later = {**row(7), "at": 2 * DAY}
    changes = running.run([(running.operator, packed([(False, row(1))]))])
    changes += running.run([(running.operator, packed([(False, {**later, "key": "b"})]))])

    changes += running.run([(running.operator, packed([(True, {**row(1), "at": 2 * DAY})]))])

    assert fold(changes) == Counter({("b", 0): 1})
    assert fold(changes + running.run([(running.operator, packed([(False, later)]))])) == Counter([("a", 0), ("b", 0)])
