"""Relations whose rows change: aggregates without a window, distinct rows, joins of all there ever was."""

from __future__ import annotations

from dataclasses import replace

from tests.fuzz.aggregates import random_aggregate
from tests.fuzz.queries import NO_TIME, Builder, Relation, new_names, pairs_of, quoted, random_keys


def grouped(builder: Builder, source: Relation) -> Relation:
    """An aggregation without a window; without keys there is a row only when there is one to count."""
    random = builder.random
    keys = random_keys(random, source)
    unique = () if source.is_updating else source.unique
    aggregates = [random_aggregate(random, source.plain, unique) for _ in range(random.randint(1, 5))]
    named = dict(zip(new_names("a", keys), aggregates, strict=False))
    columns = {key: source.columns[key] for key in keys} | {name: aggregate.kind for name, aggregate in named.items()}
    listed = "".join(f"{quoted(key)}, " for key in keys)
    by = f" GROUP BY {', '.join(map(quoted, keys))}" if keys else ""
    having = next((aggregate for aggregate in named.values() if aggregate.kind == "i" and random.random() < 0.3), None)
    engine_sql = ", ".join(f"{aggregate.engine_sql} AS {name}" for name, aggregate in named.items())
    oracle_sql = ", ".join(f"{aggregate.oracle_sql} AS {name}" for name, aggregate in named.items())
    more = "" if having is None else f" AND {having.oracle_sql} > 0"
    return source.then(
        builder.name(),
        f"SELECT {listed}{engine_sql} FROM {source.name}{by}"
        + ("" if having is None else f" HAVING {having.engine_sql} > 0"),
        f"SELECT {listed}{oracle_sql}, {NO_TIME} FROM {source.name}{by} HAVING count(*) > 0{more}",
        columns,
        unique=tuple(keys),
        is_updating=True,
    )


def distinct(builder: Builder, source: Relation) -> Relation:
    """Some columns, each combination once."""
    names = [name for name in source.plain if name != "id"]
    if not names:
        return source
    sample = builder.random.sample(names, min(len(names), 2))
    listed = ", ".join(map(quoted, sample))
    return source.then(
        builder.name(),
        f"SELECT DISTINCT {listed} FROM {source.name}",
        f"SELECT {listed}, {NO_TIME} FROM (SELECT DISTINCT {listed} FROM {source.name})",
        {name: source.columns[name] for name in sample},
        unique=tuple(sample),
        is_updating=True,
    )


def measured(builder: Builder, left: Relation, right: Relation) -> Relation:
    """Groups, measured by values of other rows: of those that match them, or of all."""
    random, pairs = builder.random, pairs_of(left, right)
    if not pairs:
        return left
    left_name, right_name = random.choice(pairs)
    match = f"WHERE r.{quoted(right_name)} = l.{quoted(left_name)}"
    value, kind = random.choice(list(right.plain.items()))
    where, edge = random.choice([match, ""]), random.choice(["min", "max"])
    beyond = f"count(*) {random.choice(['>', '<='])} (SELECT count(*) FROM {right.name} r {random.choice([match, ''])})"
    most = f"(SELECT {edge}(r.{quoted(value)}) FROM {right.name} r {where})"
    select = f"SELECT l.{quoted(left_name)}, count(*) AS m0, {most} AS m1"
    grouped = f"FROM {left.name} l GROUP BY l.{quoted(left_name)} HAVING {beyond}"
    columns = {left_name: left.columns[left_name], "m0": "i", "m1": kind}
    both = Relation(
        (*left.engine_sql, *right.engine_sql), (*left.oracle_sql, *right.oracle_sql), "", columns, unique=(left_name,)
    )
    return both.then(builder.name(), f"{select} {grouped}", f"{select}, {NO_TIME} {grouped}", columns, is_updating=True)


def joined(builder: Builder, left: Relation, right: Relation) -> Relation:
    """All pairs that ever meet."""
    random, pairs = builder.random, pairs_of(left, right)
    if not pairs:
        return left
    kind = random.choice(["inner", "left", "right", "full"])
    left_name, right_name = random.choice(pairs)
    on = f"l.{quoted(left_name)} = r.{quoted(right_name)}"
    # with decimals of different types no outer join compares but by equality
    unequal = [pair for pair in pairs if left.plain[pair[0]] != "n"]
    if unequal and random.random() < 0.3:
        left_name, right_name = random.choice(unequal)
        on += f" AND (l.{quoted(left_name)} < r.{quoted(right_name)})"
    sides = {"l": left, "r": right}
    columns = {f"{side}_{name}": of for side, relation in sides.items() for name, of in relation.columns.items()}
    listed = ", ".join(
        f"{side}.{quoted(name)} AS {side}_{name}" for side, relation in sides.items() for name in relation.columns
    )
    joining = f"FROM {left.name} l {kind} JOIN {right.name} r ON {on}"
    both = Relation((*left.engine_sql, *right.engine_sql), (*left.oracle_sql, *right.oracle_sql), "", columns)
    updating = kind != "inner" or left.is_updating or right.is_updating
    result = both.then(builder.name(), f"SELECT {listed} {joining}", f"SELECT {listed}, {NO_TIME} {joining}", columns)
    return replace(result, is_updating=updating)
