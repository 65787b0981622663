"""Which savepoints stay and which go, and why."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from engine.errors import RetentionError
from engine.jobs.schedules.retention import HeldSavepoint, Retention, check_retention, decide_fates

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)


def held(text: str, **facts: Any) -> HeldSavepoint:
    """A savepoint by its name and when it was taken: `a 03-02 03:00`."""
    name, day, time = text.split()
    return HeldSavepoint(name, datetime.fromisoformat(f"2026-{day}T{time}:00+00:00"), **facts)


def left(savepoints: list[HeldSavepoint], now: datetime = NOW, **policy: Any) -> str:
    """The names of those that stay."""
    return "".join(fate.id for fate in decide_fates(savepoints, Retention(**policy), now) if not fate.goes)


def reasons(savepoints: list[HeldSavepoint], now: datetime = NOW, **policy: Any) -> dict[str, str]:
    return {fate.id: fate.reason for fate in decide_fates(savepoints, Retention(**policy), now)}


EXAMPLE = [
    held("a 01-20 03:00", is_pinned=True),
    held("b 02-01 03:00"),
    held("c 03-02 03:00"),
    held("d 03-03 03:00"),
    held("e 03-04 03:00"),
    held("f 03-04 09:00"),
]


def test_the_example_of_the_module_holds() -> None:
    assert reasons(EXAMPLE, keep_last=1, daily=2, max_age=timedelta(days=30)) == {
        "a": "it is pinned",
        "b": "it is older than 30 days",
        "c": "a later savepoint is kept in its place",
        "d": "it is the last of 2026-03-03, one of the last 2 days that have one",
        "e": "a later savepoint is kept in its place",
        "f": "it is the newest",
    }
    assert left(EXAMPLE, keep_last=1, daily=2, max_age=timedelta(days=30)) == "adf"


@pytest.mark.parametrize(
    ("policy", "stay"),
    [
        ({"keep_last": 1}, "af"),
        ({"keep_last": 3}, "adef"),
        ({"keep_last": 100}, "abcdef"),
        ({"daily": 1}, "af"),
        ({"daily": 3}, "acdf"),
        ({"weekly": 1}, "af"),
        ({"weekly": 2}, "abf"),
        ({"daily": 1, "weekly": 2}, "abf"),
        ({"max_age": timedelta(days=2)}, "adef"),
        ({"max_age": timedelta(days=90)}, "abcdef"),
        ({"max_age": timedelta(seconds=1)}, "af"),
        ({"keep_last": 100, "max_age": timedelta(days=2)}, "adef"),
    ],
    ids=str,
)
def test_a_rule_keeps_what_it_says(policy: dict[str, Any], stay: str) -> None:
    assert left(EXAMPLE, **policy) == stay


def test_a_day_is_that_of_the_time_zone() -> None:
    around_midnight = [held("a 03-02 22:30"), held("b 03-02 23:30"), held("c 03-03 00:30"), held("d 03-04 09:00")]

    assert left(around_midnight, daily=3) == "bcd"
    # in Berlin it is 23:30, 00:30 and 01:30
    assert left(around_midnight, daily=3, time_zone="Europe/Berlin") == "acd"
    # in Los Angeles all three are of the second of March
    assert left(around_midnight, daily=3, time_zone="America/Los_Angeles") == "cd"


def test_the_day_on_which_clocks_are_set_forward_is_one_day() -> None:
    of_that_day = [held("a 03-28 23:30"), held("b 03-29 00:30"), held("c 03-29 21:30"), held("d 03-29 22:30")]
    later = datetime(2026, 3, 30, tzinfo=UTC)

    assert left(of_that_day, later, daily=2, time_zone="Europe/Berlin") == "cd"


def test_a_week_begins_on_monday_and_may_be_of_the_next_year() -> None:
    ends_of_year = [
        HeldSavepoint("a", datetime(2025, 12, 28, 12, tzinfo=UTC)),
        HeldSavepoint("b", datetime(2025, 12, 29, 12, tzinfo=UTC)),
        HeldSavepoint("c", datetime(2026, 1, 4, 12, tzinfo=UTC)),
        HeldSavepoint("d", datetime(2026, 1, 5, 12, tzinfo=UTC)),
    ]

    assert left(ends_of_year, weekly=3) == "acd"
    assert "2026-W01" in reasons(ends_of_year, weekly=3)["c"]


def test_days_without_a_savepoint_do_not_count() -> None:
    rested = [held("a 01-01 03:00"), held("b 01-02 03:00"), held("c 01-03 03:00")]

    assert left(rested, daily=2) == "bc"


def test_a_clock_that_is_set_back_neither_ages_nor_reorders_anything() -> None:
    set_back = [held("a 03-03 09:00"), held("b 03-04 09:00"), held("c 02-01 09:00"), held("d 02-01 10:00")]
    now = datetime(2026, 2, 1, 11, tzinfo=UTC)

    assert left(set_back, now, keep_last=2) == "cd"
    assert left(set_back, now, max_age=timedelta(hours=1)) == "abd"
    assert reasons(set_back, now, keep_last=1)["d"] == "it is the newest"


def test_the_later_of_two_savepoints_of_one_instant_counts() -> None:
    together = [held("a 03-04 09:00"), held("b 03-04 09:00"), held("c 03-04 09:00")]

    assert left(together, keep_last=2) == "bc"
    assert left(together, daily=7) == "c"


def test_a_savepoint_of_exactly_the_maximum_age_stays() -> None:
    pair = [held("a 03-03 12:00"), held("b 03-04 09:00")]

    assert left(pair, max_age=timedelta(days=1)) == "ab"
    assert left(pair, NOW + timedelta(microseconds=1), max_age=timedelta(days=1)) == "b"


def test_the_newest_stays_however_old_it_is() -> None:
    assert left([held("a 01-01 03:00")], max_age=timedelta(hours=1)) == "a"
    assert left([held("a 01-01 03:00"), held("b 01-02 03:00")], max_age=timedelta(hours=1)) == "b"


def test_needed_savepoints_are_never_deleted() -> None:
    needed = [
        held("a 01-01 03:00", in_use="the pipeline is going back to it"),
        held("b 01-02 03:00", is_pinned=True),
        held("c 01-03 03:00", state="pending"),
        held("d 01-04 03:00", is_pinned=True, is_damaged=True),
        held("e 01-05 03:00", is_pinned=True, before_version=2),
        held("f 03-04 09:00"),
    ]

    assert left(needed, keep_last=1, max_age=timedelta(seconds=1), upgrades_for=timedelta(0)) == "abcdef"
    assert reasons(needed, keep_last=1)["a"] == "the pipeline is going back to it"


def test_the_way_back_from_an_upgrade_goes_only_where_the_policy_says_so() -> None:
    upgraded = [held("a 01-01 03:00", before_version=2), held("b 03-03 03:00", before_version=3), held("c 03-04 09:00")]

    assert left(upgraded, keep_last=1, max_age=timedelta(days=1)) == "abc"
    assert left(upgraded, keep_last=1, upgrades_for=timedelta(days=30)) == "bc"
    assert reasons(upgraded, keep_last=1, upgrades_for=timedelta(days=30)) == {
        "a": "it is the way back from version 2, and older than 30 days",
        "b": "it is the way back from version 3",
        "c": "it is the newest",
    }


def test_a_damaged_one_takes_no_place_and_goes_only_if_there_is_another() -> None:
    damaged = [held("a 03-01 03:00"), held("b 03-02 03:00"), held("c 03-03 03:00", is_damaged=True)]

    assert left(damaged, keep_last=2) == "ab"
    assert reasons(damaged, keep_last=1)["b"] == "it is the newest"
    assert left([held("a 03-01 03:00", is_damaged=True)], keep_last=1) == "a"


def test_failed_savepoint_is_deleted_once_a_later_one_is_complete() -> None:
    failed = [held("a 03-01 03:00", state="failed"), held("b 03-02 03:00"), held("c 03-03 03:00", state="failed")]

    assert left(failed, keep_last=2) == "bc"


def test_whatever_the_policy_something_that_can_be_restored_is_left() -> None:
    chance = random.Random(7)
    for _ in range(500):
        savepoints = [
            HeldSavepoint(
                str(number),
                NOW + timedelta(hours=chance.randint(-2000, 50)),
                chance.choice(["pending", "completed", "completed", "failed"]),
                is_damaged=chance.random() < 0.3,
            )
            for number in range(chance.randint(0, 12))
        ]
        policy = Retention(
            chance.choice([None, 1, 3]),
            chance.choice([None, 2]),
            chance.choice([None, 2]),
            chance.choice([None, timedelta(hours=chance.randint(1, 900))]),
            time_zone=chance.choice(["UTC", "Asia/Kathmandu"]),
        )

        fates = decide_fates(savepoints, policy, NOW)

        sound = [s.id for s in savepoints if s.state == "completed" and not s.is_damaged]
        stay = {fate.id for fate in fates if not fate.goes}
        assert [fate.id for fate in fates] == [s.id for s in savepoints]
        assert not sound or sound[-1] in stay
        assert {s.id for s in savepoints if s.state == "pending"} <= stay
        # what is left is left the next time, too: nothing goes bit by bit
        again = decide_fates([s for s in savepoints if s.id in stay], policy, NOW)
        assert [fate.id for fate in again if fate.goes] == []


@pytest.mark.parametrize("zone", ["Europe/Nowhere", "", "../../etc/passwd", "/etc/localtime", "Europe", "\0"])
def test_a_time_zone_that_nobody_knows_is_refused(zone: str) -> None:
    with pytest.raises(RetentionError, match="there is no time zone"):
        check_retention(Retention(keep_last=1, time_zone=zone))


def test_a_policy_without_a_rule_is_refused() -> None:
    with pytest.raises(RetentionError, match="says nothing of what is kept"):
        check_retention(Retention(upgrades_for=timedelta(days=1)))
