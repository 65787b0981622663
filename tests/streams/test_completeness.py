"""What a reader finds who goes by `complete_until`: nothing is missing, and no window is still to come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from engine.plan.times import OPEN_SESSIONS
from engine.spark.run.lifecycle import RunSpec, run_in
from engine.values.epoch_report import EpochReport, SinkProgress
from engine.values.instants import FAR_FUTURE
from tests.streams.play import START, Step, StepByStep, at, read_rows, write_script

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCRIPT = """
CREATE TABLE events (ts TIMESTAMP NOT NULL, WATERMARK FOR ts AS ts - INTERVAL '9 seconds')
WITH (connector = 'scripted', path = '{folder}/script.json');
CREATE TABLE minutes WITH (connector = 'single_file', path = '{folder}/minutes', format = 'json', type = 'sink');
CREATE TABLE hops WITH (connector = 'single_file', path = '{folder}/hops', format = 'json', type = 'sink');
CREATE TABLE visits WITH (connector = 'single_file', path = '{folder}/visits', format = 'json', type = 'sink');
CREATE TABLE copy WITH (connector = 'single_file', path = '{folder}/copy', format = 'json', type = 'sink');
INSERT INTO minutes SELECT w.start AS start, n FROM (
  SELECT tumble(INTERVAL '1 minute') AS w, count(*) AS n FROM events GROUP BY w);
INSERT INTO hops SELECT w.start AS start, n FROM (
  SELECT hop(INTERVAL '1 minute', INTERVAL '5 minutes') AS w, count(*) AS n FROM events GROUP BY w);
INSERT INTO visits SELECT w.start AS start, n FROM (
  SELECT session(INTERVAL '30 seconds') AS w, count(*) AS n FROM events GROUP BY w);
INSERT INTO copy SELECT ts FROM events;
"""
TIMES = [[0, 20, 59], [61, 90, 119], [125, 150, 150], [1800, 1801], [1802]]
"""Seconds, by epoch. When the third is read the watermark is 52 s, the least of the second; then 116 s."""


def instants(path: Path, column: str) -> list[datetime]:
    """The instants in a column of what a sink has written."""
    return sorted(datetime.fromisoformat(f"{row[column]}+00:00") for row in read_rows(path)) if path.exists() else []


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def test_a_window_that_is_open_is_not_complete(spark: SparkSession, tmp_path: Path) -> None:
    steps = [
        Step(timedelta(seconds=number), {"p": [{"ts": at(second / 60)} for second in seconds]})
        for number, seconds in enumerate(TIMES)
    ]
    write_script(tmp_path / "script.json", steps)
    spec = RunSpec("events", SCRIPT.format(folder=tmp_path), tmp_path / "state")
    control, settled = StepByStep(), list[tuple[Mapping[str, SinkProgress], dict[str, list[datetime]]]]()

    def note(report: EpochReport) -> None:
        """What a reader finds after an epoch: the next one does not begin before this has been looked at."""
        written = {name: instants(tmp_path / name, "start") for name in ("minutes", "hops", "visits")}
        settled.append((report.sinks, written))
        control.reported.set()

    assert run_in(spark, spec, control, note) == "finished"
    sinks, _ = settled[-1]
    assert {sink.complete_until for sink in sinks.values()} == {FAR_FUTURE}

    by_mark = {sinks["minutes"].output_until: (sinks, written) for sinks, written in settled}
    assert after(116) in by_mark, list(by_mark)
    sinks, written = by_mark[after(116)]
    assert sinks["minutes"].complete_until == after(60)
    assert Counter(written["minutes"]) == Counter([START])
    assert sinks["hops"].complete_until == after(-180), "the windows of a row at 0 s end up to 300 s"
    assert max(written["hops"]) == after(-240)
    assert (sinks["visits"].complete_until, sinks["visits"].unknown) == (None, OPEN_SESSIONS)
    assert written["visits"] == [START]
    assert sinks["copy"].complete_until is not None
    assert sinks["copy"].complete_until >= after(116)
