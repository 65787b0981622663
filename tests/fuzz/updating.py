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
    columns = {key: source.columns[key] for key in keys} | {name: one.kind for name, one in named.items()}
    listed = "".join(f"{quoted(key)}, " for key in keys)
    by = f" GROUP BY {', '.join(map(quoted, keys))}" if keys else ""
    having = next((one for one in named.values() if one.kind == "i" and random.random() < 0.3), None)
    ours = ", ".join(f"{one.ours} AS {name}" for name, one in named.items())
    theirs = ", ".join(f"{one.theirs} AS {name}" for name, one in named.items())
    more = "" if having is None else f" AND {having.theirs} > 0"
    return source.then(
        builder.name(),
        f"SELECT {listed}{ours} FROM {source.name}{by}" + ("" if having is None else f" HAVING {having.ours} > 0"),
        f"SELECT {listed}{theirs}, {NO_TIME} FROM {source.name}{by} HAVING count(*) > 0{more}",
        columns,
        unique=tuple(keys),
        is_updating=True,
    )


def distinct(builder: Builder, source: Relation) -> Relation:
    """Some columns, each combination once."""
    names = [name for name in source.plain if name != "id"]
    if not names:
        return source
    kept = builder.random.sample(names, min(len(names), 2))
    listed = ", ".join(map(quoted, kept))
    return source.then(
        builder.name(),
        f"SELECT DISTINCT {listed} FROM {source.name}",
        f"SELECT {listed}, {NO_TIME} FROM (SELECT DISTINCT {listed} FROM {source.name})",
        {name: source.columns[name] for name in kept},
        unique=tuple(kept),
        is_updating=True,
    )


def measured(builder: Builder, left: Relation, right: Relation) -> Relation:
    """Groups, measured by values of other rows: of those that match them, or of all."""
    random, pairs = builder.random, pairs_of(left, right)
    if not pairs:
        return left
    one, other = random.choice(pairs)
    match = f"WHERE r.{quoted(other)} = l.{quoted(one)}"
    value, kind = random.choice(list(right.plain.items()))
    where, edge = random.choice([match, ""]), random.choice(["min", "max"])
    beyond = f"count(*) {random.choice(['>', '<='])} (SELECT count(*) FROM {right.name} r {random.choice([match, ''])})"
    most = f"(SELECT {edge}(r.{quoted(value)}) FROM {right.name} r {where})"
    asked = f"SELECT l.{quoted(one)}, count(*) AS m0, {most} AS m1"
    grouped = f"FROM {left.name} l GROUP BY l.{quoted(one)} HAVING {beyond}"
    columns = {one: left.columns[one], "m0": "i", "m1": kind}
    both = Relation((*left.ours, *right.ours), (*left.theirs, *right.theirs), "", columns, unique=(one,))
    return both.then(builder.name(), f"{asked} {grouped}", f"{asked}, {NO_TIME} {grouped}", columns, is_updating=True)


def joined(builder: Builder, left: Relation, right: Relation) -> Relation:
    """All pairs that ever meet."""
    random, pairs = builder.random, pairs_of(left, right)
    if not pairs:
        return left
    kind = random.choice(["inner", "left", "right", "full"])
    one, other = random.choice(pairs)
    on = f"l.{quoted(one)} = r.{quoted(other)}"
    # with decimals of different types no outer join compares but by equality
    unequal = [pair for pair in pairs if left.plain[pair[0]] != "n"]
    if unequal and random.random() < 0.3:
        one, other = random.choice(unequal)
        on += f" AND (l.{quoted(one)} < r.{quoted(other)})"
    sides = {"l": left, "r": right}
    columns = {f"{side}_{name}": of for side, relation in sides.items() for name, of in relation.columns.items()}
    listed = ", ".join(
        f"{side}.{quoted(name)} AS {side}_{name}" for side, relation in sides.items() for name in relation.columns
    )
    joining = f"FROM {left.name} l {kind} JOIN {right.name} r ON {on}"
    both = Relation((*left.ours, *right.ours), (*left.theirs, *right.theirs), "", columns)
    updating = kind != "inner" or left.is_updating or right.is_updating
    found = both.then(builder.name(), f"SELECT {listed} {joining}", f"SELECT {listed}, {NO_TIME} {joining}", columns)
    return replace(found, is_updating=updating)
