"""What is known by hashes of numbers that become wider twice: keys, values, partners and rows that were kept are met by
what comes then, and stay apart from what would not have fitted before."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from engine.changes.compare import compare
from engine.changes.verdict import Change
from engine.checkpoints import spark_log
from engine.checkpoints.forms import read_forms
from engine.checkpoints.rescale import repartition
from engine.compile import compile_script
from engine.spark.run.run_spec import RunSpec
from engine.udf.declared import UdfFile
from tests.checkpoints.test_carry_over_with_spark import STEPS, Pipeline
from tests.checkpoints.test_upgrade_with_spark import upgrade
from tests.golden.folding import fold
from tests.streams.play import Step, at, write_script

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TYPES = (("SMALLINT", "DECIMAL(6, 2)"), ("INT", "DECIMAL(12, 2)"), ("BIGINT", "DECIMAL(20, 2)"))
LOWEST = UdfFile(
    "lowest.py", "from engine.udf import udaf\n@udaf\ndef lowest(values: list[int]) -> int: return sorted(values)[0]\n"
)
BRANCHES = {
    "keys": ("SELECT number, price, count(*) AS n, max(number) AS hi FROM events GROUP BY 1, 2", ("number", "price")),
    "several": ("SELECT k, count(DISTINCT number) AS n, sum(DISTINCT price) AS s FROM events GROUP BY k", ("k",)),
    "nested": (
        "SELECT half, max(s) AS hi, min(number) AS lo FROM "
        "(SELECT number, number % 2 AS half, sum(price) AS s FROM events GROUP BY 1, 2) GROUP BY half",
        ("half",),
    ),
    "pairs": (
        "SELECT e.number, e.price, e.k, o.size FROM events e LEFT JOIN sizes o ON e.number = o.number AND e.k = o.k",
        ("number", "price", "k", "size"),
    ),
    "best": (
        "SELECT k, price, number, place FROM (SELECT k, price, number, row_number() OVER "
        "(PARTITION BY k ORDER BY price DESC NULLS LAST, number NULLS LAST) AS place FROM events) WHERE place <= 3",
        ("k", "place"),
    ),
    "firsts": (
        "SELECT number, price FROM (SELECT number, price, row_number() OVER (PARTITION BY number ORDER BY ts) AS place "
        "FROM events) WHERE place = 1",
        ("number",),
    ),
    "own": ("SELECT k, lowest(number) AS lo FROM events GROUP BY k", ("k",)),
}
COLUMNS = {"k": "TEXT", "price": "DOUBLE", "s": "DOUBLE", "hi": "DOUBLE"}


def numbers_of(step: int) -> Sequence[tuple[int, float]]:
    """Numbers and prices of a step: those of all steps before come again, with some that only fit by now."""
    beyond = (0, 0, 100_000, 100_000, 5_000_000_000, 5_000_000_000)[step]
    return [(-3, 1.25), (step % 2, 7.5), (step + beyond, 2.25 + beyond * 9_000), (200 + step - step % 2, 1.25)]


def events_of(step: int) -> Iterator[dict[str, object]]:
    for part, (number, price) in enumerate(numbers_of(step)):
        yield {"ts": at(step * 4 + part / 2), "k": "ab"[part % 2], "number": number, "price": price}
    yield {"ts": at(step * 4 + 3), "k": "b", "number": None if step % 2 else 7, "price": None if step > 3 else 0.5}


def sizes_of(step: int) -> Iterator[dict[str, object]]:
    for part, (number, _) in enumerate(numbers_of(step)):
        yield {"ts": at(step * 4 + part / 2), "k": "ab"[part % 2], "number": number, "size": step}


class Widened(Pipeline):
    """A pipeline with all of the branches, over columns of the types that are in force."""

    types = TYPES[0]

    def spec(self, sql: str) -> RunSpec:
        number, price = self.types
        sources = f"""
            CREATE TABLE events (ts TIMESTAMP NOT NULL, k TEXT, number {number}, price {price}, WATERMARK FOR ts)
            WITH (connector = 'scripted', path = '{self.folder}/events.json');
            CREATE TABLE sizes (ts TIMESTAMP NOT NULL, k TEXT, number {number}, size BIGINT, WATERMARK FOR ts)
            WITH (connector = 'scripted', path = '{self.folder}/sizes.json');
        """
        return RunSpec("job", sources + sql, self.folder / "state", parallelism=self.parallelism, udfs=(LOWEST,))

    def script(self) -> str:
        """All branches, into sinks that are as wide as can be."""
        parts = []
        for name, (query, key) in BRANCHES.items():
            names = query.split(" FROM ")[0].removeprefix("SELECT ").split(", ")
            columns = [column.split(" AS ")[-1].split(".")[-1] for column in names]
            typed = ", ".join(f"{column} {COLUMNS.get(column, 'BIGINT')}" for column in columns)
            casts = ", ".join(f"CAST({c} AS {COLUMNS[c]}) AS {c}" if COLUMNS.get(c) == "DOUBLE" else c for c in columns)
            assert set(key) <= set(columns)
            parts.append(f"""
                CREATE TABLE {name} ({typed}) WITH (
                  connector = 'single_file', path = '{self.folder}/{name}', format = 'debezium_json', type = 'sink');
                INSERT INTO {name} SELECT {casts} FROM ({query});
            """)
        return "".join(parts)


@pytest.fixture
def widened(spark: SparkSession, tmp_path: Path) -> Widened:
    for name, rows_of in (("events", events_of), ("sizes", sizes_of)):
        steps = [Step(timedelta(minutes=step), {"p": [*rows_of(step)]}) for step in range(STEPS)]
        write_script(tmp_path / f"{name}.json", steps)
    return Widened(spark, tmp_path, parallelism=2)


def answers() -> dict[str, Counter[tuple[object, ...]]]:
    """The batch answer of each branch over all rows in the widest types."""
    number, price = TYPES[-1]
    with duckdb.connect() as duck:
        duck.execute(f"CREATE TABLE events (ts TEXT, k TEXT, number {number}, price {price})")
        duck.execute(f"CREATE TABLE sizes (ts TEXT, k TEXT, number {number}, size BIGINT)")
        for step in range(STEPS):
            for table, rows_of in (("events", events_of), ("sizes", sizes_of)):
                duck.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", [[*row.values()] for row in rows_of(step)])
        queries = {name: query.replace("lowest(", "min(") for name, (query, _) in BRANCHES.items()}
        return {name: Counter(map(plain, duck.execute(query).fetchall())) for name, query in queries.items()}


def plain(values: Sequence[object]) -> tuple[object, ...]:
    """Numbers whatever they were written as."""
    return tuple(
        value if value is None or (isinstance(value, str) and value.isalpha()) else Decimal(str(value)).normalize()
        for value in values
    )


def written(story: Widened) -> dict[str, Counter[tuple[object, ...]]]:
    return {
        name: Counter(plain([*row.values()]) for row in fold(_lines(story, name), key).values())
        if name != "pairs"
        else _counted(_lines(story, name))
        for name, (_, key) in BRANCHES.items()
    }


def _lines(story: Widened, name: str) -> list[str]:
    return (story.folder / name).read_text().splitlines()


def _counted(lines: Sequence[str]) -> Counter[tuple[object, ...]]:
    """Rows of which several may be equal."""
    rows: Counter[tuple[object, ...]] = Counter()
    for change in map(json.loads, lines):
        for image, weight in ((change["before"], -1), (change["after"], 1)):
            if image is not None:
                rows[plain([*image.values()])] += weight
    assert min(rows.values()) >= 0
    return +rows


def test_state_keyed_by_hashes_survives_two_widenings(widened: Widened) -> None:
    widened.run(widened.script(), 1)
    for place, last in ((1, 2), (2, 4)):
        before = compile_script(widened.spec(widened.script()).sql, udfs=[LOWEST])
        widened.types = TYPES[place]
        plan = compare(before, compile_script(widened.spec(widened.script()).sql, udfs=[LOWEST]))
        assert {v.change for v in plan.verdicts if v.subject == "operator"} == {Change.STATE_MIGRATED}
        assert plan.loses_nothing

        upgrade(widened, widened.script(), stop_after=last)
        # as a kill leaves it between the take-over and the first commit: sinks may have the epoch already
        first = spark_log.newest_commit(widened.paths.checkpoint)
        (widened.paths.checkpoint / "commits" / str(first)).unlink()
        (widened.paths.checkpoint / "offsets" / str((first or 0) + 1)).unlink(missing_ok=True)
    widened.run(widened.script(), 4)
    repartition(widened.paths.root, 1, lambda: widened.spark)
    widened.parallelism = 1
    widened.run(widened.script())

    assert written(widened) == answers()
    assert any(form.formers for form in read_forms(widened.paths.checkpoint).values())
