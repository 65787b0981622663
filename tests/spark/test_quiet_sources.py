"""A source that falls silent altogether: its watermark follows the clock, which the tests turn."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from engine.spark.read import notes
from engine.spark.read.planner import Offset, Planner, PlanSpec
from engine.spark.read.watermarks import END_OF_TIME, Activity, Silence, follow_clock
from tests.spark.test_planner import START, Backlog, FakeSource, MovingSource, note

QUIET = timedelta(minutes=10)
DELAY = timedelta(seconds=5)


def planner(source: FakeSource, folder: Path, others: tuple[Path, ...] = ()) -> Planner:
    activity, silence = Activity(timedelta(minutes=5), {}), Silence(QUIET, DELAY)
    return Planner(PlanSpec("t", folder, others), source, activity, lambda: source.now, silence)


def micros(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000)


def read_to(source: FakeSource, plan: Planner, folder: Path, candidate: int) -> Offset:
    """The offset once what the source has was read, and its watermark is the candidate."""
    offset = plan.next(plan.first())
    for name, end in source.ends.items():
        note(folder, name, end, candidate)
    return plan.next(offset)


def test_the_watermark_follows_the_clock_once_all_was_silent_for_long_enough(tmp_path: Path) -> None:
    source = FakeSource({"a": 10, "b": 4})
    plan = planner(source, tmp_path)
    offset = read_to(source, plan, tmp_path, micros(START))
    source.now = START + QUIET
    assert plan.next(offset) is offset, "not yet"

    source.now = START + QUIET + timedelta(seconds=1)
    moved = plan.next(offset)

    assert moved.watermark == micros(source.now - DELAY)
    assert (moved.positions, moved.moved, moved.sequence) == (offset.positions, {}, offset.sequence + 1)
    assert Offset.from_json(moved.to_json()) == moved


def test_a_watermark_that_came_from_the_clock_says_so_until_rows_have_shown_a_later_one(tmp_path: Path) -> None:
    source = FakeSource({"a": 10, "b": 4})
    plan = planner(source, tmp_path)
    offset = read_to(source, plan, tmp_path, micros(START))
    assert (offset.is_by_clock, "clock" in offset.to_json()) == (False, False)
    source.now = START + QUIET + timedelta(seconds=1)

    by_clock = plan.next(offset)
    source.ends |= {"a": 20, "b": 8}
    waking = plan.next(by_clock)
    for name, end in source.ends.items():
        note(tmp_path, name, end, micros(source.now) + 5)
    awake = plan.next(waking)

    assert (by_clock.is_by_clock, waking.is_by_clock, awake.is_by_clock) == (True, True, False)
    assert by_clock.watermark == waking.watermark != awake.watermark
    assert Offset.from_json(waking.to_json()) == waking


def test_one_partition_with_rows_prevents_an_idle_advance(tmp_path: Path) -> None:
    source = FakeSource({"a": 10, "b": 4})
    plan = planner(source, tmp_path)
    offset = read_to(source, plan, tmp_path, micros(START))
    source.now, source.ends["a"] = START + timedelta(minutes=9), 20
    offset = plan.next(offset)
    note(tmp_path, "a", 20, micros(START) + 7)

    source.now = START + timedelta(minutes=13)
    offset = plan.next(offset)
    source.now = START + timedelta(minutes=18)

    assert (offset.watermark, plan.next(offset)) == (micros(START) + 7, offset)


def test_rows_that_wait_and_partitions_that_are_new_are_no_silence(tmp_path: Path) -> None:
    source = Backlog({"a": 12})
    plan = planner(source, tmp_path / "backlog")
    offset = plan.next(plan.first())
    source.now = START + timedelta(minutes=30)
    assert plan.next(offset).watermark is None

    moving = MovingSource({"a": 100})
    plan = planner(moving, tmp_path / "moving")
    offset = plan.next(plan.first())
    moving.now, moving.ends = START + timedelta(minutes=30), {"a": 100, "b": 500}

    assert plan.next(offset).watermark is None, "what is in the new partition is read from the next epoch on"


def test_a_clock_that_goes_on_makes_one_epoch_a_minute_at_most(tmp_path: Path) -> None:
    source = FakeSource({"a": 10})
    plan = planner(source, tmp_path)
    offset = read_to(source, plan, tmp_path, micros(START))
    source.now = START + timedelta(minutes=11)
    offset = plan.next(offset)
    source.now += timedelta(seconds=59)
    assert plan.next(offset) is offset

    source.now += timedelta(seconds=1)

    assert plan.next(offset).watermark == micros(source.now - DELAY)


def test_rows_that_come_after_the_silence_do_not_pull_the_watermark_back(tmp_path: Path) -> None:
    source = FakeSource({"a": 10})
    plan = planner(source, tmp_path)
    offset = read_to(source, plan, tmp_path, micros(START))
    source.now = START + timedelta(minutes=11)
    offset = plan.next(offset)
    by_clock = offset.watermark
    source.ends["a"] = 20
    offset = plan.next(offset)
    note(tmp_path, "a", 20, micros(START) + 1)

    assert offset.watermark == by_clock, "what comes is measured by it"
    assert plan.next(offset).watermark in (None, by_clock)


def test_a_watermark_that_is_ahead_of_the_clock_stays(tmp_path: Path) -> None:
    source = FakeSource({"a": 10})
    plan = planner(source, tmp_path)
    offset = read_to(source, plan, tmp_path, micros(START + timedelta(days=1)))
    source.now = START + timedelta(minutes=11)

    assert plan.next(offset) is offset


def test_a_source_that_had_no_row_at_all_follows_the_clock_as_well(tmp_path: Path) -> None:
    source = FakeSource({})
    plan = planner(source, tmp_path)
    start = plan.first()
    assert plan.next(start) is start
    source.now = START + timedelta(minutes=11)

    assert plan.next(start).watermark == micros(source.now - DELAY)


def test_a_restart_keeps_the_watermark_and_begins_to_wait_anew(tmp_path: Path) -> None:
    source = FakeSource({"a": 10})
    plan = planner(source, tmp_path)
    offset = read_to(source, plan, tmp_path, micros(START))
    source.now = START + timedelta(minutes=11)
    moved = plan.next(offset)
    source.now = START + timedelta(hours=2)
    plan = planner(source, tmp_path)

    again = plan.next(Offset.from_json(moved.to_json()))
    assert again.watermark == moved.watermark
    source.now += timedelta(minutes=11)

    assert plan.next(again).watermark == micros(source.now - DELAY)


def test_the_clock_and_the_other_sources_are_followed_to_the_later_of_the_two(tmp_path: Path) -> None:
    other = tmp_path / "other"
    ahead = micros(START + timedelta(days=1))
    notes.write_mark(other, notes.SourceMark(ahead, idle=False, ended=False))
    source = FakeSource({"a": 0})
    plan = planner(source, tmp_path / "mine", (other,))
    offset = plan.next(plan.first())
    source.now = START + timedelta(minutes=11)

    assert plan.next(offset).watermark == ahead


def test_an_input_that_ends_does_not_follow_the_clock(tmp_path: Path) -> None:
    source = FakeSource({"a": 10}, bounded=True)
    plan = planner(source, tmp_path)
    end = plan.next(plan.first())
    source.now = START + timedelta(minutes=11)

    assert (plan.next(end), end.promise) == (end, END_OF_TIME)


def test_without_the_option_a_silent_source_waits_for_ever() -> None:
    silence = Silence()
    assert silence.find_mark(START, is_busy=False) is None

    assert silence.find_mark(START + timedelta(days=9), is_busy=False) is None


def test_a_short_silence_makes_short_steps() -> None:
    assert follow_clock(0, 2_000_000, timedelta(seconds=2)) == 2_000_000
    assert follow_clock(0, 1_999_999, timedelta(seconds=2)) == 0
    assert follow_clock(None, 5, timedelta(seconds=2)) == 5
    assert follow_clock(7, None, timedelta(seconds=2)) == 7
