"""Queries that are changed in the middle of their input: what is kept goes on as if it had never been interrupted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.changes.compare import compare
from engine.changes.verdict import UpgradePlan
from engine.checkpoints import spark_log
from engine.checkpoints.carry_over import SourceChoice, carry_over
from engine.checkpoints.claim import StatefulQuery
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.running_query import compile_running, query_of_state
from engine.compile import compile_script
from engine.inspection.find import find_damage
from engine.spark.run.lifecycle import RunSpec
from engine.spark.upgrade.empty_checkpoint import build_skeleton
from engine.values.epoch_report import EpochReport
from tests.golden.folding import fold
from tests.streams.play import START, Step, at, play, read_rows, write_script

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

STEPS = 6
LAST = 2
"""The last epoch of the old query."""
TABLES = """
CREATE TABLE events (ts TIMESTAMP NOT NULL, key TEXT, number BIGINT, WATERMARK FOR ts)
WITH (connector = 'scripted', path = '{folder}/events.json');
CREATE TABLE others (ts TIMESTAMP NOT NULL, key TEXT, size BIGINT, WATERMARK FOR ts)
WITH (connector = 'scripted', path = '{folder}/others.json');
CREATE TABLE counts (start TIMESTAMP, key TEXT, n BIGINT)
WITH (connector = 'single_file', path = '{folder}/counts', format = 'json', type = 'sink');
CREATE TABLE sessions (key TEXT, n BIGINT)
WITH (connector = 'single_file', path = '{folder}/sessions', format = 'json', type = 'sink');
CREATE TABLE plain (key TEXT, number BIGINT)
WITH (connector = 'single_file', path = '{folder}/plain', format = 'json', type = 'sink');
CREATE TABLE totals (key TEXT, n BIGINT, s BIGINT)
WITH (connector = 'single_file', path = '{folder}/totals', format = 'debezium_json', type = 'sink');
CREATE TABLE joined (number BIGINT, size BIGINT)
WITH (connector = 'single_file', path = '{folder}/joined', format = 'debezium_json', type = 'sink');
"""
WINDOWS = "SELECT tumble(INTERVAL '10 minutes') AS w, key, count(*) AS n FROM events GROUP BY w, key"
COUNTS = f"INSERT INTO counts SELECT w.start, key, n FROM ({WINDOWS});"
EVEN_COUNTS = f"INSERT INTO counts SELECT w.start, key, n FROM ({WINDOWS}) WHERE n % 2 = 0;"
SESSIONS = """
INSERT INTO sessions SELECT key, n FROM (
  SELECT session(INTERVAL '5 minutes') AS w, key, count(*) AS n FROM events GROUP BY w, key
);
"""
TOTALS = "INSERT INTO totals SELECT key, count(*) AS n, sum(number) AS s FROM events GROUP BY key;"
JOINED = "INSERT INTO joined SELECT e.number, o.size FROM events e JOIN others o ON e.number = o.size * 4;"
PLAIN = "INSERT INTO plain SELECT key, number FROM events;"
Event = tuple[float, str, int]


def events_of(step: int) -> list[Event]:
    """Rows of four minutes, those of each step after those of the step before; 'b' has one more in every other step."""
    rows = [(step * 4 + part, "a", step * 4 + part) for part in range(4)]
    return [*rows, *((step * 4 + 3.5, "b", 100 + step * 2 + part) for part in range(1 + step % 2))]


def all_events(first: int = 0) -> Iterator[Event]:
    for step in range(first, STEPS):
        yield from events_of(step)


@dataclass
class Pipeline:
    """A pipeline that is changed in the middle of its input."""

    spark: SparkSession
    folder: Path
    parallelism: int = 1

    def spec(self, sql: str) -> RunSpec:
        script = TABLES.format(folder=self.folder) + sql
        return RunSpec("job", script, self.folder / "state", parallelism=self.parallelism)

    @property
    def paths(self) -> StatePaths:
        return StatePaths(self.folder / "state")

    def change(self, sql: str, operators: Mapping[int, int]) -> UpgradePlan:
        """Carry the state over to another query, as the plan of the change says; it must keep these operators."""
        spec = self.spec(sql)
        program, before = compile_script(spec.sql), compile_running(query_of_state(spec.state_dir))
        plan = compare(before, program)
        assert plan.kept == operators
        skeleton = self.folder / f"skeleton {program.fingerprint}"
        build_skeleton(self.spark, program, self.parallelism, skeleton)
        query = StatefulQuery("job", spec.sql, program.fingerprint, self.parallelism)
        sources = SourceChoice(plan.sources, plan.dropped_sources)
        carry_over(self.paths, skeleton, plan.kept, query, sources=sources)
        assert find_damage(self.paths.root, reads_rows=True) == []
        return plan

    def run(self, sql: str, stop_after: int | None = None) -> list[EpochReport]:
        outcome, reports = play(self.spark, self.spec(sql), stop_after=stop_after)
        assert outcome == ("finished" if stop_after is None else "stopped")
        assert find_damage(self.paths.root, reads_rows=True) == []
        return reports

    def uncommit(self) -> None:
        """As a kill leaves it that comes after the sinks have taken an epoch, and before Spark knows it."""
        (self.paths.checkpoint / "commits" / str(LAST)).unlink()
        (self.paths.checkpoint / "offsets" / str(LAST + 1)).unlink(missing_ok=True)

    def rows(self, table: str) -> Counter[tuple[object, ...]]:
        return Counter(tuple(row.values()) for row in read_rows(self.folder / table))

    def folded(self, table: str, *key: str) -> Counter[tuple[object, ...]]:
        lines = (self.folder / table).read_text().splitlines()
        return Counter(tuple(row.values()) for row in fold(lines, key).values())


@pytest.fixture
def pipeline(spark: SparkSession, tmp_path: Path) -> Pipeline:
    steps = [
        Step(timedelta(minutes=step), {"p": [{"ts": at(ts), "key": key, "number": n} for ts, key, n in rows]})
        for step, rows in ((step, events_of(step)) for step in range(STEPS))
    ]
    write_script(tmp_path / "events.json", steps)
    others = [
        Step(timedelta(minutes=step), {"p": [{"ts": at(step * 4), "key": "x", "size": step}]}) for step in range(STEPS)
    ]
    write_script(tmp_path / "others.json", others)
    return Pipeline(spark, tmp_path)


def counts(events: Iterator[Event]) -> Counter[tuple[object, ...]]:
    """The batch answer of `COUNTS`."""
    windows = Counter((int(minute // 10 * 10), key) for minute, key, _ in events)
    return Counter(
        ((START + timedelta(minutes=start)).strftime("%Y-%m-%dT%H:%M:%S"), key, n)
        for (start, key), n in windows.items()
    )


def totals(events: Iterator[Event]) -> Counter[tuple[object, ...]]:
    """The batch answer of `TOTALS`."""
    rows = list(events)
    keys = {key for _, key, _ in rows}
    return Counter(
        (key, sum(row[1] == key for row in rows), sum(row[2] for row in rows if row[1] == key)) for key in keys
    )


def test_windows_that_are_open_are_whole_behind_a_filter_and_beside_a_new_branch(pipeline: Pipeline) -> None:
    pipeline.run(COUNTS, LAST)
    assert not (pipeline.folder / "counts").exists() or pipeline.rows("counts") == Counter()

    pipeline.change(SESSIONS + EVEN_COUNTS, {1: 0})
    reports = pipeline.run(SESSIONS + EVEN_COUNTS)

    assert reports[0].epoch == LAST + 1
    assert pipeline.rows("counts") == Counter(row for row in counts(all_events()) if int(str(row[2])) % 2 == 0)
    assert pipeline.rows("sessions") == Counter(
        Counter(key for _, key, _ in all_events(LAST + 1)).items(),
    )


def test_updating_state_is_taken_over_beside_a_new_sink(pipeline: Pipeline) -> None:
    pipeline = replace(pipeline, parallelism=2)
    pipeline.run(JOINED + TOTALS + COUNTS, LAST)

    new = COUNTS + TOTALS + PLAIN + JOINED
    pipeline.change(new, {0: 2, 1: 1, 2: 0})
    pipeline.run(new)

    assert pipeline.rows("counts") == counts(all_events())
    assert pipeline.folded("totals", "key") == totals(all_events())
    assert pipeline.folded("joined", "number") == Counter((size * 4, size) for size in range(STEPS))
    assert pipeline.rows("plain") == Counter((key, number) for _, key, number in all_events(LAST + 1))


def test_a_session_goes_on_when_the_branch_before_it_is_dropped(pipeline: Pipeline) -> None:
    pipeline.run(COUNTS + SESSIONS, LAST)

    pipeline.change(SESSIONS, {0: 1})
    pipeline.run(SESSIONS)

    assert pipeline.rows("sessions") == Counter(Counter(key for _, key, _ in all_events()).items())
    assert spark_log.operators_of(pipeline.paths.checkpoint) == ("sessionWindowStateStoreSaveExec",)


def test_an_epoch_that_was_not_committed_covers_the_same_range_in_the_new_query(pipeline: Pipeline) -> None:
    pipeline.run(PLAIN + COUNTS, LAST)
    pipeline.uncommit()
    planned = spark_log.read_planned(pipeline.paths.checkpoint, LAST).positions

    new = SESSIONS + COUNTS + PLAIN
    pipeline.change(new, {1: 0})
    reports = pipeline.run(new)

    assert reports[0].epoch == LAST
    assert spark_log.read_planned(pipeline.paths.checkpoint, LAST).positions == planned
    assert pipeline.rows("plain") == Counter((key, number) for _, key, number in all_events())
    assert pipeline.rows("counts") == counts(all_events())
    assert pipeline.rows("sessions") == Counter(Counter(key for _, key, _ in all_events(LAST)).items())


def test_state_is_lost_and_comes_again(pipeline: Pipeline) -> None:
    pipeline.run(COUNTS + PLAIN, LAST)

    pipeline.change(PLAIN, {})
    pipeline.run(PLAIN, LAST + 1)
    pipeline.change(PLAIN + TOTALS, {})
    pipeline.run(PLAIN + TOTALS)

    assert pipeline.rows("plain") == Counter((key, number) for _, key, number in all_events())
    assert pipeline.folded("totals", "key") == totals(all_events(LAST + 2))


def test_a_table_that_is_new_and_older_than_the_watermark_would_lose_its_rows(pipeline: Pipeline) -> None:
    """Why a plan must refuse it: nothing tells of these rows, not even the count of late ones."""
    older = "SELECT tumble(INTERVAL '1 minute') AS w, key, count(*) AS n FROM others GROUP BY w, key"
    new = COUNTS + f"INSERT INTO sessions SELECT key, n FROM ({older});"
    pipeline.run(COUNTS, LAST + 1)

    plan = pipeline.change(new, {0: 0})
    reports = pipeline.run(new)

    assert plan.is_refused
    assert sum(pipeline.rows("sessions").values()) < STEPS
    assert sum(report.late_rows for report in reports) == 0


@pytest.mark.parametrize(("before", "after"), [("", " WHERE key = 'a'"), (" WHERE key = 'a'", "")])
def test_a_filter_of_keys_behind_a_window_is_no_matter_of_its_state(
    pipeline: Pipeline, before: str, after: str
) -> None:
    def windows(condition: str) -> str:
        return f"INSERT INTO counts SELECT w.start, key, n FROM ({WINDOWS}){condition};"

    pipeline.run(windows(before), LAST)

    pipeline.change(windows(after), {0: 0})
    pipeline.run(windows(after))

    assert pipeline.rows("counts") == Counter(row for row in counts(all_events()) if not after or row[1] == "a")
