"""Each bucket is told of exactly once for each history that it stands on, in order, and none is missing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import PartitionError
from engine.jobs.decisions.partitions import (
    Bucket,
    Consumer,
    History,
    TimeBuckets,
    check_buckets,
    check_instant,
    first_bucket,
    key_of,
    next_told,
)

T0 = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def consumer(until: datetime | None = None) -> Consumer:
    return Consumer("part_1", "hours", "pl_1", None, "input", TimeBuckets(HOUR), T0, until, T0, T0)


Step = tuple[str, int, int]
STEPS = st.lists(
    st.tuples(st.sampled_from(["reach", "clock", "restore", "unknown"]), st.integers(0, 12), st.integers(1, 4)),
    max_size=25,
)


@given(STEPS)
def test_each_time_bucket_is_delivered_once_and_in_order(steps: Sequence[Step]) -> None:
    """The state is what a store keeps, so that each round is also one after a restart. The oracle counts hours."""
    closed_until, true, opened = T0, set[int](), set[int]()
    void = set[int]()
    reached, now = 0, 0
    known = True
    for kind, value, most in steps:
        known = kind != "unknown"
        if kind == "reach":
            reached = max(reached, value)
        elif kind == "clock":
            now = max(now, value)
        elif kind == "restore":
            reached = min(reached, value)
            void |= {hour for hour in true if hour + 1 > reached}
            true -= void
        history = History([_hour(hour) for hour in sorted(void)], [_hour(hour) for hour in sorted(opened)])
        asker = Consumer("p", "h", "pl", None, "input", TimeBuckets(HOUR), T0, None, T0, closed_until)
        told, closed_until = next_told(asker, history, T0 + reached * HOUR if known else None, T0 + now * HOUR, most)
        voided = [_number(each.bucket) for each in told if each.kind == "voided"]
        closed = [_number(each.bucket) for each in told if each.kind == "closed"]
        assert voided == sorted(void), "each once, the oldest first"
        opened |= void
        void = set()
        ready = min(reached, now) if known else 0
        due = [hour for hour in range(ready) if hour not in true]
        assert closed == due[:most], "in order, none is left out, none before it is complete and has ended"
        true |= set(closed)
        opened -= set(closed)
        assert closed_until == T0 + len(true | opened) * HOUR


def _hour(number: int) -> Bucket:
    return Bucket(T0 + number * HOUR, T0 + (number + 1) * HOUR)


def _number(bucket: Bucket) -> int:
    assert bucket.end - bucket.start == HOUR
    return (bucket.start - T0) // HOUR


def test_no_time_bucket_that_ends_after_until_is_delivered() -> None:
    told, _ = next_told(consumer(T0 + 1.5 * HOUR), History(), T0 + 9 * HOUR, T0 + 9 * HOUR, 100)

    assert [each.bucket.start for each in told] == [T0]


@pytest.mark.parametrize(
    ("start", "reached", "expected"), [(None, None, 5), (None, 3, 3), (None, 9, 5), (2, 9, 2), (7, None, 7)]
)
def test_a_consumer_starts_at_the_first_incomplete_bucket_or_at_its_start(
    start: int | None, reached: int | None, expected: int
) -> None:
    half = timedelta(minutes=30)
    begin = None if start is None else T0 + start * HOUR + half
    until = None if reached is None else T0 + reached * HOUR + half

    assert first_bucket(TimeBuckets(HOUR), begin, until, T0 + 5 * HOUR + half) == T0 + expected * HOUR


def from_seconds(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


@given(
    st.integers(0, 2_000_000_000).map(from_seconds),
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Pacific/Apia", "Africa/Cairo"]),
    st.integers(1, 8),
    st.integers(0, 23),
)
def test_buckets_follow_one_another_and_hold_each_instant(instant: datetime, zone: str, days: int, hours: int) -> None:
    buckets = TimeBuckets(timedelta(days=days), timedelta(hours=hours), zone)
    check_buckets(buckets)

    start = buckets.holding(instant)
    end = buckets.after(start)

    assert start <= instant < end
    assert buckets.holding(end) == end
    assert buckets.holding(start) == start


def test_a_day_is_that_of_its_time_zone() -> None:
    days = TimeBuckets(timedelta(days=1), time_zone="Europe/Berlin")

    start = days.holding(datetime(2026, 3, 29, 12, tzinfo=UTC))

    assert (key_of(start), days.after(start) - start) == ("2026-03-28T23:00:00", timedelta(hours=23))


@pytest.mark.parametrize(
    "buckets",
    [
        TimeBuckets(timedelta(0)),
        TimeBuckets(timedelta(seconds=1.5)),
        TimeBuckets(HOUR, HOUR),
        TimeBuckets(HOUR, -HOUR),
        TimeBuckets(HOUR, time_zone="Europe/Berlin"),
        TimeBuckets(timedelta(days=1), time_zone="Nowhere/City"),
        TimeBuckets(timedelta(days=9999)),
    ],
)
def test_an_invalid_division_into_time_buckets_is_refused(buckets: TimeBuckets) -> None:
    with pytest.raises(PartitionError):
        check_buckets(buckets)


def test_an_instant_without_buckets_around_it_is_refused() -> None:
    with pytest.raises(PartitionError):
        check_instant("start", datetime(1, 1, 1, tzinfo=UTC))
