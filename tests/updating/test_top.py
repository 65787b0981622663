"""Rankings without a window: whatever comes and goes, the folded changes are the batch answer."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from engine.plan.nodes.updating import Ranking
from engine.schema import Field, Schema
from engine.types import BIGINT, DOUBLE, TEXT
from engine.updating.accumulators.counts import Sorting
from engine.updating.state_columns import MATCH, ROW
from engine.updating.top import TopOperator, TopSpec
from tests.updating.streams import INSTANT, Buckets, Change, epochs_of, fold, identity, rows_after

DAY = 86_400_000_000
BY = (Sorting(DOUBLE, descending=True, nulls_first=False), Sorting(TEXT, descending=False, nulls_first=True))
BY_SQL = "value DESC NULLS LAST, name ASC NULLS FIRST"
NAN = float("nan")


def spec_of(
    function: Ranking = "row_number",
    *,
    limit: int | None = None,
    is_numbered: bool = True,
    only_appends: bool = False,
    ttl: int = DAY,
) -> TopSpec:
    schema = Schema((Field("c0", TEXT), Field("c1", DOUBLE), Field("c2", TEXT), Field("c3", BIGINT)))
    return TopSpec(schema, BY, function, is_numbered, limit, only_appends, ttl)


def packed(changes: Sequence[Change], *, only_appends: bool) -> pa.Table:
    rows = [row for _, row in changes]
    columns: dict[str, pa.Array] = {
        MATCH: pa.array([identity(row["key"]) for row in rows], pa.int64()),
        ROW: pa.array([identity(row["key"], row["value"], row["name"], row["tie"]) for row in rows], pa.int64()),
        "c0": pa.array([row["key"] for row in rows], pa.string()),
        "c1": pa.array([row["value"] for row in rows], pa.float64(), from_pandas=False),
        "c2": pa.array([row["name"] for row in rows], pa.string()),
        "c3": pa.array([row["tie"] for row in rows], pa.int64()),
        "_timestamp": pa.array([row["at"] for row in rows], INSTANT),
    }
    columns |= {"o0": columns["c1"], "o1": columns["c2"]}
    if not only_appends:
        columns["_retract"] = pa.array([retract for retract, _ in changes], pa.bool_())
    return pa.table(columns)


def random_rows(chance: Random, *, ties: bool) -> list[dict[str, Any]]:
    """Rows of which many are equal; without `ties`, rows that are equal in the order are equal in all."""
    return [
        {
            "key": chance.choice(["a", "b", None]),
            "value": chance.choice([1.5, 2.0, -3.0, NAN, None]),
            "name": chance.choice(["x", "y", "", None]),
            "tie": chance.randrange(3) if ties else 0,
            "at": chance.randrange(1000),
        }
        for _ in range(chance.randrange(80))
    ]


def shown(row: Sequence[object]) -> tuple[object, ...]:
    return tuple("NaN" if value != value else value for value in row)


def batch_answer(database: duckdb.DuckDBPyConnection, rows: Sequence[dict[str, Any]], spec: TopSpec) -> list[Any]:
    names = ("key", "value", "name", "tie")
    kinds = (pa.string(), pa.float64(), pa.string(), pa.int64())
    columns = {
        name: pa.array([row[name] for row in rows], kind, from_pandas=False)
        for name, kind in zip(names, kinds, strict=True)
    }
    database.register("events", pa.table(columns))
    place = f"{spec.function}() OVER (PARTITION BY key ORDER BY {BY_SQL})"
    most = "" if spec.limit is None else f" QUALIFY {place} <= {spec.limit}"
    number = f", {place} AS place" if spec.is_numbered else ""
    return sorted(map(repr, map(shown, database.execute(f"SELECT *{number} FROM events{most}").fetchall())))


@pytest.fixture(scope="module")
def database() -> Any:
    with duckdb.connect() as connection:
        yield connection


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("only_appends", [True, False])
@pytest.mark.parametrize("limit", [None, 1, 3])
@pytest.mark.parametrize("function", ["row_number", "rank", "dense_rank"])
def test_the_folded_changes_are_the_batch_answer(
    database: duckdb.DuckDBPyConnection, function: Ranking, limit: int | None, only_appends: bool, seed: int
) -> None:
    chance = Random(seed)
    spec = spec_of(function, limit=limit, is_numbered=chance.random() < 0.7, only_appends=only_appends)
    operator = TopOperator(spec)
    running = Buckets(operator)
    rows = random_rows(chance, ties=function != "row_number")
    epochs = epochs_of(chance, rows, taken_back=0 if only_appends else 0.5)
    changes: list[Any] = []

    for number, epoch in enumerate(epochs):
        half = len(epoch) // 2 if only_appends else 0
        parts = [(operator, packed(part, only_appends=only_appends)) for part in (epoch[:half], epoch[half:])]
        changes += [
            {name: "NaN" if value != value else value for name, value in change.items()}
            for change in running.run(parts)
        ]

        answer = sorted(repr(row) for row in fold(changes).elements())
        assert answer == batch_answer(database, rows_after(epochs[: number + 1]), spec)


def row(value: float, *, tie: int = 0, at: int = 0, key: str = "a") -> Change:
    return False, {"key": key, "value": value, "name": None, "tie": tie, "at": at}


def test_rows_that_cannot_be_wanted_any_more_are_not_kept() -> None:
    operator = TopOperator(spec_of(limit=2, only_appends=True))
    running = Buckets(operator)

    running.run([(operator, packed([row(value) for value in (1, 2, 3, 4)], only_appends=True))])
    running.run([(operator, packed([row(value) for value in (5, 0)], only_appends=True))])

    [state] = running.states.values()
    rows = state.tables["rows"].all()
    assert rows is not None
    assert sorted(rows["c1"].to_pylist()) == [4, 5]


def test_the_best_row_is_replaced_under_its_own_id() -> None:
    operator = TopOperator(spec_of(limit=1, is_numbered=False, only_appends=True))
    running = Buckets(operator)

    first = running.run([(operator, packed([row(1)], only_appends=True))])
    nothing = running.run([(operator, packed([row(0), row(1, at=9)], only_appends=True))])
    second = running.run([(operator, packed([row(2)], only_appends=True))])

    assert [(change["_retract"], change["c1"]) for change in first] == [(False, 1)]
    assert nothing == []
    assert [(change["_retract"], change["c1"]) for change in second] == [(True, 1), (False, 2)]
    assert {change["_id"] for change in (*first, *second)} == {first[0]["_id"]}


def test_rows_that_only_move_are_not_sent_when_nobody_reads_their_place() -> None:
    operator = TopOperator(spec_of(limit=3, is_numbered=False, only_appends=False))
    running = Buckets(operator)

    running.run([(operator, packed([row(1), row(2), row(3)], only_appends=False))])
    out = running.run([(operator, packed([row(4)], only_appends=False))])

    assert sorted((change["_retract"], change["c1"]) for change in out) == [(False, 4), (True, 1)]


def test_a_partition_without_changes_is_forgotten_and_taken_back() -> None:
    operator = TopOperator(spec_of(limit=1, only_appends=True, ttl=100))
    running = Buckets(operator)

    running.run([(operator, packed([row(1, key="a")], only_appends=True))])
    running.run([(operator, packed([row(0, key="a", at=90)], only_appends=True))])
    first_changes = running.run([(operator, packed([row(5, key="a", tie=1, at=190)], only_appends=True))])
    second_changes = running.run([(operator, packed([row(0, key="a", tie=2, at=300)], only_appends=True))])

    assert [(change["_retract"], change["c1"], change["c3"]) for change in first_changes] == [
        (True, 1, 0),
        (False, 5, 1),
    ]
    assert [(change["_retract"], change["c1"], change["c3"]) for change in second_changes] == [
        (True, 5, 1),
        (False, 0, 2),
    ]
