"""Planning the epochs of a backfill: it ends where the source ended when it began, nothing of it is late, and what
comes behind it is read on from the very same place, whoever is killed in between."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest

from engine.connectors.base import Position
from engine.spark.read.history import History
from engine.spark.read.planner import Offset, Planner, PlanSpec
from engine.spark.read.pulses import Pulses
from engine.spark.read.watermarks import END_OF_TIME, Activity, Silence
from tests.spark.test_planner import FakeSource, note

BOUNDED = History(since=100, until=200)
GOES_ON = History(since=100, goes_on=True)


@dataclass
class EndingSource(FakeSource):
    """Can say where it ends now, and reads at most `step` rows of a partition in an epoch."""

    step: int = 1_000_000

    def ends_now(self, at: Mapping[str, Position], stop: Mapping[str, int]) -> Mapping[str, Position]:
        return {name: stop.get(name, self.ends[name]) for name in at}

    def earlier(self, first: Position, second: Position) -> Position:
        assert isinstance(first, int)
        assert isinstance(second, int)
        return min(first, second)

    def advance(self, at: Mapping[str, Position], max_rows: int | None) -> Mapping[str, Position]:
        return {name: min(self.ends[name], int(str(where)) + self.step) for name, where in at.items()}


@dataclass
class MovingEndingSource(EndingSource):
    def begin(self, partitions: Collection[str], *, is_first: bool) -> Mapping[str, Position]:
        return dict.fromkeys(partitions, 0)


def source(places: dict[str, int], step: int = 1_000_000, *, moving: bool = False) -> EndingSource:
    kind = MovingEndingSource if moving else EndingSource
    return kind(dict(places), step=step)


def planner(of: EndingSource, folder: Path, history: History | None) -> Planner:
    spec = replace(PlanSpec("t", folder), history=history)
    return Planner(spec, of, Activity(timedelta(minutes=5), {}), lambda: of.now, Silence())


def logged(offset: Offset) -> Offset:
    """As another process finds it."""
    return Offset.from_json(offset.to_json())


def epochs(of: EndingSource, folder: Path, history: History, candidate: int = 150) -> list[Offset]:
    """All offsets until nothing follows, each planned by a process of its own."""
    offsets = [planner(of, folder, history).first()]
    while True:
        following = planner(of, folder, history).next(logged(offsets[-1]))
        if following == offsets[-1] or len(offsets) > 20 or (following.is_end and offsets[-1].is_end):
            return offsets[1:]
        for name in following.moved:
            note(folder, name, int(str(following.positions[name])), candidate)
        offsets.append(following)


@pytest.mark.parametrize("moving", [False, True])
def test_backfill_ends_at_the_end_of_the_source_at_its_start(moving: bool, tmp_path: Path) -> None:
    of = source({"a": 10, "b": 4}, 6, moving=moving)
    first = planner(of, tmp_path, BOUNDED).next(planner(of, tmp_path, BOUNDED).first())
    of.ends = {"a": 50, "b": 60, "later": 7}

    offset = first
    while not offset.is_end:
        offset = planner(of, tmp_path, None).next(logged(offset))

    assert {name: end for name, end in offset.positions.items() if name != "later"} == {"a": 10, "b": 4}
    assert "later" not in offset.moved
    assert offset.promise == END_OF_TIME


def test_backfill_has_no_late_rows(tmp_path: Path) -> None:
    *before, last = epochs(source({"a": 10, "b": 4}, 3), tmp_path, BOUNDED)

    assert len(before) > 1
    assert {offset.watermark for offset in (*before, last)} == {None}
    assert [offset.is_end for offset in (*before, last)] == [False] * len(before) + [True]


def test_rows_after_the_backfill_are_read_from_the_same_position(tmp_path: Path) -> None:
    of = source({"a": 10, "b": 4}, moving=True)
    plan = planner(of, tmp_path, GOES_ON)
    begin = plan.next(plan.first())
    of.ends = {"a": 12, "b": 4, "later": 7}
    read = plan.next(begin)
    for name in ("a", "b"):
        note(tmp_path, name, of.ends[name] - 2 * (name == "a"), 150)

    over = planner(of, tmp_path, None).next(logged(read))
    behind = planner(of, tmp_path, GOES_ON).next(logged(over))

    assert (read.positions, read.history is not None and read.history.is_over) == ({"a": 10, "b": 4, "later": 0}, False)
    assert over.history == replace(GOES_ON, is_over=True)
    assert (over.positions, over.moved) == ({"a": 12, "b": 4, "later": 7}, {"a": 1, "later": 1})
    assert behind.positions == over.positions
    assert not over.is_end


def test_the_watermark_moves_once_it_is_over(tmp_path: Path) -> None:
    offsets = epochs(source({"a": 10, "b": 4}, 3), tmp_path, GOES_ON, candidate=170)
    over = next(offset for offset in offsets if offset.history is not None and offset.history.is_over)
    history = offsets[: offsets.index(over)]

    assert len(history) > 1
    assert {offset.watermark for offset in history} == {None}
    assert over.watermark == 170
    assert over.history == replace(GOES_ON, is_over=True)


def test_history_without_rows_is_over_at_once(tmp_path: Path) -> None:
    assert [offset.is_end for offset in epochs(source({"a": 0}), tmp_path, BOUNDED)] == [True]
    [begin, over] = epochs(source({"a": 0}), tmp_path, GOES_ON)
    assert (begin.history, over.history) == (replace(GOES_ON, ends={"a": 0}), replace(GOES_ON, is_over=True))


def test_backfill_ends_at_given_offsets(tmp_path: Path) -> None:
    last = epochs(source({"a": 10, "b": 4}), tmp_path, History(stop=(("a", 7), ("b", 0))))[-1]

    assert (last.positions, last.is_end) == ({"a": 7, "b": 0}, True)


def test_a_source_that_ends_by_itself_is_read_to_its_end(tmp_path: Path) -> None:
    class Plain(FakeSource):
        pass

    of = Plain({"a": 10}, bounded=True)
    plan = Planner(replace(PlanSpec("t", tmp_path), history=BOUNDED), of, Activity(None, {}), lambda: of.now)

    only = plan.next(plan.first())

    assert (only.positions, only.is_end, only.watermark) == ({"a": 10}, True, None)


def test_a_run_without_a_backfill_has_none_in_its_offsets(tmp_path: Path) -> None:
    of = source({"a": 10})

    first = planner(of, tmp_path, None).next(planner(of, tmp_path, None).first())

    assert "history" not in first.to_json()


def test_a_graceful_stop_closes_nothing_of_history_that_is_not_read(tmp_path: Path) -> None:
    pulse = tmp_path / "pulse"
    of = source({"a": 10}, 3)
    read = planner(of, tmp_path, BOUNDED).next(planner(of, tmp_path, BOUNDED).first())
    note(tmp_path, "a", 3, 150)
    plan = planner(of, tmp_path, BOUNDED)
    plan.spec = replace(plan.spec, pulse=pulse)
    Pulses([pulse], timedelta(seconds=1)).drain()

    assert plan.next(read) is read


def test_bounded_source_has_nothing_after_its_backfill(tmp_path: Path) -> None:
    of = source({"a": 10})
    of.bounded = True

    last = epochs(of, tmp_path, GOES_ON)[-1]
    again = planner(of, tmp_path, None).next(logged(last))

    assert last.is_end
    assert again.history == last.history
