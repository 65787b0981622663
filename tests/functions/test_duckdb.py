"""The case tables hold what DuckDB says too, for the functions that mean the same there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime

import duckdb

from engine.functions import find_function
from engine.plan.expressions.expr import Literal
from tests.functions.cases import CASES

SAME = {
    *("abs", "ceil", "ceiling", "floor", "round", "sqrt", "cbrt", "exp", "ln", "log10", "log2", "power", "pow", "sign"),
    *("radians", "degrees", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "pi", "isnan"),
    *("cot", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "factorial", "gcd", "lcm", "levenshtein"),
    *("coalesce", "ifnull", "nullif", "greatest", "least"),
    *("upper", "lower", "length", "bit_length", "concat", "concat_ws", "substr", "substring", "left", "right"),
    *("trim", "ltrim", "rtrim", "lpad", "rpad", "replace", "reverse", "repeat", "split_part", "starts_with"),
    *("ends_with", "contains", "strpos", "instr", "ascii", "chr", "md5", "translate"),
    *("regexp_replace", "date_trunc", "datetrunc", "date_part", "datepart", "epoch", "make_date"),
    *("array_extract", "list_element", "list_extract", "array_slice", "list_slice", "array_append", "array_push_back"),
    *("array_prepend", "array_concat", "list_concat", "list_cat", "array_pop_front", "array_pop_back", "array_resize"),
    *("list_resize", "array_has", "array_contains", "list_has", "array_has_all", "array_has_any", "list_has_any"),
    *("array_position", "list_position", "list_indexof", "array_reverse", "array_intersect", "flatten", "array_length"),
}
SPELT = {
    **{name: f"? {name} ?" for name in ("+", "-", "*", "%", "=", "<>", "<", "<=", ">", ">=", "||")},
    **{name: f"? {name.replace('_', ' ').upper()} ?" for name in ("like", "not_like", "ilike", "not_ilike")},
    "and": "? AND ?",
    "or": "? OR ?",
    "not": "NOT ?",
    "between": "? BETWEEN ? AND ?",
    "is_distinct_from": "? IS DISTINCT FROM ?",
    "is_not_distinct_from": "? IS NOT DISTINCT FROM ?",
    "/": "? // ?",
    **{operator: f"? {operator} ?" for operator in ("&", "|", "<<", ">>")},
    "#": "xor(?, ?)",
    "negate": "- ?",
    **{f"is_{state}": f"? IS {state.replace('_', ' ').upper()}" for state in ("null", "not_null", "true", "false")},
    **{f"is_not_{state}": f"? IS NOT {state.upper()}" for state in ("true", "false")},
    "in": "? IN (?, ?)",
    "sha256": "unhex(sha256(?))",
    "to_hex": "lower(to_hex(?))",
    "to_date": "CAST(? AS DATE)",
    "to_timestamp": "strptime(?, ?)",
    "to_char": "strftime(?, ?)",
    "date_bin": "time_bucket(?, ?, TIMESTAMPTZ '1970-01-01 00:00:00Z')",
    "regexp_like": "regexp_matches(?, ?)",
    "~": "regexp_matches(?, ?)",
}
OTHERWISE = {
    "substr": "counts positions below one from the end",
    "concat": "spells fractions and instants in its own way",
    "like": "has no escape unless told so",
    "~": "knows ASCII letters only",
    "regexp_like": "knows ASCII digits only",
    "levenshtein": "counts bytes",
    "to_char": "knows no letters of Postgres",
    "regexp_replace": "takes only backslashes for groups",
}
"""Where DuckDB gives something else, and why we do not follow it."""


ELSEWHERE = {"json", "array", "struct"}
"""Families whose values were compared with Arroyo's own functions, of which DuckDB has only some."""


def _comparable() -> Iterator[tuple[str, tuple[object, ...], object]]:
    for name, arguments, expected in CASES:
        plain = not any(map(_is_typed, arguments))
        fits = SPELT[name].count("?") == len(arguments) if name in SPELT else name in SAME
        if plain and fits:
            yield name, arguments, expected


def _is_typed(value: object) -> bool:
    return isinstance(value, Literal) or (isinstance(value, list) and any(map(_is_typed, value)))


def test_duckdb_agrees_but_for_what_is_said_here() -> None:
    different: dict[str, list[str]] = {}
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        for name, arguments, expected in _comparable():
            call = SPELT.get(name) or f"{name}({', '.join('?' * len(arguments))})"
            try:
                row = database.execute(f"SELECT {call}", list(arguments)).fetchone()
            except duckdb.Error:
                continue  # it refuses what we allow, which is no disagreement about a value
            if row is None or not _agree(row[0], expected):
                different.setdefault(name, []).append(f"{name}{arguments} gave {row}, not {expected!r}")

    assert {name: values for name, values in different.items() if name not in OTHERWISE} == {}
    assert set(different) == set(OTHERWISE)


def test_most_cases_are_compared() -> None:
    compared = [name for name, _, _ in CASES if _family(name) not in ELSEWHERE]

    assert sum(_family(name) not in ELSEWHERE for name, _, _ in _comparable()) > len(compared) / 2


def _family(name: str) -> str:
    function = find_function(name)
    assert function is not None
    return function.family


def _agree(value: object, expected: object) -> bool:
    if isinstance(value, float) and isinstance(expected, float):
        return (math.isnan(value) and math.isnan(expected)) or math.isclose(value, expected, rel_tol=1e-14)
    return _naive(value) == _naive(expected)


def _naive(value: object) -> object:
    return value.astimezone(UTC).replace(tzinfo=None) if isinstance(value, datetime) and value.tzinfo else value
