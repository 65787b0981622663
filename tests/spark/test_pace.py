"""When the next epoch begins."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from engine.spark.read.planner import Offset
from engine.spark.run.pace import EndedEpoch, Machine, PaceFile, PlannerPause, look_after, rest_after
from engine.spark.run.pacing import Neighbours, Pacing, leaves_work, pacing_of
from engine.spark.run.progress import ReadSlices

LINGER = timedelta(milliseconds=250)


def millis(count: int) -> timedelta:
    """A length of time."""
    return timedelta(milliseconds=count)


@pytest.mark.parametrize(
    ("took", "fixed", "rest"),
    [
        (200, 200, 250),
        (1100, 200, 125),
        (2000, 200, 0),
        (60_000, 200, 0),
        (0, 0, 250),
        # no short epoch was seen lately: a rest of a quarter of a second is nothing beside these
        (5000, 5000, 250),
    ],
)
def test_an_epoch_rests_less_the_more_of_it_is_for_rows(took: int, fixed: int, rest: int) -> None:
    epoch = EndedEpoch(millis(took), millis(fixed))

    assert rest_after(epoch, LINGER, Machine(2)) == millis(rest)
    assert rest_after(epoch, timedelta(0), Machine(2)) == timedelta(0)
    assert rest_after(replace(epoch, goes_on=True), LINGER, Machine(2)) == timedelta(0)


@pytest.mark.parametrize(
    ("machine", "rest"),
    [
        (Machine(2, 1, millis(200)), 250),
        (Machine(2, 3, millis(600)), 1000),
        (Machine(8, 3, millis(600)), 250),
        (Machine(2, 20, millis(4000)), 2000),
    ],
)
def test_fixed_parts_of_neighbours_stay_under_a_quarter_of_the_machine(machine: Machine, rest: int) -> None:
    assert rest_after(EndedEpoch(millis(200), millis(200)), LINGER, machine) == millis(rest)


def test_neighbours_do_not_shorten_a_longer_linger() -> None:
    epoch = EndedEpoch(millis(200), millis(200))

    assert rest_after(epoch, timedelta(seconds=5), Machine(2, 20, millis(4000))) == timedelta(seconds=5)


@pytest.mark.parametrize("behind", [EndedEpoch(millis(200), millis(200), goes_on=True)])
def test_neighbours_hold_nobody_up_that_is_behind(behind: EndedEpoch) -> None:
    assert rest_after(behind, LINGER, Machine(2, 20, millis(4000))) == timedelta(0)


def offset(**changes: Any) -> Offset:
    """Where an epoch with rows of one partition ends."""
    return replace(Offset("t", {"p": 9}, {"p": None}, moved={"p": 1}), **changes)


@pytest.mark.parametrize(
    ("end", "rows", "max_rows", "goes_on"),
    [
        (offset(), 5, None, False),
        (offset(), 5, 100, False),
        (offset(), 50, 100, True),
        (offset(waiting=0), 5, None, False),
        (offset(waiting=1), 5, None, True),
        (offset(is_end=True), 5, None, True),
        (offset(moved={}), 0, None, True),
        (offset(moved={}, is_by_clock=True), 0, None, False),
    ],
)
def test_epoch_with_remaining_work_is_followed_without_a_pause(
    end: Offset, rows: int, max_rows: int | None, goes_on: bool
) -> None:
    assert leaves_work([end], [end], {"t": ReadSlices(rows)}, max_rows) is goes_on


def test_an_ended_table_beside_one_that_goes_on_is_no_end() -> None:
    ends = [offset(is_end=True), offset(table="u")]

    assert not leaves_work(ends, ends, {}, None)


class Clock:
    """A clock that only sleep moves; what is `due` happens on the way."""

    def __init__(self) -> None:
        self.now = 100.0
        self.due: dict[float, Any] = {}

    def read(self) -> float:
        """The time by it."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
        for instant in [instant for instant in self.due if instant <= self.now]:
            self.due.pop(instant)()


def waiting(folder: Path, clock: Clock, table: str = "t") -> PlannerPause:
    """The waiting of a table's planner."""
    return PlannerPause(PaceFile(folder), table, LINGER, clock.read, clock.sleep)


def test_the_first_look_is_at_once_and_idle_ones_are_a_linger_apart(tmp_path: Path) -> None:
    clock = Clock()
    planner = waiting(tmp_path, clock)

    instants = []
    for _ in range(3):
        planner.wait()
        instants.append(clock.now)

    assert instants == pytest.approx([100.0, 100.25, 100.5])


def test_polls_are_less_frequent_during_a_silence(tmp_path: Path) -> None:
    clock, file = Clock(), PaceFile(tmp_path)
    planner = waiting(tmp_path, clock)
    for _ in range(40):
        planner.wait()
    assert clock.now == pytest.approx(109.75)

    planner.wait()
    assert clock.now == pytest.approx(111.25)

    # an epoch ends the silence
    file.rest_until(112.5)
    planner.wait()
    planner.wait()
    assert clock.now == pytest.approx(112.75)


