"""Types of numbers that become wider in the middle of their input: what was kept goes on, with what comes then and
would not have fitted before. All of it is the batch answer over the same rows."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from engine.changes.compare import compare
from engine.changes.verdict import Change
from engine.checkpoints.rescale import repartition
from engine.compile import compile_script
from engine.spark.run.run_spec import RunSpec
from tests.checkpoints.test_carry_over_with_spark import LAST, STEPS, Pipeline
from tests.checkpoints.test_upgrade_with_spark import upgrade
from tests.golden.folding import fold
from tests.streams.play import START, Step, at, read_rows, write_script

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NARROW = {"id": "INT", "number": "INT", "price": "DECIMAL(6, 2)", "cost": "DECIMAL(12, 2)", "part": "FLOAT NOT NULL"}
WIDE = {"id": "BIGINT", "number": "BIGINT", "price": "DECIMAL(12, 2)", "cost": "DECIMAL(20, 2)", "part": "DOUBLE"}
AGGREGATES = {
    "n": "count(*)",
    "s": "sum(number)",
    "lo": "min(number)",
    "hi": "max(number)",
    "m": "avg(number)",
    "p": "sum(price)",
    "least": "min(price)",
    "c": "sum(cost)",
    "a": "avg(cost)",
    "f": "sum(part)",
    "big": "count(number) FILTER (WHERE number > 70)",
}
TYPES = {"m": "DOUBLE", "p": "DECIMAL(22, 2)", "c": "DECIMAL(30, 2)", "f": "DOUBLE", "least": "DECIMAL(12, 2)"}
TYPES |= {"a": "DECIMAL(24, 6)"}
WINDOWS = ("tumble(INTERVAL '10 minutes')", "hop(INTERVAL '5 minutes', INTERVAL '10 minutes')")


def events_of(step: int) -> list[dict[str, object]]:
    """Rows of four minutes; after the change there are some that would not fit into the types before."""
    beyond = 0 if step <= LAST + 1 else 5_000_000_000
    return [
        {
            "ts": at(step * 4 + part),
            "id": part % 3 - 1 + (beyond if part == 4 else 0),
            "number": None if part == 2 else step * 20 + part - 30 + (beyond if part % 2 else 0),
            "price": step + 0.25 + beyond / 5,
            "cost": step - 2.5 + beyond * 10,
            "part": None if beyond and part == 1 else step / 4,
        }
        for part in range(5)
    ]


class Changed(Pipeline):
    """A pipeline whose columns become wider."""

    columns = NARROW

    def spec(self, sql: str) -> RunSpec:
        typed = ", ".join(f"{name} {kind}" for name, kind in self.columns.items())
        source = f"""
            CREATE TABLE events (ts TIMESTAMP NOT NULL, {typed}, WATERMARK FOR ts)
            WITH (connector = 'scripted', path = '{self.folder}/events.json');
        """
        return RunSpec("job", source + sql, self.folder / "state", parallelism=self.parallelism)

    def widen(self) -> None:
        self.columns = WIDE


@pytest.fixture
def changed(spark: SparkSession, tmp_path: Path) -> Changed:
    write_script(
        tmp_path / "events.json", [Step(timedelta(minutes=step), {"p": events_of(step)}) for step in range(STEPS)]
    )
    return Changed(spark, tmp_path, parallelism=2)


def script(story: Pipeline, window: str) -> str:
    """All aggregates by window and key, into a file; the sink is as wide as can be, which is no matter of the state."""
    columns = ", ".join(f"{name} {TYPES.get(name, 'BIGINT')}" for name in AGGREGATES)
    calls = ", ".join(f"{call} AS {name}" for name, call in AGGREGATES.items())
    return f"""
        CREATE TABLE rows (start TIMESTAMP, id BIGINT, {columns}) WITH (
          connector = 'single_file', path = '{story.folder}/rows', format = 'json', type = 'sink');
        INSERT INTO rows SELECT w.start, id, {", ".join(AGGREGATES)}
        FROM (SELECT {window} AS w, id, {calls} FROM events WHERE number IS NULL OR number > -31 GROUP BY 1, 2);
    """


def answers(starts: str, key: str = "id") -> list[tuple[object, ...]]:
    """The batch answer over all rows in the wide types, each row in all groups that the list `starts` has for it."""
    calls = ", ".join(f"{call} AS {name}" for name, call in AGGREGATES.items())
    columns = ", ".join(f"{name} {kind}" for name, kind in WIDE.items())
    with duckdb.connect() as duck:
        duck.execute(f"CREATE TABLE events (m DOUBLE, {columns})")
        for step in range(STEPS):
            for row in events_of(step):
                minutes = (datetime.fromisoformat(str(row["ts"])) - START) / timedelta(minutes=1)
                duck.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", [minutes, *list(row.values())[1:]])
        rows = f"(SELECT unnest({starts}) AS start, * FROM events)"
        return duck.execute(f"SELECT start, {key}, {calls} FROM {rows} GROUP BY ALL").fetchall()


def plain(values: tuple[object, ...]) -> tuple[object, ...]:
    """Numbers whatever they were written as."""
    return tuple(None if value is None else round(Decimal(str(value)), 4) for value in values)


@pytest.mark.parametrize("window", WINDOWS, ids=["tumble", "hop"])
def test_windows_go_on_over_wider_numbers_and_keys(changed: Changed, window: str) -> None:
    sql = script(changed, window)
    changed.run(sql, LAST)
    before = compile_script(changed.spec(sql).sql)
    changed.widen()
    plan = compare(before, compile_script(changed.spec(sql).sql))
    (operator,) = (verdict for verdict in plan.verdicts if verdict.subject == "operator")
    assert (operator.change, plan.loses_nothing) == (Change.STATE_MIGRATED, True)
    assert "id INT becomes id BIGINT" in operator.reason

    upgrade(changed, sql)

    minutes = "[floor(m / 10) * 10]" if "tumble" in window else "[floor(m / 5) * 5 - 5, floor(m / 5) * 5]"
    expected = Counter(map(plain, answers(minutes)))
    rows = []
    for row in read_rows(changed.folder / "rows"):
        start = datetime.fromisoformat(str(row.pop("start"))).replace(tzinfo=START.tzinfo)
        rows.append(plain(((start - START) / timedelta(minutes=1), *row.values())))
    assert Counter(rows) == expected


def test_updating_aggregates_go_on_over_wider_numbers(changed: Changed) -> None:
    columns = ", ".join(f"{name} {'DOUBLE' if name in TYPES else 'BIGINT'}" for name in AGGREGATES)
    calls = ", ".join(f"CAST({call} AS DOUBLE)" if name in TYPES else call for name, call in AGGREGATES.items())
    sql = f"""
        CREATE TABLE groups (id BIGINT, {columns}) WITH (
          connector = 'single_file', path = '{changed.folder}/groups', format = 'debezium_json', type = 'sink');
        INSERT INTO groups SELECT (CAST(id AS BIGINT) + 5000000001) % 5 AS id, {calls} FROM events GROUP BY 1;
    """
    changed.run(sql, LAST)

    changed.widen()
    upgrade(changed, sql, stop_after=LAST + 1)
    repartition(changed.paths.root, 1, lambda: changed.spark)
    changed.parallelism = 1
    changed.run(sql)

    lines = (changed.folder / "groups").read_text().splitlines()
    rows = Counter(plain(tuple(row.values())) for row in fold(lines, ("id",)).values())
    assert rows == Counter(plain(row[1:]) for row in answers("[0]", "(id + 5000000001) % 5"))
