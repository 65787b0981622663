"""Updating aggregates that change while they run: what is known stays right, and what is not known is NULL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from engine.plan.tree import RETRACT
from engine.updating.aggregate import AggregateOperator
from engine.updating.bucket_state import BucketState, StoredBucket, read_head, write_head
from tests.updating.streams import Buckets, Change, epochs_of, rows_after
from tests.updating.test_aggregate import MEASURES, batch_answer, operator, packed, random_rows, rounded


def changed(names: Sequence[str], first: Sequence[str], *, only_appends: bool) -> AggregateOperator:
    """The operator of a query that began with other aggregates."""
    plain = operator(names, only_appends=only_appends)
    return AggregateOperator(replace(plain.spec, form=tuple(names), began_as=tuple(first)))


def stored_anew(state: BucketState) -> BucketState:
    """What is read of a bucket that was written."""
    write = write_head(StoredBucket(), state)
    chunks = {chunk: table for chunk, (table, _) in write.new_chunks.items()}
    return read_head(write.listing, write.small, chunks.__getitem__).state


class Story:
    """A query that is changed between epochs, and what of which key is not known by rights."""

    def __init__(self, names: Sequence[str], *, only_appends: bool) -> None:
        self.only_appends = only_appends
        self.first = self.names = list(names)
        self.buckets = Buckets(operator(names, only_appends=only_appends))
        self.shown: dict[int, tuple[Sequence[str], dict[str, Any]]] = {}
        self.older: dict[str, set[Any]] = {name: set() for name in names}

    def change(self, names: Sequence[str], keys: set[Any]) -> None:
        self.buckets.operator = changed(names, self.first, only_appends=self.only_appends)
        self.older = {name: self.older[name] if name in self.names else {*keys} for name in names}
        self.names = list(names)
        for bucket, state in self.buckets.states.items():
            self.buckets.states[bucket] = stored_anew(state)

    def epoch(self, changes: Sequence[Change]) -> None:
        running = self.buckets.operator
        rows = packed(running.spec, self.names, changes)  # type: ignore[attr-defined]
        for row in self.buckets.run([(running, rows)]):
            if row[RETRACT]:
                self.shown.pop(int(str(row["_id"])))
            else:
                self.shown[int(str(row["_id"]))] = self.names, dict(row)

    def check(self, rows: Sequence[dict[str, Any]]) -> None:
        keys = {row["key"] for row in rows}
        self.older = {name: older & keys for name, older in self.older.items()}
        answers = {row[0]: row[1:] for row in rounded(batch_answer(rows, sorted(MEASURES)))}
        assert {row["c0"] for _, row in self.shown.values()} == keys
        for names, row in self.shown.values():
            for index, name in enumerate(names, 1):
                if name in self.names:
                    cell = row[f"c{index}"]
                    cell = tuple(cell) if isinstance(cell, list) else cell
                    (value,) = (cells[0] for cells in rounded(Counter([(cell,)])))
                    answer = answers[row["c0"]][sorted(MEASURES).index(name)]
                    is_older = row["c0"] in self.older[name] or names is not self.names
                    assert value == answer or (value is None and is_older), (name, row)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("only_appends", [True, False])
def test_whatever_is_changed_what_is_known_is_the_batch_answer(seed: int, only_appends: bool) -> None:
    chance = Random(seed)
    story = Story(chance.sample(sorted(MEASURES), 4), only_appends=only_appends)
    epochs = epochs_of(chance, random_rows(chance), taken_back=0 if only_appends else 0.4)

    for number, epoch in enumerate(epochs):
        story.epoch(epoch)
        rows = rows_after(epochs[: number + 1])
        story.check(rows)
        if chance.random() < 0.7:
            names = chance.sample(sorted(MEASURES), chance.randint(1, 5))
            story.change(names, {row["key"] for row in rows})


def row(number: int, key: str = "a") -> Change:
    return False, {"key": key, "number": number, "at": 0}


def run(buckets: Buckets, operator: AggregateOperator, names: Sequence[str], *changes: Change) -> list[Any]:
    buckets.operator = operator
    return [row["c1"] for row in buckets.run([(operator, packed(operator.spec, names, changes))]) if not row[RETRACT]]


def test_a_key_that_goes_and_comes_again_is_known() -> None:
    old, names = ["sum(number)"], ["count(*)"]
    buckets = Buckets(operator(old, only_appends=False))
    new = changed(names, old, only_appends=False)
    run(buckets, operator(old, only_appends=False), old, row(1))

    assert run(buckets, new, names, row(2), row(3, "b")) == [None, 1]
    assert run(buckets, new, names, (True, row(1)[1]), (True, row(2)[1])) == []
    assert run(buckets, new, names, row(4)) == [1]


def test_values_known_before_a_change_that_kept_the_key_are_known_after_the_next() -> None:
    names = ["sum(number)"]
    buckets = Buckets(operator(names, only_appends=True))
    run(buckets, operator(names, only_appends=True), names, row(1))

    assert run(buckets, changed(names, names, only_appends=True), names, row(2)) == [3]


def test_a_bucket_that_is_in_its_form_is_left_as_it_is() -> None:
    names = ["sum(number)"]
    new = changed(names, ["count(*)"], only_appends=True)
    buckets = Buckets(new)
    run(buckets, new, names, row(1))
    (state,) = buckets.states.values()

    assert state.form == ("sum(number)",)
    assert stored_anew(state).form == state.form
    assert run(buckets, new, names, row(2)) == [3]
