"""Windows that are kept by pane whose numbers become wider, twice, before an aggregate comes that cannot be kept so:
all of their rows are the batch answer over the same rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import duckdb
import pytest

from engine.changes.compare import compare
from engine.changes.verdict import Change
from engine.checkpoints import spark_log
from engine.checkpoints.forms import read_forms, read_panes
from engine.checkpoints.rescale import repartition
from engine.checkpoints.restore import restore
from engine.checkpoints.running_query import compile_running, query_of_state
from engine.checkpoints.savepoints import take
from engine.compile import compile_script
from engine.spark.run.run_spec import PLAIN_SETTINGS, RunSpec
from engine.values.instants import now
from tests.checkpoints.test_carry_over_with_spark import STEPS, Pipeline
from tests.checkpoints.test_migrated_states import LONG_HOP, STARTS
from tests.checkpoints.test_upgrade_with_spark import upgrade
from tests.streams.play import START, Step, at, read_rows, write_script

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TYPES = (
    {"id": "SMALLINT", "tag": "INT NOT NULL", "number": "SMALLINT"},
    {"id": "INT", "tag": "INT", "number": "INT"},
    {"id": "BIGINT", "tag": "BIGINT", "number": "BIGINT"},
)
AGGREGATES = {"n": "count(*)", "c": "count(number)", "s": "sum(number)", "lo": "min(number)", "hi": "max(number)"}
MEAN = {"m": "avg(number)"}
BEYOND = (0, 0, 100_000, 100_000, 5_000_000_000, 5_000_000_000)
"""What is added to some numbers of a step, which fit into the types of then."""


def events_of(step: int) -> Iterator[dict[str, object]]:
    """Keys of all steps before come again, with some that only fit by now."""
    for part, beyond in enumerate((0, BEYOND[step], BEYOND[step] * (step % 2), BEYOND[max(step - 1, 0)])):
        number = None if part == 2 else step * 7 - part + beyond
        key = None if part == 3 and step % 2 else part % 2 + beyond
        tag = None if part == 1 and step > 3 else part // 2
        yield {"ts": at(step * 4 + part), "id": key, "tag": tag, "number": number}


class Widened(Pipeline):
    """A pipeline over columns of the types that are in force."""

    place = 0

    def spec(self, sql: str) -> RunSpec:
        typed = ", ".join(f"{name} {kind}" for name, kind in TYPES[self.place].items())
        source = f"""
            CREATE TABLE events (ts TIMESTAMP NOT NULL, {typed}, WATERMARK FOR ts)
            WITH (connector = 'scripted', path = '{self.folder}/events.json');
        """
        return RunSpec(
            "job",
            source + sql,
            self.folder / "state",
            parallelism=self.parallelism,
            settings=replace(PLAIN_SETTINGS, by_pane=True),
        )

    def script(self, further: dict[str, str]) -> str:
        """All aggregates by window and two keys, into a file that is as wide as can be."""
        calls = AGGREGATES | further
        typed = ", ".join(f"{name} {'DOUBLE' if name in MEAN else 'BIGINT'}" for name in calls)
        listed = ", ".join(f"{call} AS {name}" for name, call in calls.items())
        return f"""
            CREATE TABLE rows (start TIMESTAMP, id BIGINT, tag BIGINT, {typed}) WITH (
              connector = 'single_file', path = '{self.folder}/rows', format = 'json', type = 'sink');
            INSERT INTO rows SELECT w.start, id, tag, {", ".join(calls)}
            FROM (SELECT {LONG_HOP} AS w, id, tag, {listed} FROM events GROUP BY 1, 2, 3);
        """


@pytest.fixture
def widened(spark: SparkSession, tmp_path: Path) -> Widened:
    steps = [Step(timedelta(minutes=step), {"p": [*events_of(step)]}) for step in range(STEPS)]
    write_script(tmp_path / "events.json", steps)
    return Widened(spark, tmp_path, parallelism=2)


def answers() -> dict[tuple[object, ...], tuple[object, ...]]:
    """The batch answer by window and keys."""
    calls = ", ".join((AGGREGATES | MEAN).values())
    with duckdb.connect() as duck:
        duck.execute("CREATE TABLE events (m DOUBLE, id BIGINT, tag BIGINT, number BIGINT)")
        for step in range(STEPS):
            for row in events_of(step):
                minutes = (datetime.fromisoformat(str(row["ts"])) - START) / timedelta(minutes=1)
                duck.execute("INSERT INTO events VALUES (?, ?, ?, ?)", [minutes, *list(row.values())[1:]])
        rows = f"(SELECT unnest({STARTS[LONG_HOP]}) AS start, * FROM events)"
        found = duck.execute(f"SELECT start, id, tag, {calls} FROM {rows} GROUP BY ALL").fetchall()
    return {row[:3]: row[3:] for row in found}


def written(story: Widened) -> Iterator[tuple[tuple[object, ...], tuple[object, ...]]]:
    for row in read_rows(story.folder / "rows"):
        start = datetime.fromisoformat(str(row.pop("start"))).replace(tzinfo=START.tzinfo)
        minutes = (start - START) / timedelta(minutes=1)
        yield (minutes, row.pop("id"), row.pop("tag")), (*row.values(),)


def test_panes_go_on_over_wider_numbers_and_become_windows_of_sparks_where_they_must(widened: Widened) -> None:
    widened.run(widened.script({}), 1)
    for place, last, further in ((1, 2, {}), (2, 3, {}), (2, 4, MEAN)):
        widened.place = place
        sql = widened.script(further)
        plan = compare(compile_running(query_of_state(widened.paths.root)), compile_script(widened.spec(sql).sql))
        (operator,) = (verdict for verdict in plan.verdicts if verdict.subject == "operator")
        assert (operator.change, plan.loses_nothing) == (Change.STATE_MIGRATED, True)
        upgrade(widened, sql, stop_after=last)
        assert read_panes(widened.paths.checkpoint) == (set() if further else {0})
        assert any(form.formers for form in read_forms(widened.paths.checkpoint).values()) == (not further)
        # as a kill leaves it between the take-over and the first commit: sinks may have the epoch already
        first = spark_log.newest_commit(widened.paths.checkpoint)
        assert first is not None
        (widened.paths.checkpoint / "commits" / str(first)).unlink()
        (widened.paths.checkpoint / "offsets" / str(first + 1)).unlink(missing_ok=True)
    widened.run(sql, 4)
    take(widened.paths.root, "sp", label=None, clock=now)
    repartition(widened.paths.root, 1, lambda: widened.spark)
    widened.parallelism = 1
    widened.run(sql)
    ends = [[*written(widened)]]
    restore(widened.paths.savepoints / "sp", widened.paths.root, allow_replay=True)
    widened.parallelism = 2
    widened.run(sql)
    ends.append([*written(widened)])

    expected = answers()
    for rows in ends:
        assert Counter(key for key, _ in rows) == Counter(expected.keys())
        for key, values in rows:
            told = values if len(values) == 6 and values[5] is not None else values[:5]
            assert told == expected[key][: len(told)], key
        assert any(len(values) == 6 and values[5] is not None for _, values in rows)
