"""Joins with a query that looks at the rows before it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tests.fuzz.aggregates import random_aggregate
from tests.fuzz.expressions import Columns, condition, expression
from tests.fuzz.queries import NO_TIME, Builder, Relation, new_names, pairs_of, quoted, random_keys, random_window

_HERE = "<where>"
"""Stands for what all of these queries read."""


def looking(builder: Builder, left: Relation, right: Relation) -> Relation:
    """The rows with those that match them, or with what is made of these."""
    pairs = pairs_of(left, right)
    if not pairs:
        return left
    left_name, right_name = builder.random.choice(pairs)
    return _looking(builder, left, right, f"r.{quoted(right_name)} = l.{quoted(left_name)}", NO_TIME)


def looking_in_windows(builder: Builder) -> Relation:
    """The same of two aggregations of the same window."""
    window = random_window(builder.random, sessions=False)
    left, right = (builder.windowed(builder.base(), window) for _ in range(2))
    return _looking(builder, left, right, "r.w = l.w", 'l."_at", CAST(NULL AS TIMESTAMP) AS "_wm"')


def _looking(builder: Builder, left: Relation, right: Relation, match: str, hidden: str) -> Relation:
    random = builder.random
    residual = f" AND ({condition(random, right.plain)})" if right.plain and random.random() < 0.3 else ""
    engine_sql, oracle_sql, lateral_columns = random.choice([_rows, _rows, _groups, _one_row, _distinct])(
        random, left, right
    )
    where = f"FROM {right.name} r WHERE {match}{residual}"
    kind, on = random.choice([("CROSS", ""), ("INNER", "ON true"), ("LEFT", "ON true"), ("LEFT", "ON true")])
    left_names = {"w" if name == "w" else f"l_{name}": name for name in left.columns}
    columns = {alias: left.columns[name] for alias, name in left_names.items()} | {
        f"g_{name}": of for name, of in lateral_columns.items()
    }
    listed = ", ".join(
        [f"l.{quoted(name)} AS {alias}" for alias, name in left_names.items()]
        + [f"g.{quoted(name)} AS g_{name}" for name in lateral_columns]
    )

    def joining(query: str) -> str:
        return f"FROM {left.name} l {kind} JOIN LATERAL ({query.replace(_HERE, where)}) AS g {on}"

    both = Relation(
        (*left.engine_sql, *right.engine_sql), (*left.oracle_sql, *right.oracle_sql), "", columns, left.window
    )
    return both.then(
        builder.name(),
        f"SELECT {listed} {joining(engine_sql)}",
        f"SELECT {listed}, {hidden} {joining(oracle_sql)}",
        columns,
        is_updating=left.window is None,
    )


def _rows(random: Random, left: Relation, right: Relation) -> tuple[str, str, Columns]:
    """Some columns of theirs, and something made of both."""
    right_columns = {name: kind for name, kind in right.columns.items() if random.random() < 0.7}
    mixed = {**{f"l.{name}": kind for name, kind in left.plain.items()}, **right.plain}
    expressions = {name: random.choice("idtbn") for name in ("m0", "m1") if random.random() < 0.6}
    items = [f"r.{quoted(name)}" for name in right_columns]
    items += [f"{expression(random, mixed, kind)} AS {name}" for name, kind in expressions.items()]
    if not items:
        return f"SELECT 1 AS m {_HERE}", f"SELECT 1 AS m {_HERE}", {"m": "i"}
    query = f"SELECT {', '.join(items)} {_HERE}"
    return query, query, {**right_columns, **expressions}


def _groups(random: Random, _: Relation, right: Relation) -> tuple[str, str, Columns]:
    keys = random_keys(random, right) or random_keys(random, right)
    if not keys:
        return _one_row(random, _, right)
    listed = ", ".join(map(quoted, keys))
    engine_sql, oracle_sql, columns = _aggregates(random, right, keys)
    having = f" HAVING count(*) > {random.randint(0, 2)}" if random.random() < 0.3 else ""
    columns = {**{key: right.columns[key] for key in keys}, **columns}
    end = f"{_HERE} GROUP BY {listed}{having}"
    return f"SELECT {listed}, {engine_sql} {end}", f"SELECT {listed}, {oracle_sql} {end}", columns


def _one_row(random: Random, _: Relation, right: Relation) -> tuple[str, str, Columns]:
    engine_sql, oracle_sql, columns = _aggregates(random, right, ())
    return f"SELECT {engine_sql} {_HERE}", f"SELECT {oracle_sql} {_HERE}", columns


def _distinct(random: Random, left: Relation, right: Relation) -> tuple[str, str, Columns]:
    names = [name for name in right.plain if name != "id"]
    if not names:
        return _rows(random, left, right)
    sample = random.sample(names, min(len(names), 2))
    query = f"SELECT DISTINCT {', '.join(map(quoted, sample))} {_HERE}"
    return query, query, {name: right.columns[name] for name in sample}


def _aggregates(random: Random, right: Relation, keys: Sequence[str]) -> tuple[str, str, dict[str, str]]:
    unique = () if right.is_updating else right.unique
    aggregates = [random_aggregate(random, right.plain, unique) for _ in range(random.randint(1, 3))]
    named = dict(zip(new_names("a", keys), aggregates, strict=False))
    engine_sql = ", ".join(f"{aggregate.engine_sql} AS {name}" for name, aggregate in named.items())
    oracle_sql = ", ".join(f"{aggregate.oracle_sql} AS {name}" for name, aggregate in named.items())
    return engine_sql, oracle_sql, {name: aggregate.kind for name, aggregate in named.items()}
