"""When savepoints are taken by themselves, decided from the clock and from what is in the way."""

from __future__ import annotations

from datetime import datetime

import pytest

from engine.errors import RetentionError
from engine.jobs.schedules.savepoint_schedule import (
    Hindrance,
    LeaveOut,
    Schedule,
    Step,
    Take,
    Wait,
    decide,
    read_timetable,
    words_of,
)

RESTS, RECOVERS = Hindrance("the pipeline is Stopped", passes=False), Hindrance("it is Recovering", passes=True)
BY_DAY = "mon-fri 09:00-17:00"


def at(text: str) -> datetime:
    """An instant by day of January 2026 and time: `05 08:00`, which is a Monday."""
    day, time = text.split()
    return datetime.fromisoformat(f"2026-01-{day}T{time}+00:00")


def step(due: str, now: str, hindrance: Hindrance | None = None, blackout: tuple[str, ...] = (BY_DAY,)) -> Step:
    return decide(read_timetable(Schedule("0 * * * *", blackout=blackout)), at(due), at(now), hindrance)


@pytest.mark.parametrize(
    ("due", "now", "expected"),
    [
        ("05 06:00", "05 05:59", Wait()),
        ("05 06:00", "05 06:00", Take(at("05 06:00"))),
        ("05 07:00", "05 08:20", Take(at("05 08:00"), True, at("05 07:00"))),
        ("05 08:00", "05 08:20", Take(at("05 08:00"), True)),
        ("05 08:00", "05 09:10", Wait()),
        ("05 08:00", "05 17:00", Take(at("05 17:00"), False, at("05 08:00"))),
        ("05 09:00", "05 09:00", LeaveOut(at("05 09:00"), f"none is taken in {BY_DAY}")),
        ("05 09:00", "05 12:30", LeaveOut(at("05 12:00"), f"none is taken in {BY_DAY}")),
        ("04 09:00", "04 09:00", Take(at("04 09:00"))),
    ],
)
def test_an_instant_is_met_or_caught_up_once(due: str, now: str, expected: Step) -> None:
    assert step(due, now) == expected


def test_no_scheduled_savepoint_is_taken_of_a_stopped_pipeline() -> None:
    assert step("05 06:00", "05 06:00", RESTS) == LeaveOut(at("05 06:00"), RESTS.reason)
    assert step("05 06:00", "05 08:10", RESTS) == LeaveOut(at("05 08:00"), RESTS.reason)


def test_a_temporary_hindrance_is_waited_out_until_the_next_instant() -> None:
    assert step("05 06:00", "05 06:59", RECOVERS) == Wait()
    assert step("05 06:00", "05 07:00", RECOVERS) == LeaveOut(at("05 06:00"), RECOVERS.reason, at("05 07:00"))


@pytest.mark.parametrize(
    ("window", "inside", "outside"),
    [
        ("09:00-17:00", ["05 09:00", "04 16:00"], ["05 17:00", "05 08:00"]),
        ("22:00-02:00", ["05 22:00", "06 01:00", "04 00:00"], ["05 02:00", "05 21:00"]),
        ("fri 22:00-02:00", ["09 22:00", "10 01:00"], ["10 22:00", "09 01:00"]),
        ("sat 22:00-02:00", ["10 23:00", "11 01:00"], ["11 02:00"]),
        ("sat,sun 00:00-24:00", ["10 00:00", "11 23:00"], ["09 23:00", "12 00:00"]),
    ],
)
def test_a_window_holds_times_of_its_days(window: str, inside: list[str], outside: list[str]) -> None:
    assert all(isinstance(step(due, due, blackout=(window,)), LeaveOut) for due in inside)
    assert all(isinstance(step(due, due, blackout=(window,)), Take) for due in outside)


def test_windows_and_instants_are_those_of_the_zone() -> None:
    timetable = read_timetable(Schedule("0 9 * * *", "Asia/Tokyo", ("08:00-10:00",)))

    assert decide(timetable, at("05 00:00"), at("05 00:00"), None) == LeaveOut(
        at("05 00:00"), "none is taken in 08:00-10:00"
    )


@pytest.mark.parametrize(
    "window", ["", "9-17", "09:00", "09:00-09:00", "25:00-26:00", "09:60-10:00", "24:00-01:00", "foo 09:00-10:00"]
)
def test_an_invalid_blackout_window_is_refused(window: str) -> None:
    with pytest.raises(RetentionError):
        read_timetable(Schedule("0 0 * * *", blackout=(window,)))


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(RetentionError, match="no time zone"):
        read_timetable(Schedule("0 0 * * *", "Mars/Olympus"))


def test_a_schedule_is_one_line() -> None:
    assert words_of(Schedule("0 3 * * *", "UTC", (BY_DAY,), drill=True)) == (
        f"0 3 * * * in UTC, not in {BY_DAY}, with a drill"
    )
    assert words_of(Schedule("0 3 * * *", paused=True)) == "0 3 * * * in UTC, paused"
