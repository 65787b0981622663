"""Conditions behind an updating aggregate that change while it runs: once each bucket tells of all its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from engine.updating.aggregate import AggregateOperator
from engine.updating.state_columns import BEFORE
from tests.updating.streams import Buckets, Change, epochs_of, fold, rows_after
from tests.updating.test_aggregate import batch_answer, operator, packed, random_rows, rounded
from tests.updating.test_reforming import stored_anew

NAMES = ["count(*)", "count(DISTINCT word)", "median(real)"]
"""Of the last two the values are kept."""
Test = Callable[[Mapping[str, Any]], bool]
OLD: Test = lambda row: row["c1"] > 1  # noqa: E731
NEW: Test = lambda row: row["c1"] % 2 == 0  # noqa: E731


class Story:
    """What a sink is given behind a condition, which is another one from some epoch on."""

    def __init__(self, *, only_appends: bool) -> None:
        self.plain = operator(NAMES, only_appends=only_appends)
        self.buckets = Buckets(self.plain)
        self.passes = self.passed = OLD
        self.given: list[Mapping[str, Any]] = []

    def change(self, name: str, old: Test, new: Test) -> None:
        self.passed, self.passes = old, new
        self.buckets.operator = AggregateOperator(replace(self.plain.spec, retelling=name))
        for bucket, state in self.buckets.states.items():
            self.buckets.states[bucket] = stored_anew(state)

    def epoch(self, changes: Sequence[Change], *, asks: bool = False) -> list[Mapping[str, Any]]:
        running = self.buckets.operator
        assert isinstance(running, AggregateOperator)
        rows = packed(running.spec, NAMES, changes)
        parts = list(running.pack(rows)) if rows.num_rows else []
        asked = self.buckets.states if asks else ()
        payloads = {
            bucket: [*([b""] if asks else []), *(payload for place, payload in parts if place == bucket)]
            for bucket in {*asked, *(bucket for bucket, _ in parts)}
        }
        states = {bucket: self.buckets.states[bucket] for bucket in payloads}
        result = running.steps(states, payloads)
        assert running.steps(states, payloads).out == result.out
        self.buckets.states.update(result.states)
        out = result.out.to_pylist()
        given = [row for row in out if (self.passed if row.get(BEFORE) else self.passes)(row)]
        self.given += [{name: value for name, value in row.items() if name != BEFORE} for row in given]
        return given

    def has(self) -> Counter[Any]:
        return rounded(fold(self.given))


def expected(changes: Sequence[Sequence[Change]], test: Test) -> Counter[Any]:
    groups = rounded(batch_answer(rows_after(changes), NAMES))
    return Counter(row for row in groups if test({"c1": row[1]}))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("only_appends", [True, False])
def test_whatever_a_condition_becomes_the_sink_has_the_batch_answer(seed: int, only_appends: bool) -> None:
    chance = Random(seed)
    epochs = epochs_of(chance, random_rows(chance), taken_back=0 if only_appends else 0.4)
    turn = chance.randint(0, len(epochs))
    story = Story(only_appends=only_appends)
    for epoch in epochs[:turn]:
        story.epoch(epoch)
    assert story.has() == expected(epochs[:turn], OLD)

    story.change("one", OLD, NEW)
    for number, epoch in enumerate([*epochs[turn:], []]):
        story.epoch(epoch, asks=number == 0)
        assert story.has() == expected(epochs[: turn + number + 1], NEW)
    assert story.epoch([], asks=True) == []

    story.change("two", NEW, OLD)
    story.epoch([], asks=True)
    assert story.has() == expected(epochs, OLD)


@pytest.mark.parametrize("new", ["sum(number)", "array_agg(number ORDER BY number)"])
def test_an_aggregate_that_is_new_as_well_is_told_as_unknown(new: str) -> None:
    story = Story(only_appends=True)
    story.epoch(rows_of("aab"))
    names = [*NAMES, new]
    spec = replace(operator(names, only_appends=True).spec, form=tuple(names), began_as=tuple(NAMES), retelling="one")

    states = story.buckets.states
    out = AggregateOperator(spec).steps(states, {bucket: [b""] for bucket in states}).out

    told = [(row["c0"], row["c1"], row["c4"], row[BEFORE]) for row in out.to_pylist()]
    assert sorted(told) == [("a", 2, None, False), ("a", 2, None, True), ("b", 1, None, False), ("b", 1, None, True)]


def test_a_bucket_that_nobody_asks_tells_when_a_row_comes() -> None:
    story = Story(only_appends=True)
    epochs = [rows_of("aab"), rows_of("ab")]
    story.epoch(epochs[0])
    story.change("one", OLD, NEW)

    story.epoch(epochs[1])

    assert story.has() == expected(epochs, NEW)


def rows_of(keys: str) -> list[Change]:
    template = random_rows(Random(1))[0]
    return [(False, {**template, "key": key}) for key in keys]
