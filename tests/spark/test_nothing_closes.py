"""An epoch in which no window can end puts its rows into the state, and looks for nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.delivery.faults import Point
from engine.spark.run import lifecycle as run
from engine.spark.run.lifecycle import RunSpec, run_in
from engine.spark.run.run_spec import PLAIN_SETTINGS
from engine.spark.run.stop_control import Control
from engine.values.epoch_report import EpochReport
from tests.streams.play import read_rows

if TYPE_CHECKING:
    from enum import StrEnum

    from pyspark.sql import SparkSession

TICKS = 60
SQL = """
CREATE TABLE ticks WITH (
  connector = 'impulse', event_rate = '1000', message_count = '{ticks}', event_time_interval = '1 second',
  start_time = '2024-01-01T00:00:00Z'
);
CREATE TABLE file WITH (connector = 'single_file', path = '{path}', format = 'json', type = 'sink');
INSERT INTO file SELECT w.start AS start, n FROM (SELECT {window} AS w, count(*) AS n FROM ticks GROUP BY w);
"""


class Onlooker:
    """Notes by which way the state is written in each epoch, while Spark is in it."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.ways = dict[int, str]()

    def reach(self, point: StrEnum, number: int) -> None:
        """A run has come to a point of an epoch."""
        if point is not Point.AFTER_SINKS:
            return
        (query,) = self.spark.streams.active
        plan = query._jsq.streamingQuery().lastExecution().executedPlan().toString()
        saving = next(line for line in plan.splitlines() if "StateStoreSave" in line)
        self.ways[number] = "look" if ", Append, " in saving else "put"

    def count(self, way: str) -> int:
        """How many epochs went this way."""
        return list(self.ways.values()).count(way)


class StopsAfter(Control):
    """Stops a run after an epoch."""

    def __init__(self, last: int) -> None:
        super().__init__()
        self.last = last

    def note(self, report: EpochReport) -> None:
        """An epoch is over."""
        if report.epoch == self.last:
            self.stop("checkpoint")


@pytest.fixture
def onlooker(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Onlooker:
    onlooker = Onlooker(spark)
    monkeypatch.setattr(run, "reach", onlooker.reach)
    return onlooker


@pytest.mark.parametrize(
    ("window", "every", "width"),
    [("tumble(INTERVAL '20 seconds')", 20, 20), ("hop(INTERVAL '10 seconds', INTERVAL '20 seconds')", 10, 20)],
)
def test_windows_are_looked_for_when_one_may_have_ended(
    spark: SparkSession, onlooker: Onlooker, tmp_path: Path, window: str, every: int, width: int
) -> None:
    sql = SQL.format(ticks=TICKS, path=tmp_path / "rows.json", window=window)
    spec = RunSpec("closing", sql, tmp_path / "state", settings=replace(PLAIN_SETTINGS, max_epoch_rows=4))

    interrupted = StopsAfter(5)
    assert run_in(spark, spec, interrupted, interrupted.note) == "stopped"
    assert run_in(spark, spec, Control()) == "finished"

    starts = range(-width + every, TICKS, every)
    expected = {start: sum(start <= tick < start + width for tick in range(TICKS)) for start in starts}
    assert {_second(row["start"]): row["n"] for row in read_rows(tmp_path / "rows.json")} == expected
    # fifteen epochs with rows: in a few a window ends, and the first of each run looks in any case
    assert onlooker.count("put") >= 5
    assert TICKS // every <= onlooker.count("look") < len(onlooker.ways) // 2 + TICKS // every


def test_sessions_end_whenever_they_like(spark: SparkSession, onlooker: Onlooker, tmp_path: Path) -> None:
    sql = SQL.format(ticks=TICKS, path=tmp_path / "rows.json", window="session(INTERVAL '5 seconds')")
    spec = RunSpec("sessions", sql, tmp_path / "state", settings=replace(PLAIN_SETTINGS, max_epoch_rows=4))
    assert run_in(spark, spec, Control()) == "finished"
    assert [row["n"] for row in read_rows(tmp_path / "rows.json")] == [TICKS]
    assert set(onlooker.ways.values()) == {"look"}


def test_windows_of_several_grids_and_windows_of_windows_all_end(
    spark: SparkSession, onlooker: Onlooker, tmp_path: Path
) -> None:
    tumbled, hopped = tmp_path / "tumbled.json", tmp_path / "hopped.json"
    sql = f"""{SQL.format(ticks=TICKS, path=tumbled, window="tumble(INTERVAL '15 seconds')").rpartition("INSERT")[0]}
    CREATE TABLE second WITH (connector = 'single_file', path = '{hopped}', format = 'json', type = 'sink');
    INSERT INTO file SELECT w.start AS start, max(n) AS n FROM (
        SELECT counter % 3 AS k, tumble(INTERVAL '15 seconds') AS w, count(*) AS n FROM ticks GROUP BY 1, 2
    ) GROUP BY w;
    INSERT INTO second SELECT w.start AS start, n FROM (
        SELECT hop(INTERVAL '8 seconds', INTERVAL '20 seconds') AS w, count(*) AS n FROM ticks GROUP BY w
    );
    """
    spec = RunSpec("grids", sql, tmp_path / "state", settings=replace(PLAIN_SETTINGS, max_epoch_rows=4))
    assert run_in(spark, spec, Control()) == "finished"

    assert {_second(row["start"]): row["n"] for row in read_rows(tumbled)} == dict.fromkeys(range(0, TICKS, 15), 5)
    hops = {start: sum(start <= tick < start + 20 for tick in range(TICKS)) for start in range(-24, TICKS, 8)}
    assert {_second(row["start"]): row["n"] for row in read_rows(hopped)} == {at: n for at, n in hops.items() if n}
    assert "put" in onlooker.ways.values()


def _second(time: object) -> int:
    """So many seconds after the first tick."""
    start = datetime(2024, 1, 1, tzinfo=UTC)
    return round((datetime.fromisoformat(str(time)).replace(tzinfo=UTC) - start).total_seconds())
