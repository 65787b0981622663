"""What an epoch part makes of rows in memory is what DuckDB makes of the same rows."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import duckdb
import pyarrow as pa
import pytest

from engine import types
from engine.arrow.keys import TooManyPairs
from engine.arrow.relations import Relations
from engine.plan.expressions.expr import Call, Column, Literal, Named
from engine.plan.nodes import Branch, Filter, JoinKind, NamedOver, Order, Over, Project, Top, Union, WindowJoin
from engine.plan.tree import EVENT_TIME, Node
from engine.schema import Field, Schema, arrow_schema
from tests.fuzz.oracle import comparable, difference

pytestmark = pytest.mark.unit

_START = datetime(2024, 1, 1, tzinfo=UTC)
_KINDS: Mapping[str, types.Type] = {
    "w": types.WINDOW,
    "k": types.BIGINT,
    "name": types.TEXT,
    "n": types.INT,
    "part": types.DOUBLE,
    "flag": types.BOOLEAN,
    "id": types.BIGINT,
}


def schema_of(prefix: str) -> Schema:
    """Columns of that prefix."""
    return Schema(tuple(Field(prefix + name, kind) for name, kind in _KINDS.items()))


def rows_of(chance: random.Random, prefix: str, count: int) -> pa.RecordBatch:
    """Few different values, and some that are missing."""
    windows = [chance.randrange(3) for _ in range(count)]
    rows = [
        {
            "w": _window(windows[number]),
            "k": chance.choice([None, 1, 2, -(2**63), 2**63 - 1]),
            "name": chance.choice([None, "", "a", "ä", "b"]),
            "n": chance.choice([None, -1, 0, 1]),
            "part": chance.choice([None, -1.5, 0.0, 2.5, float("inf"), float("nan")]),
            "flag": chance.choice([None, True, False]),
            "id": number,
        }
        for number in range(count)
    ]
    named = [{prefix + name: value for name, value in row.items()} for row in rows]
    schema = arrow_schema(schema_of(prefix)).append(pa.field(EVENT_TIME, pa.timestamp("us", "UTC")))
    ends = [_window(number)["end"] - timedelta(microseconds=1) for number in windows]
    timed = [{**row, EVENT_TIME: end} for row, end in zip(named, ends, strict=True)]
    return pa.RecordBatch.from_pylist(timed, schema=schema)


def _window(number: int) -> Mapping[str, datetime]:
    return {"start": _START + timedelta(seconds=number), "end": _START + timedelta(seconds=number + 2)}


def column(name: str) -> Column:
    """A column of the rows, by its name with the prefix."""
    return Column(name, _KINDS[name[1:]])


LEFT, RIGHT = Branch(0, schema_of("l")), Branch(1, schema_of("r"))


def answers(node: Node, branches: Sequence[pa.RecordBatch], query: str) -> str:
    """How the rows of a relation differ from those of a query over `left_rows` and `right_rows`."""
    rows = Relations(branches, 1_000_000).rows_of(node)
    assert rows.schema.names[: len(node.schema)] == list(node.schema.names)
    with duckdb.connect() as database:
        for name, batch in zip(("left_rows", "right_rows"), branches, strict=False):
            database.register(name, _without_zones(batch))
        names = ", ".join(f'"{name}"' for name in rows.schema.names)
        expected = database.sql(f"SELECT {names} FROM ({query})").to_arrow_table().to_pylist()
    kinds = {str(place): "t" for place in range(rows.num_columns)}
    return difference(_plain(_without_zones(rows).to_pylist(), kinds), _plain(expected, kinds))


def _without_zones(batch: pa.RecordBatch) -> pa.Table:
    """The same instants as the oracle takes them."""
    instant = pa.timestamp("us")
    window = pa.struct([("start", instant), ("end", instant)])
    kinds = [
        window if pa.types.is_struct(kind) else instant if pa.types.is_timestamp(kind) else kind
        for kind in batch.schema.types
    ]
    return pa.Table.from_batches([batch]).cast(pa.schema(list(zip(batch.schema.names, kinds, strict=True))))


def _plain(rows: Sequence[Mapping[str, object]], kinds: Mapping[str, str]) -> list[tuple[object, ...]]:
    return [comparable([None if value is None else str(value) for value in row.values()], kinds) for row in rows]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["inner", "left", "right", "full", "semi", "anti"])
def test_a_join_within_windows_is_that_of_the_oracle(kind: JoinKind, seed: int) -> None:
    chance = random.Random(seed)
    branches = [rows_of(chance, "l", chance.choice([0, 1, 60])), rows_of(chance, "r", chance.choice([0, 1, 50]))]
    equal = chance.choice([(), ("k",), ("name", "flag"), ("k", "n")])
    condition = chance.choice([None, ("ln", "rn")])
    node = WindowJoin(
        LEFT,
        RIGHT,
        kind,
        ("lw", "rw"),
        tuple((column(f"l{name}"), column(f"r{name}")) for name in equal),
        None if condition is None else Call("<", tuple(map(column, condition)), types.BOOLEAN),
    )
    tests = [*("lw = rw" for _ in "."), *(f"l{name} = r{name}" for name in equal), *(["ln < rn"] if condition else [])]
    sides = (
        f"(SELECT *, {EVENT_TIME} AS lt FROM left_rows) l",
        f"(SELECT * EXCLUDE {EVENT_TIME}, {EVENT_TIME} AS rt FROM right_rows) r",
    )
    if kind in ("semi", "anti"):
        query = f"SELECT * EXCLUDE lt FROM {sides[0]} {kind.upper()} JOIN {sides[1]} ON {' AND '.join(tests)}"
    else:
        query = (
            f"SELECT * EXCLUDE ({EVENT_TIME}, lt, rt), greatest(lt, rt) AS {EVENT_TIME} "
            f"FROM {sides[0]} {kind.upper()} JOIN {sides[1]} ON {' AND '.join(tests)}"
        )
    assert not answers(node, branches, query)


def test_a_join_without_windows_meets_by_event_time() -> None:
    chance = random.Random(1)
    branches = [rows_of(chance, "l", 40), rows_of(chance, "r", 40)]
    node = WindowJoin(LEFT, RIGHT, "inner", None, ((column("lk"), column("rk")),), None)
    query = (
        f"SELECT l.*, r.* EXCLUDE {EVENT_TIME} FROM left_rows l JOIN right_rows r "
        f"ON l.{EVENT_TIME} = r.{EVENT_TIME} AND lk = rk"
    )
    assert not answers(node, branches, query)


def test_a_join_of_too_many_pairs_is_not_begun() -> None:
    chance = random.Random(2)
    branches = [rows_of(chance, "l", 60), rows_of(chance, "r", 60)]
    node = WindowJoin(LEFT, RIGHT, "inner", ("lw", "rw"), (), None)

    with pytest.raises(TooManyPairs):
        Relations(branches, 100).rows_of(node)


@pytest.mark.parametrize("seed", range(8))
def test_rankings_are_those_of_the_oracle(seed: int) -> None:
    chance = random.Random(seed)
    branches = [rows_of(chance, "l", chance.choice([0, 1, 200]))]
    partition = chance.choice([("lw",), ("lw", "lk"), ("lname", "lflag")])
    order = [
        Order(column(name), chance.random() < 0.5, chance.random() < 0.5)
        for name in chance.sample(["lk", "lname", "ln", "lpart", "lflag"], chance.randrange(1, 4))
    ]
    functions, columns = [], []
    for place, function in enumerate(("row_number", "rank", "dense_rank")):
        last = [Order(column("lid"), False, False)] if function == "row_number" else []
        by = tuple(map(column, partition))
        functions.append(NamedOver(f"p{place}", function, (), by, (*order, *last), None, types.BIGINT))
        ordered = ", ".join(
            f"{part.expr.name} {'DESC' if part.descending else 'ASC'} NULLS {'FIRST' if part.nulls_first else 'LAST'}"
            for part in (*order, *last)
            if isinstance(part.expr, Column)
        )
        columns.append(f"{function}() OVER (PARTITION BY {', '.join(partition)} ORDER BY {ordered}) AS p{place}")
    query = f"SELECT *, {', '.join(columns)} FROM left_rows"

    assert not answers(Over(LEFT, "lw", tuple(functions)), branches, query)


def test_without_an_order_all_rows_are_peers() -> None:
    branches = [rows_of(random.Random(3), "l", 50)]
    functions = tuple(
        NamedOver(name, name, (), (column("lw"),), (), None, types.BIGINT) for name in ("rank", "dense_rank")
    )
    query = "SELECT *, 1 AS rank, 1 AS dense_rank FROM left_rows"

    assert not answers(Over(LEFT, "lw", functions), branches, query)


@pytest.mark.parametrize(("limit", "offset"), [(3, 0), (2, 4), (None, 5), (None, 0)])
def test_the_first_rows_of_each_window_are_those_of_the_oracle_in_their_order(limit: int | None, offset: int) -> None:
    branches = [rows_of(random.Random(4), "l", 100)]
    node = Top(LEFT, "lw", (Order(column("ln"), True, True), Order(column("lid"), False, False)), limit, offset)
    most = 1_000 if limit is None else offset + limit
    place = "row_number() OVER (PARTITION BY lw ORDER BY ln DESC NULLS FIRST, lid)"
    query = f"SELECT * FROM left_rows QUALIFY {place} > {offset} AND {place} <= {most}"

    assert not answers(node, branches, query)
    shown = Relations(branches, 0).rows_of(node).to_pylist()
    missing_first = [(row["lw"]["start"], row["ln"] is not None, -(row["ln"] or 0), row["lid"]) for row in shown]
    assert missing_first == sorted(missing_first)


def test_expressions_over_columns_are_computed_with_event_times() -> None:
    chance = random.Random(5)
    branches = [rows_of(chance, "l", 50), rows_of(chance, "r", 30)]
    few = [
        Filter(side, Call(">", (column(f"{letter}n"), Literal(-1, types.INT)), types.BOOLEAN))
        for side, letter in ((LEFT, "l"), (RIGHT, "r"))
    ]
    named = [
        Project(side, (Named("k", column(f"{letter}k")), Named("t", Column(EVENT_TIME, types.TIMESTAMP))))
        for side, letter in zip(few, "lr", strict=True)
    ]
    query = " UNION ALL ".join(
        f"SELECT {letter}k AS k, {EVENT_TIME} AS t, {EVENT_TIME} FROM {table} WHERE {letter}n > -1"
        for letter, table in (("l", "left_rows"), ("r", "right_rows"))
    )
    assert not answers(Union(tuple(named)), branches, query)
