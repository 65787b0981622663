"""A copy comes to where the original has ended, and stays there: rows first, then the watermark."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine.checkpoints.layout import StatePaths
from engine.connectors.base import Position
from engine.errors import UnreadableStateError
from engine.spark.read.history import History
from engine.spark.read.planner import Offset, Planner, PlanSpec
from engine.spark.read.scan_spec import format_name
from engine.spark.read.watermarks import Activity
from engine.spark.upgrade import hand_over
from engine.values.instants import to_micros
from tests.spark.test_planner import FakeSource, MovingSource, note


class Counted(FakeSource):
    """Its positions are numbers."""

    def ends_now(self, at: object, stop: object) -> dict[str, Position]:
        raise AssertionError

    def earlier(self, first: Position, second: Position) -> Position:
        return min(first, second)  # type: ignore[type-var]


@dataclass
class CountedAndMoving(MovingSource):
    ends_now = Counted.ends_now
    earlier = Counted.earlier


def planner(source: FakeSource, folder: Path, meets: Offset) -> Planner:
    return Planner(PlanSpec("t", folder, meets=meets), source, Activity(timedelta(minutes=5), {}), lambda: source.now)


def ends_with(state: Path, end: Offset) -> None:
    """A state whose newest epoch ends there, and is committed."""
    checkpoint = StatePaths(state).checkpoint
    for log, lines in (("offsets", ["v1", "{}", json.dumps(end.to_json())]), ("commits", ["v1", "{}"])):
        (checkpoint / log).mkdir(parents=True)
        (checkpoint / log / "7").write_text("\n".join(lines))


def at(positions: dict[str, Position], watermark: int | None, sequence: int = 7) -> Offset:
    return Offset("t", positions, dict.fromkeys(positions, watermark), watermark, sequence=sequence)


def test_the_rows_come_first_and_then_the_watermark_and_then_nothing(tmp_path: Path) -> None:
    there = at({"a": 30, "b": 12}, 500)
    plan = planner(Counted({"a": 90, "b": 90}), tmp_path, there)

    read = plan.next(at({"a": 28, "b": 12}, 400))
    assert (read.positions, read.watermark, set(read.moved)) == ({"a": 30, "b": 12}, 400, {"a"})
    closed = plan.next(read)
    assert (closed.positions, closed.watermark, closed.marks, closed.moved) == (there.positions, 500, there.marks, {})
    assert plan.next(closed) is closed


def test_last_rows_of_the_original_close_windows_of_a_silent_topic_after_the_hand_over(
    tmp_path: Path,
) -> None:
    original, notes_of_copy = tmp_path / "orders", tmp_path / "again"
    last = replace(at({"a": 30, "b": 12}, 500), moved={"a": 1, "b": 1})
    ends_with(original, last)
    directory = StatePaths(original).watermarks / format_name("t")
    note(directory, "a", 30, 900)
    note(directory, "b", 12, 800)
    silent = Counted({"a": 30, "b": 12})

    standing = hand_over.standing(original)
    assert standing is not None
    there = standing.ends[0]
    closed = planner(silent, notes_of_copy, there).next(at({"a": 30, "b": 12}, 400))
    assert closed.watermark == 500, "no window is closed that the original has not closed"
    after = Planner(PlanSpec("t", notes_of_copy), silent, Activity(timedelta(minutes=5), {}), lambda: silent.now)
    assert after.next(closed).watermark == 800


def test_an_original_that_stays_where_it_is_forgets_nothing_of_what_its_last_rows_have_shown(tmp_path: Path) -> None:
    last = replace(at({"a": 30}, 500), moved={"a": 1})
    note(tmp_path, "a", 30, 900)
    plan = planner(Counted({"a": 90}), tmp_path, at({"a": 30}, 500))

    stays = plan.next(last)

    assert (stays.watermark, stays.marks, stays.moved) == (500, {"a": 900}, {})
    assert plan.next(stays) is stays


def test_rows_that_were_dropped_on_the_way_there_stay_counted(tmp_path: Path) -> None:
    plan = planner(Counted({"a": 90}), tmp_path, at({"a": 30}, 500))

    read = plan.next(replace(at({"a": 28}, 400), dropped=2))
    note(tmp_path, "a", 30, None, dropped=3)
    closed = plan.next(read)

    assert (read.dropped, closed.dropped) == (2, 5)
    assert plan.next(closed).dropped == 5


def test_a_restart_says_once_more_where_it_is_and_reads_nothing(tmp_path: Path) -> None:
    there = at({"a": 30}, 500)
    plan = planner(Counted({"a": 90}), tmp_path, there)

    said = plan.next(there)

    assert (said.positions, said.watermark, said.sequence) == ({"a": 30}, 500, there.sequence + 1)
    assert plan.next(said) is said


def test_source_seen_only_by_the_original_begins_and_one_seen_only_by_the_copy_waits(tmp_path: Path) -> None:
    source = CountedAndMoving({"a": 90, "b": 300, "c": 50})
    plan = planner(source, tmp_path, at({"a": 30, "b": 120}, 500))

    begun = plan.next(at({"a": 30, "c": 4}, 400))
    assert begun.positions == {"a": 30, "b": 100, "c": 4}
    assert source.begins == [False]
    read = plan.next(begun)
    assert read.positions == {"a": 30, "b": 120, "c": 4}
    closed = plan.next(read)
    assert closed.watermark == 500
    assert plan.next(closed) is closed


def test_a_table_that_is_read_in_two_places_comes_to_where_the_further_one_is(tmp_path: Path) -> None:
    source, one, two = Counted({"a": 90, "b": 90, "c": 90}), at({"a": 30, "b": 3}, 400), at({"a": 28, "b": 12}, 500)
    two = replace(two, positions={**two.positions, "c": 7})

    there = hand_over.furthest({"t": source}, [one, two])["t"]

    assert (there.positions, there.watermark) == ({"a": 30, "b": 12, "c": 7}, 500)
    assert there.marks == {"a": 500, "b": 500}
    for start in (one, two):
        plan = planner(source, tmp_path, there)
        epochs = [plan.next(start)]
        while (following := plan.next(epochs[-1])) is not epochs[-1]:
            epochs.append(following)
        assert (epochs[-1].positions, epochs[-1].watermark) == (there.positions, 500)
        assert len(epochs) <= 3


def test_rendezvous_is_reached_once_nothing_more_is_planned(tmp_path: Path) -> None:
    sources = {"t": Counted({})}
    there, before = at({"a": 30}, 500), at({"a": 28}, 400)

    def has_come(end: Offset, planned: Offset) -> bool:
        standing = hand_over.Standing(7, (end,), (planned,), is_settled=end is planned)
        return hand_over.has_come(sources, tmp_path, standing)

    assert not has_come(there, there)
    hand_over.ask(tmp_path, {"t": there})
    assert has_come(there, there)
    assert has_come(there, replace(there, sequence=8))
    assert not has_come(before, there)
    assert not has_come(there, at({"a": 31}, 500))
    assert not has_come(there, at({"a": 30}, 501))


def test_pipeline_with_more_offsets_or_closed_windows_is_not_behind() -> None:
    source = {"t": Counted({})}
    there = [at({"a": 30, "b": 12}, 500)]

    assert hand_over.is_behind(source, [at({"a": 30, "b": 3}, 400)], there)
    assert hand_over.is_behind(source, [at({"a": 30}, None)], there)
    assert not hand_over.is_behind(source, [at({"a": 31, "b": 3}, 400)], there)
    assert not hand_over.is_behind(source, [at({"a": 30, "b": 3}, 501)], there)
    assert not hand_over.is_behind(source, [at({"a": 30, "c": 3}, 400)], there)
    assert hand_over.is_behind(source, [at({"a": 30}, 400)], [at({"a": 29}, 400), at({"a": 30}, 300)])
    assert not hand_over.is_behind(source, [at({"a": 31}, 400)], [at({"a": 29}, 400), at({"a": 30}, 300)])
    assert hand_over.by_table([*there, at({"a": 29, "b": 12}, 500)]) is None


def test_rendezvous_needs_equal_offsets_and_equal_closed_windows() -> None:
    source = {"t": Counted({})}
    there = [at({"a": 30}, 500)]

    assert hand_over.have_met(source, [at({"a": 30, "b": 0}, 500)], there)
    assert not hand_over.have_met(source, [at({"a": 30}, 499)], there)
    assert not hand_over.have_met(source, [at({"a": 29}, 500)], there)
    assert not hand_over.have_met(source, [at({"a": 31}, 500)], there)
    assert hand_over.has_read(source, [at({"a": 31}, 1)], there)
    assert not hand_over.has_read(source, [at({"a": 29}, 900)], there)


def test_a_window_with_rows_that_the_copy_has_left_out_is_open_until_every_table_is_past_them() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    micros = to_micros(noon)
    history = History(since=micros, goes_on=True, is_over=True)

    def standing(*ends: Offset) -> hand_over.Standing:
        return hand_over.Standing(7, ends, ends, is_settled=True)

    assert standing(at({"a": 1}, 5)).since is None
    assert standing(replace(at({"a": 1}, 5), history=history)).since == noon
    assert standing(at({"a": 30}, micros + 1), at({"b": 30}, micros + 1)).has_closed(noon)
    assert not standing(at({"a": 30}, micros + 1), at({"b": 30}, micros)).has_closed(noon)
    assert not standing(at({"a": 30}, micros + 1), at({"b": 0}, None)).has_closed(noon)
    assert standing(at({"a": 0}, None), at({"b": 0}, None)).has_closed(noon)
    assert not standing(replace(at({"a": 30}, None), moved={"a": 1})).has_closed(noon)


def test_rendezvous_is_stored_in_the_state_and_removed(tmp_path: Path) -> None:
    there = at({"a": 30}, 500)

    hand_over.ask(tmp_path, {"t": there})
    assert hand_over.read_meeting(StatePaths(tmp_path)) == {"t": there}
    StatePaths(tmp_path).meeting.write_text('{"t": 7}')
    with pytest.raises(UnreadableStateError):
        hand_over.read_meeting(StatePaths(tmp_path))
    hand_over.release(tmp_path)
    hand_over.release(tmp_path)
    assert hand_over.read_meeting(StatePaths(tmp_path)) == {}
