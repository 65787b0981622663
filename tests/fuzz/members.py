"""Rows that others have, or have not: IN, EXISTS, INTERSECT, EXCEPT."""

from __future__ import annotations

from random import Random

from tests.fuzz.expressions import condition
from tests.fuzz.queries import NO_TIME, Builder, Relation, pairs_of, quoted, random_window


def asked(builder: Builder, left: Relation, right: Relation) -> Relation:
    """The rows that the other relation has something for, or nothing."""
    pairs = pairs_of(left, right)
    if not pairs:
        return left
    test = _test(builder.random, left, right, builder.random.choice(pairs), "")
    return _filtered(builder, left, right, test, NO_TIME)


def asked_in_windows(builder: Builder) -> Relation:
    """The same of two aggregations of the same window."""
    random = builder.random
    window = random_window(random, sessions=False)
    left, right = (builder.windowed(builder.base(), window) for _ in range(2))
    pairs = pairs_of(left, right)
    if not pairs:
        return left
    pair, same = random.choice(pairs), "r.w = l.w AND "
    return _filtered(builder, left, right, _test(random, left, right, pair, same), 'l."_at", l."_wm"')


def _filtered(builder: Builder, left: Relation, right: Relation, test: str, hidden: str) -> Relation:
    listed = ", ".join(f"l.{quoted(name)}" for name in left.columns)
    clause = f"FROM {left.name} l WHERE {test}"
    both = Relation(
        (*left.engine_sql, *right.engine_sql), (*left.oracle_sql, *right.oracle_sql), "", left.columns, left.window
    )
    return both.then(
        builder.name(),
        f"SELECT {listed} {clause}",
        f"SELECT {listed}, {hidden} {clause}",
        left.columns,
        unique=left.unique,
        is_updating=left.window is None,
    )


def _test(random: Random, left: Relation, right: Relation, pair: tuple[str, str], same: str) -> str:
    left_name, right_name = (quoted(name) for name in pair)
    residual = f"({condition(random, right.plain)})" if right.plain and random.random() < 0.4 else "true"
    beyond = [pair for pair in pairs_of(left, right) if left.plain[pair[0]] != "n"]
    less = residual
    if beyond and random.random() < 0.4:
        low, high = random.choice(beyond)
        less = f"l.{quoted(low)} < r.{quoted(high)} AND {residual}"
    rows = f"FROM {right.name} r WHERE {same}"
    return random.choice(
        [
            f"l.{left_name} IN (SELECT r.{right_name} {rows}{residual})",
            f"l.{left_name} NOT IN (SELECT r.{right_name} {rows}{residual})",
            f"l.{left_name} = ANY (SELECT r.{right_name} {rows}{less})",
            f"EXISTS (SELECT 1 {rows}r.{right_name} = l.{left_name} AND {less})",
            f"NOT EXISTS (SELECT 1 {rows}r.{right_name} = l.{left_name} AND {less})",
        ]
    )


def compared(builder: Builder, left: Relation, right: Relation) -> Relation:
    """The rows that both have, or those that the second has not."""
    random = builder.random
    pairs = [pair for pair in pairs_of(left, right) if left.plain[pair[0]] != "n"]
    if not pairs:
        return left
    chosen = random.sample(pairs, min(len(pairs), random.choice([1, 2])))
    names = list(dict.fromkeys(left_name for left_name, _ in chosen))
    right_names = [next(right_name for left_name, right_name in chosen if left_name == name) for name in names]
    word = random.choice(["INTERSECT", "EXCEPT"])
    first, second = (", ".join(map(quoted, some)) for some in (names, right_names))
    query = f"SELECT {first} FROM {left.name} {word} SELECT {second} FROM {right.name}"
    columns = {name: left.columns[name] for name in names}
    both = Relation((*left.engine_sql, *right.engine_sql), (*left.oracle_sql, *right.oracle_sql), "", columns)
    oracle_sql = f"SELECT {first}, {NO_TIME} FROM ({query})"
    return both.then(builder.name(), query, oracle_sql, columns, unique=tuple(names), is_updating=True)
