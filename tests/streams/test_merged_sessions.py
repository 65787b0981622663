"""Bursts that are merged in the tasks of sources change nothing of sessions: rows, figures and state are the same."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from engine.spark.run.lifecycle import RunSpec
from engine.spark.run.run_spec import PLAIN_SETTINGS
from tests.streams.play import START, Step, play, read_rows, write_script
from tests.streams.test_fused import figures, state_schemas
from tests.streams.test_merged_rows import is_merged

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GAP = timedelta(minutes=7)
SQL = """
CREATE TABLE events (ts TIMESTAMP NOT NULL, key TEXT, number BIGINT, WATERMARK FOR ts AS ts - INTERVAL '{delay}')
WITH (connector = 'scripted', path = '{folder}/script.json');
CREATE TABLE lone (ts TIMESTAMP NOT NULL, key TEXT, number BIGINT, WATERMARK FOR ts AS ts - INTERVAL '{delay}')
WITH (connector = 'scripted', path = '{folder}/script.json');
CREATE TABLE keyed (start TIMESTAMP, stop TIMESTAMP, key TEXT, k BIGINT, n BIGINT, numbers BIGINT, total BIGINT,
  least BIGINT, last TIMESTAMP)
WITH (connector = 'single_file', path = '{folder}/keyed.json', format = 'json', type = 'sink');
CREATE TABLE whole (start TIMESTAMP, stop TIMESTAMP, n BIGINT, total BIGINT)
WITH (connector = 'single_file', path = '{folder}/whole.json', format = 'json', type = 'sink');
INSERT INTO keyed SELECT w.start, w.end, key, k, n, numbers, total, least, last FROM (
  SELECT session(INTERVAL '7 minutes') AS w, key, number % 2 AS k, count(*) AS n, count(number) AS numbers,
         sum(number) AS total, min(number) AS least, max(ts) AS last
  FROM events WHERE number IS NULL OR number <> 4 GROUP BY w, key, k
);
INSERT INTO whole SELECT w.start, w.end, n, total FROM (
  SELECT session(INTERVAL '7 minutes') AS w, count(*) AS n, sum(number) AS total FROM lone WHERE number = 4 GROUP BY w
);
"""
Row = dict[str, object]


def rows_of(tick: int) -> list[Row]:
    """Rows that are about the gap apart; every third time they fall back by half an hour."""
    chance = random.Random(tick)
    first = START + timedelta(minutes=40 + tick * 10 - (30 if tick % 3 == 2 else 0))
    jitter = [timedelta(microseconds=micros) for micros in (-1, 0, 0, 1, 2_000_001)]
    return [
        {
            "ts": first + chance.randrange(7) * GAP / 2 + chance.choice(jitter),
            "key": chance.choice(["a", "b", None]),
            "number": chance.choice([None, 1, 2, 4]),
        }
        for _ in range(14)
    ]


def spec(folder: Path, *, fuse: bool, delay: str = "0 minutes") -> RunSpec:
    folder.mkdir(exist_ok=True)
    script = [[{**row, "ts": str(row["ts"]).replace(" ", "T")} for row in rows_of(tick)] for tick in range(12)]
    write_script(
        folder / "script.json", [Step(timedelta(minutes=tick), {"p": rows}) for tick, rows in enumerate(script)]
    )
    sql = SQL.format(folder=folder, delay=delay)
    return RunSpec("sessions", sql, folder / "state", settings=replace(PLAIN_SETTINGS, max_epoch_rows=14, fuse=fuse))


def written(folder: Path) -> list[Counter[str]]:
    return [
        Counter(json.dumps(row, sort_keys=True) for row in read_rows(folder / f"{name}.json"))
        for name in ("keyed", "whole")
    ]


def answers(rows: Sequence[Row]) -> tuple[object, ...]:
    """Of the rows of a session, the first one first."""
    times = [time for row in rows if isinstance(time := row["ts"], datetime)]
    numbers = [number for row in rows if isinstance(number := row["number"], int)]
    total, least = (sum(numbers), min(numbers)) if numbers else (None, None)
    return (times[0], times[-1] + GAP, len(rows), len(numbers), total, least, times[-1])


def sessions(rows: Sequence[Row]) -> Counter[tuple[object, ...]]:
    """The batch answer: the sessions of all rows of a key."""
    found: Counter[tuple[object, ...]] = Counter()
    session: list[Row] = []
    for row in sorted(rows, key=lambda row: str(row["ts"])):
        if session and row["ts"] - session[-1]["ts"] >= GAP:  # type: ignore[operator]
            found[answers(session)] += 1
            session = []
        session.append(row)
    found[answers(session)] += 1
    return found


def keyed_sessions() -> Counter[tuple[object, ...]]:
    groups: defaultdict[tuple[object, ...], list[Row]] = defaultdict(list)
    for row in (row for tick in range(12) for row in rows_of(tick) if row["number"] != 4):
        number = row["number"]
        groups[(row["key"], number % 2 if isinstance(number, int) else None)].append(row)
    return Counter({(*key, *answer): n for key, rows in groups.items() for answer, n in sessions(rows).items()})


def answer_of(row: Row) -> tuple[object, ...]:
    """What was written of a session, in the same order."""
    start, stop, last = (time_of(row[name]) for name in ("start", "stop", "last"))
    numbers = (row[name] for name in ("n", "numbers", "total", "least"))
    return (row["key"], row["k"], start, stop, *numbers, last)


def time_of(text: object) -> datetime:
    time = datetime.fromisoformat(str(text))
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def test_merged_bursts_give_the_same_rows_figures_and_state(spark: SparkSession, tmp_path: Path) -> None:
    plain, merged = (spec(tmp_path / name, fuse=name == "merged") for name in ("plain", "merged"))
    assert (is_merged(plain), is_merged(merged)) == (False, True)

    plain_end, plain_reports = play(spark, plain)
    merged_end, merged_reports = play(spark, merged)

    assert plain_end == merged_end == "finished"
    assert figures(merged_reports) == figures(plain_reports)
    assert sum(report.late_rows for report in plain_reports) > 0
    assert written(tmp_path / "merged") == written(tmp_path / "plain")
    assert all(written(tmp_path / "plain"))
    shapes = [sorted(state_schemas(tmp_path / name).values()) for name in ("plain", "merged")]
    assert shapes[0] == shapes[1] != []


def test_a_state_of_sessions_goes_on_whichever_way_it_was_begun(spark: SparkSession, tmp_path: Path) -> None:
    switched = spec(tmp_path / "switched", fuse=False, delay="45 minutes")

    assert play(spark, switched, stop_after=3)[0] == "stopped"
    assert play(spark, replace(switched, settings=replace(switched.settings, fuse=True)), stop_after=6)[0] == "stopped"
    assert play(spark, switched, stop_after=8)[0] == "stopped"
    assert play(spark, replace(switched, settings=replace(switched.settings, fuse=True)))[0] == "finished"

    rows = read_rows(tmp_path / "switched" / "keyed.json")
    assert Counter(map(answer_of, rows)) == keyed_sessions()
