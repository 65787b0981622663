"""Random expressions over typed columns, which mean the same in both dialects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import TypeAlias

Columns: TypeAlias = Mapping[str, str]
"""The names of columns, and the letters of their types."""

_PATTERNS = ("'a%'", "'%b'", "'_'", "'%a_b%'", "'ab'")
_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")


def expression(random: Random, columns: Columns, kind: str, depth: int = 2) -> str:
    """An expression of that type."""
    plain = [name for name, column_kind in columns.items() if column_kind == kind]
    if depth <= 0 or random.random() < 0.25:
        return random.choice(plain) if plain and random.random() < 0.8 else literal(random, kind)

    def part(of: str) -> str:
        return expression(random, columns, of, depth - 1)

    return random.choice(_FORMS[kind])(random, part)


def condition(random: Random, columns: Columns) -> str:
    """Something that is true of some rows."""
    return expression(random, columns, "b", 2)


def literal(random: Random, kind: str) -> str:
    """A constant of that type."""
    match kind:
        case "i":
            return str(random.randint(-3, 9))
        case "d":
            return f"{random.randint(-12, 20) / 4}"
        case "t":
            return random.choice(["''", "'a'", "'b'", "'ab'", "'ä'"])
        case "b":
            return random.choice(["true", "false"])
        case "n":
            return f"CAST({random.randint(-30, 50) / 10} AS DECIMAL(6, 1))"
        case "j":
            return """'{"i": 7, "t": "b", "l": [1]}'"""
    return "CAST('2024-01-01 00:20:00' AS TIMESTAMP)"


Part: TypeAlias = Callable[[str], str]
Form: TypeAlias = Callable[[Random, Part], str]


def _shared(kind: str) -> tuple[Form, ...]:
    return (
        lambda _, part: f"coalesce({part(kind)}, {part(kind)})",
        lambda _, part: f"nullif({part(kind)}, {part(kind)})",
        lambda _, part: f"CASE WHEN {part('b')} THEN {part(kind)} ELSE {part(kind)} END",
        lambda _, part: f"CASE WHEN {part('b')} THEN {part(kind)} END",
    )


def _between(random: Random, part: Part) -> str:
    kind = random.choice("idtn")
    return f"({part(kind)} {random.choice(['', 'NOT '])}BETWEEN {part(kind)} AND {part(kind)})"


def _compared(random: Random, part: Part) -> str:
    kind = random.choice(["i", "i", "d", "n", "t", "ts"])
    operator = random.choice([*_COMPARISONS, "IS DISTINCT FROM", "IS NOT DISTINCT FROM"])
    return f"({part(kind)} {operator} {part(kind)})"


def _among(random: Random, part: Part) -> str:
    return f"({part('i')} {random.choice(['', 'NOT '])}IN ({part('i')}, {random.randint(0, 3)}, 5))"


_FORMS: Mapping[str, tuple[Form, ...]] = {
    "i": (
        *_shared("i"),
        lambda random, part: f"({part('i')} {random.choice('+-*')} {part('i')})",
        lambda random, part: f"({part('i')} % {random.choice([2, 3, -4])})",
        lambda random, part: f"({part('i')} / {random.choice([2, 3, -4])})",
        lambda _, part: f"abs({part('i')})",
        lambda _, part: f"(- {part('i')})",
        lambda _, part: f"char_length({part('t')})",
        lambda _, part: f"strpos({part('t')}, 'b')",
        lambda _, part: f"CAST({part('b')} AS BIGINT)",
        lambda _, part: f"CAST(floor({part('n')}) AS BIGINT)",
        lambda _, part: f"json_get_int({part('j')}, 'i')",
        lambda _, part: f"json_length({part('j')}, 'l')",
        lambda _, part: f"own_next({part('i')})",
        lambda _, part: f"CAST(extract(second FROM {part('ts')}) AS BIGINT)",
    ),
    "d": (
        *_shared("d"),
        lambda random, part: f"({part('d')} {random.choice('+-*')} {part('d')})",
        lambda random, part: f"({part('i')} {random.choice('+-')} {part('d')})",
        lambda random, part: f"{random.choice(['floor', 'ceil', 'abs', 'round'])}({part('d')})",
        lambda _, part: f"sqrt(abs({part('d')}))",
        lambda _, part: f"CAST({part('i')} AS DOUBLE)",
        lambda _, part: f"({part('d')} / 4.0)",
        lambda _, part: f"CAST({part('n')} AS DOUBLE)",
        lambda random, part: f"({part('n')} {random.choice('+-')} {part('d')})",
        lambda _, part: f"json_get_float({part('j')}, 'f')",
    ),
    "n": (
        *_shared("n"),
        lambda random, part: f"({part('n')} {random.choice('+-')} {part('n')})",
        lambda random, part: f"({part('n')} {random.choice('+-')} {part('i')})",
        lambda random, part: f"({part('n')} * {random.randint(-3, 3)})",
        lambda _, part: f"({part('n')} * CAST(1.5 AS DECIMAL(2, 1)))",
        lambda _, part: f"({part('n')} % CAST(0.75 AS DECIMAL(3, 2)))",
        lambda random, part: f"{random.choice(['floor', 'ceil', 'abs', 'round', '-'])}({part('n')})",
        lambda _, part: f"CAST({part('n')} AS DECIMAL(20, 1))",
    ),
    "j": (*_shared("j")[:1], *_shared("j")[2:]),
    "t": (
        *_shared("t"),
        lambda random, part: f"{random.choice(['upper', 'lower', 'reverse', 'trim'])}({part('t')})",
        lambda _, part: f"({part('t')} || {part('t')})",
        lambda _, part: f"concat({part('t')}, {part('t')})",
        lambda random, part: f"substr({part('t')}, {random.randint(1, 3)})",
        lambda random, part: f"substr({part('t')}, {random.randint(1, 2)}, {random.randint(0, 2)})",
        lambda _, part: f"replace({part('t')}, 'a', 'cc')",
        lambda random, part: f"{random.choice(['left', 'right'])}({part('t')}, {random.randint(0, 2)})",
        lambda _, part: f"lpad({part('t')}, 3, '-')",
        lambda _, part: f"CAST({part('i')} AS TEXT)",
        lambda _, part: f"split_part({part('t')}, 'a', 1)",
        lambda _, part: f"CAST(CAST({part('n')} AS DECIMAL(20, 1)) AS TEXT)",
        lambda _, part: f"json_get_str({part('j')}, 't')",
        lambda _, part: f"({part('j')} ->> 't')",
        lambda _, part: f"own_either({part('t')}, {part('t')})",
        lambda _, part: f"(({part('j')} -> 'o') ->> 't')",
        lambda _, part: f"extract_json_string({part('j')}, '$.t')",
    ),
    "b": (
        _compared,
        _compared,
        _compared,
        _between,
        _among,
        lambda random, part: f"({part(random.choice('idntb'))} IS {random.choice(['', 'NOT '])}NULL)",
        lambda _, part: f"({part('b')} AND {part('b')})",
        lambda _, part: f"({part('b')} OR {part('b')})",
        lambda _, part: f"(NOT {part('b')})",
        lambda random, part: f"({part('t')} {random.choice(['', 'NOT '])}LIKE {random.choice(_PATTERNS)})",
        lambda random, part: f"({part('b')} IS {random.choice(['TRUE', 'FALSE'])})",
        lambda _, part: f"starts_with({part('t')}, 'a')",
        lambda _, part: f"json_get_bool({part('j')}, 'b')",
        lambda random, part: f"json_contains({part('j')}, '{random.choice('io')}')",
    ),
    "ts": (
        *_shared("ts"),
        lambda random, part: f"date_trunc('{random.choice(['second', 'minute', 'hour'])}', {part('ts')})",
        lambda random, part: f"({part('ts')} {random.choice('+-')} INTERVAL '{random.randint(1, 90)} seconds')",
    ),
}
