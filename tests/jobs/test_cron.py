"""The instants of cron expressions, also where clocks are put forward and back."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from importlib import import_module
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from engine.errors import RetentionError
from engine.jobs.schedules.savepoint_schedule import Cron, read_cron

BERLIN, LORD_HOWE, AZORES = ZoneInfo("Europe/Berlin"), ZoneInfo("Australia/Lord_Howe"), ZoneInfo("Atlantic/Azores")


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"{text}+00:00")


def instants(cron: Cron, first: str, count: int) -> list[str]:
    """So many instants after the first one, in UTC."""
    found, instant = [], at(first)
    for _ in range(count):
        following = cron.after(instant)
        assert following is not None
        found.append(f"{following:%m-%d %H:%M}")
        instant = following
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*/20 * * * *", ["01-01 00:20", "01-01 00:40", "01-01 01:00"]),
        ("30 2 * * *", ["01-01 02:30", "01-02 02:30", "01-03 02:30"]),
        ("5,10-11 22/1 * * *", ["01-01 22:05", "01-01 22:10", "01-01 22:11"]),
        ("0 0 1 * *", ["02-01 00:00", "03-01 00:00", "04-01 00:00"]),
        ("0 0 * * MON-fri", ["01-02 00:00", "01-05 00:00", "01-06 00:00"]),
        ("0 0 * * 7", ["01-04 00:00", "01-11 00:00", "01-18 00:00"]),
        ("0 0 13 * 5", ["01-02 00:00", "01-09 00:00", "01-13 00:00"]),
        ("0 0 */2 * 5", ["01-09 00:00", "01-23 00:00", "02-13 00:00"]),
        ("0 12 31 jan,MAR *", ["01-31 12:00", "03-31 12:00", "01-31 12:00"]),
        ("0 0 29 2 *", ["02-29 00:00", "02-29 00:00", "02-29 00:00"]),
        ("@daily", ["01-02 00:00", "01-03 00:00", "01-04 00:00"]),
    ],
)
def test_an_expression_names_instants(text: str, expected: list[str]) -> None:
    assert instants(read_cron(text, UTC), "2026-01-01T00:00", 3) == expected


def test_a_skipped_local_time_comes_later_on_the_same_day() -> None:
    cron = read_cron("30 2 * * *", BERLIN)

    assert instants(cron, "2026-03-28T00:00", 3) == ["03-28 01:30", "03-29 01:30", "03-30 00:30"]


def test_a_repeated_local_time_is_one_instant() -> None:
    cron = read_cron("30 2 * * *", BERLIN)

    assert instants(cron, "2026-10-24T12:00", 2) == ["10-25 00:30", "10-26 01:30"]


@pytest.mark.parametrize("zone", [BERLIN, LORD_HOWE, AZORES])
def test_every_hour_is_every_hour_when_clocks_change(zone: ZoneInfo) -> None:
    cron = read_cron("*/30 * * * *", zone)
    found = list(cron.until(at("2026-01-01T00:00"), at("2026-12-31T23:30")))[::-1]

    assert len(found) == 365 * 48
    assert {later - earlier for earlier, later in pairwise(found)} == {timedelta(minutes=30)}


def test_a_skipped_local_time_around_midnight_comes_once() -> None:
    cron = read_cron("0 0 * * *", AZORES)  # there is no midnight on 2026-03-29

    assert instants(cron, "2026-03-27T12:00", 3) == ["03-28 01:00", "03-29 01:00", "03-30 00:00"]


def test_looking_back_finds_what_looking_forward_finds() -> None:
    chance = random.Random(4)
    for _ in range(60):
        fields = [str(chance.randrange(60)), chance.choice(["*", "2", "*/5", "22-23"])]
        fields += [chance.choice(["*", "*/9", "29"]), "*", chance.choice(["*", "0", "1-5"])]
        cron = read_cron(" ".join(fields), chance.choice([UTC, BERLIN, LORD_HOWE, AZORES]))
        first = at("2026-02-20T00:00") + timedelta(minutes=chance.randrange(400_000))
        last, forward = first + timedelta(days=50), []
        instant = cron.after(first - timedelta(microseconds=1))
        while instant is not None and instant <= last:
            forward.append(instant)
            instant = cron.after(instant)

        assert list(cron.until(first, last))[::-1] == forward


def test_cron_instants_in_utc_equal_those_of_croniter() -> None:
    croniter = import_module("croniter").croniter  # it comes with Airflow, and has no types
    chance = random.Random(16)
    choices = (
        ["*", "*/7", "0", "5,50", "10-40/15"],
        ["*", "*/6", "3", "9-17"],
        ["*", "1", "31", "10-20"],
        ["*", "2", "feb-apr", "*/5"],
        ["*", "sun", "mon-fri", "6,7"],
    )
    for _ in range(200):
        text = " ".join(chance.choice(field) for field in choices)
        start = at("2026-01-01T00:00") + timedelta(minutes=chance.randrange(500_000))
        try:
            ours = read_cron(text, UTC)
        except RetentionError:
            assert text.split()[2:] == ["31", "2", "*"]
            continue
        theirs, instant = croniter(text, start), start
        for _ in range(5):
            following = ours.after(instant)
            assert following == theirs.get_next(datetime), text
            assert following is not None
            instant = following


@pytest.mark.parametrize(
    "text",
    [
        "", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *", "* * * 13 *", "* * * * 8",
        "*/0 * * * *", "5-1 * * * *", "*-5 * * * *", "1, * * * *", "-1 * * * *", "x * * * *", "* * L * *",
        "* * * * 5#2", "* * * foo *", "0 0 30 2 *", "@reboot", "\u0661 * * * *", "1" * 300, "0 " * 200,
    ],
)  # fmt: skip
def test_a_cron_expression_without_an_instant_is_refused(text: str) -> None:
    with pytest.raises(RetentionError):
        read_cron(text, UTC)
