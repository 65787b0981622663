"""Windows of calendars, and those that add up: Spark, Python and DuckDB give a row the same ones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

import duckdb
import pytest
from pyspark.sql import functions as F  # noqa: N812 - everybody calls it F

from engine.plan.calendar import end_of, oldest_open, start_of
from engine.plan.nodes import Calendar, Cumulate, Period, Tumble
from engine.plan.times import closed_before
from engine.plan.tree import EVENT_TIME
from engine.spark.lower.calendar_windows import last_end_of_row, windows_of_row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
TICK = timedelta(microseconds=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ZONES = [
    "Europe/Berlin",
    "America/New_York",
    "America/Sao_Paulo",
    "America/Havana",
    "Australia/Lord_Howe",
    "Asia/Kathmandu",
    "Pacific/Apia",
    "UTC",
]


def day(zone: str, offset: timedelta = timedelta(0), days: int = 1, every: int | None = None) -> Calendar:
    return Calendar(Period(0, (every or days) * DAY), Period(0, days * DAY), zone, offset)


def month(zone: str, months: int = 1, every: int | None = None, offset: timedelta = timedelta(0)) -> Calendar:
    return Calendar(Period(every or months), Period(months), zone, offset)


def instants(seed: int, zone: str) -> list[int]:
    """Moments of many years, and those around the changes of clocks."""
    chance = Random(seed)
    some = [int(chance.uniform(0, 2_000_000_000) * 1e6) for _ in range(300)]
    offsets = duckdb.execute(
        "SELECT s, epoch(make_timestamp(s * 1000000) AT TIME ZONE 'UTC' AT TIME ZONE ?) - s"
        " FROM range(1300000000, 1420000000, 3600) AS t(s)",
        [zone],
    ).fetchall()
    changes = [after[0] * 1_000_000 for before, after in pairwise(offsets) if before[1] != after[1]]
    return some + [at + round(chance.uniform(-5, 5) * 3600e6) for at in changes for _ in range(8)]


def of_spark(spark: SparkSession, window: Calendar | Cumulate, times: list[int]) -> dict[int, set[tuple[int, int]]]:
    rows = spark.createDataFrame([(at,) for at in times], "at BIGINT")
    timed = rows.withColumn(EVENT_TIME, F.expr("timestamp_micros(at)"))
    windows = F.expr(f"transform({windows_of_row(window)}, w -> array(unix_micros(w.start), unix_micros(w.end)))")
    found = timed.select("at", windows.alias("w"), F.expr(last_end_of_row(window)).alias("last")).collect()
    assert all(row["last"] >= max(end for _, end in row["w"]) for row in found)
    return {row["at"]: {(start, end) for start, end in row["w"]} for row in found}


@pytest.mark.parametrize("zone", ZONES)
def test_spark_and_python_find_the_same_windows(spark: SparkSession, zone: str) -> None:
    for window in (day(zone), day(zone, 2 * HOUR + HOUR / 2), day(zone, days=7, every=2), month(zone, 3, 1, HOUR)):
        for at, windows in of_spark(spark, window, instants(7, zone)).items():
            oldest = oldest_open(window, at)
            assert min(start for start, _ in windows) == oldest
            assert all(start <= at < end for start, end in windows)
            assert closed_before(window, at) == oldest
    for number in range(14_000, 17_000):
        assert end_of(day(zone), number) == start_of(day(zone), number + 1)


@pytest.mark.parametrize("zone", ZONES)
def test_a_local_day_and_a_month_are_those_of_duckdb(spark: SparkSession, zone: str) -> None:
    times = instants(11, zone)
    for unit, window in (("day", day(zone)), ("month", month(zone))):
        found = of_spark(spark, window, times)
        local = f"make_timestamp(a) AT TIME ZONE 'UTC' AT TIME ZONE '{zone}'"
        query = f"SELECT a, date_trunc('{unit}', {local}) FROM unnest(?) AS t(a)"
        for at, shown in duckdb.execute(query, [times]).fetchall():
            ((start, _),) = found[at]
            query = "SELECT date_trunc(?, make_timestamp(?) AT TIME ZONE 'UTC' AT TIME ZONE ?)"
            assert duckdb.execute(query, [unit, start, zone]).fetchall() == [(shown,)]
            earlier = duckdb.execute(query, [unit, start - 1, zone]).fetchall()
            assert earlier[0][0] < shown


def test_windows_that_add_up_begin_together(spark: SparkSession) -> None:
    at = (datetime(2024, 3, 31, 10, 20, tzinfo=UTC) - EPOCH) // TICK
    hours = of_spark(spark, Cumulate(HOUR, Tumble(4 * HOUR)), [at])[at]
    local = of_spark(spark, Cumulate(6 * HOUR, day("Europe/Berlin")), [at])[at]

    def spelt(windows: set[tuple[int, int]]) -> list[tuple[str, str]]:
        return sorted(tuple(f"{EPOCH + side * TICK:%d %H:%M}" for side in window) for window in windows)  # type: ignore[misc]

    assert spelt(hours) == [("31 08:00", "31 11:00"), ("31 08:00", "31 12:00")]
    # the day has 23 hours
    assert spelt(local) == [("30 23:00", "31 11:00"), ("30 23:00", "31 17:00"), ("30 23:00", "31 22:00")]
    assert closed_before(Cumulate(HOUR, Tumble(4 * HOUR)), at) == at - at % (4 * 3600 * 1_000_000)