def test_a_longer_linger_is_not_shortened_by_silence() -> None:
    assert look_after(1000, timedelta(seconds=5)) == timedelta(seconds=5)


def test_after_an_epoch_the_planner_waits_as_long_as_the_run_says(tmp_path: Path) -> None:
    clock, file = Clock(), PaceFile(tmp_path)
    planner = waiting(tmp_path, clock)
    planner.wait()

    clock.now = 107.0
    file.rest_until(107.1)
    planner.wait()
    assert clock.now == pytest.approx(107.1)
    assert file.waited() == millis(100)

    # it has taken longer to come back than the rest was
    file.rest_until(107.2)
    clock.now = 108.0
    planner.wait()
    assert clock.now == 108.0
    assert file.waited() == timedelta(0)


def test_only_the_planner_that_is_asked_first_waits(tmp_path: Path) -> None:
    clock = Clock()
    first, second = waiting(tmp_path, clock), waiting(tmp_path, clock, "u")

    for planner in (first, second):
        planner.wait()
    PaceFile(tmp_path).rest_until(101.0)
    second.wait()
    assert clock.now == 100.0
    first.wait()
    assert clock.now == pytest.approx(101.0)

    # the query is started again, with processes of its own
    again = waiting(tmp_path, clock)
    PaceFile(tmp_path).rest_until(102.0)
    again.wait()
    assert clock.now == pytest.approx(102.0)


def test_a_stop_ends_the_waiting(tmp_path: Path) -> None:
    clock, file = Clock(), PaceFile(tmp_path)
    pacing = Pacing(file, LINGER, Neighbours(tmp_path / "running", "a"), clock.read)
    pacing.begin()
    planner = waiting(tmp_path, clock)
    planner.wait()
    pacing.rest(goes_on=False)
    clock.due[100.1] = pacing.hurry

    planner.wait()
    assert clock.now == pytest.approx(100.1)

    # nor does an epoch that was under way
    pacing.rest(goes_on=False)
    planner.wait()
    assert clock.now == pytest.approx(100.1)


def test_a_run_begins_with_no_pace_of_an_earlier_one(tmp_path: Path) -> None:
    clock, file = Clock(), PaceFile(tmp_path / "pulses")
    pacing = Pacing(file, LINGER, Neighbours(tmp_path / "running", "a"), clock.read)
    pacing.begin()
    waiting(file.directory, clock).wait()
    pacing.hurry()

    Pacing(file, LINGER, Neighbours(tmp_path / "running", "a"), clock.read).begin()

    assert file.read() == b""
    assert file.is_first("u")


def test_without_a_linger_nothing_is_written(tmp_path: Path) -> None:
    pacing = Pacing(PaceFile(tmp_path), timedelta(0), Neighbours(tmp_path / "running", "a"))

    pacing.note(millis(200))
    pacing.rest(goes_on=False)
    pacing.hurry()

    assert list(tmp_path.iterdir()) == []


def test_an_interval_of_epochs_wins(tmp_path: Path) -> None:
    assert pacing_of(tmp_path, LINGER, timedelta(0), "a").linger == LINGER
    assert pacing_of(tmp_path, LINGER, millis(100), "a").linger == timedelta(0)


def test_the_shortest_of_the_last_epochs_is_the_fixed_part(tmp_path: Path) -> None:
    clock, file = Clock(), PaceFile(tmp_path)
    pacing = Pacing(file, LINGER, Neighbours(tmp_path / "running", "a"), clock.read)
    for duration in (200, 900, 1100):
        pacing.note(millis(duration))

    pacing.rest(goes_on=False)

    assert float(file.read()) == pytest.approx(100.125)


def test_neighbours_count_while_they_have_epochs(tmp_path: Path) -> None:
    now = [1_000_000.0]
    ours, others = (Neighbours(tmp_path / "running", name, lambda: now[0], 2) for name in "ab")

    assert ours.look(millis(200)) == Machine(2, 1, millis(200))
    assert others.look(millis(300)) == Machine(2, 2, millis(500))
    # looked at a moment ago
    assert ours.look(millis(200)) == Machine(2, 1, millis(200))

    now[0] += 6
    assert ours.look(millis(250)) == Machine(2, 2, millis(550))
    now[0] += 12
    assert ours.look(millis(250)) == Machine(2, 1, millis(250))

    others.look(millis(300))
    others.leave()
    now[0] += 6
    assert ours.look(millis(250)) == Machine(2, 1, millis(250))


def test_neighbours_that_are_long_gone_leave_nothing(tmp_path: Path) -> None:
    now = [1_000_000.0]
    Neighbours(tmp_path, "old", lambda: now[0], 2).look(millis(200))
    now[0] += 4000

    Neighbours(tmp_path, "new", lambda: now[0], 2).look(millis(200))

    assert [file.name for file in tmp_path.iterdir()] == ["new"]


def test_pace_without_readable_neighbours_ignores_them(tmp_path: Path) -> None:
    (tmp_path / "running").write_text("no directory")

    assert Neighbours(tmp_path / "running", "a", processors=4).look(millis(200)) == Machine(4)
