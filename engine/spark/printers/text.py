"""Functions of text in Spark SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.plan.expressions.expr import Call, Literal
from engine.spark.printers import Form, Printer
from engine.spark.printers.literals import text_to_sql

_WORDS = text_to_sql(r"(?U)\p{Alnum}+|[^\p{Alnum}]+")
_CAPITAL = "word -> concat(upper(left(word, 1)), lower(substring(word, 2)))"


def _substr(_: Call, arguments: Sequence[str]) -> str:
    """Return the substring. Spark counts from the end for a start below one. Sums are used and not `greatest`, because
    that skips NULL."""
    text, start = arguments[:2]
    first = f"CAST({start} + greatest(1L - {start}, 0L) AS INT)"
    if len(arguments) == 2:
        return f"substring({text}, {first})"
    return f"substring({text}, {first}, CAST({arguments[2]} + least({start} - 1L, 0L) AS INT))"


def _overlay(_: Call, arguments: Sequence[str]) -> str:
    text, new, start = arguments[:3]
    count = arguments[3] if len(arguments) == 4 else f"length({new})"
    # a position before the first would count from the end, with Spark
    before = f"substring({text}, 1, CAST({start} - 1L AS INT))"
    after = f"substring({text}, CAST({start} + {count} + greatest(1L - {start} - {count}, 0L) AS INT))"
    return f"concat({before}, {new}, {after})"


def _trimmed(where: str) -> Printer:
    def form(_: Call, arguments: Sequence[str]) -> str:
        characters = arguments[1] if len(arguments) == 2 else "' '"
        return f"trim({where} {characters} FROM {arguments[0]})"

    return form


def _padded(name: str) -> Printer:
    def form(_: Call, arguments: Sequence[str]) -> str:
        fill = arguments[2] if len(arguments) == 3 else "' '"
        return f"{name}({arguments[0]}, CAST({arguments[1]} AS INT), {fill})"

    return form


def _parse_url(call: Call, arguments: Sequence[str]) -> str:
    part = arguments[1].upper() if isinstance(call.arguments[1], Literal) else arguments[1]
    return f"try_parse_url({', '.join((arguments[0], part, *arguments[2:]))})"


TEXT: Mapping[str, Form] = {
    "parse_url": _parse_url,
    "url_decode": "try_url_decode({0})",
    "initcap": f"array_join(transform(regexp_extract_all({{0}}, {_WORDS}, 0), {_CAPITAL}), '')",
    "concat": lambda _, arguments: f"concat_ws('', {', '.join(arguments)})",
    "substr": _substr,
    "left": "substring({0}, 1, CAST(CASE WHEN {1} < 0 THEN length({0}) + {1} ELSE {1} END AS INT))",
    "right": "(CASE WHEN {1} < 0 THEN substring({0}, CAST(1 - {1} AS INT)) ELSE right({0}, CAST({1} AS INT)) END)",
    "btrim": _trimmed("BOTH"),
    "ltrim": _trimmed("LEADING"),
    "rtrim": _trimmed("TRAILING"),
    "lpad": _padded("lpad"),
    "rpad": _padded("rpad"),
    "repeat": "repeat({0}, CAST({1} AS INT))",
    "split_part": "split_part({0}, {1}, CAST({2} AS INT))",
    "starts_with": "startswith({0}, {1})",
    "ends_with": "endswith({0}, {1})",
    "strpos": "instr({0}, {1})",
    "chr": "decode(unhex(lpad(hex({0}), 8, '0')), 'UTF-32')",
    "overlay": _overlay,
    "substr_index": "substring_index({0}, {1}, CAST({2} AS INT))",
    "to_hex": "lower(hex({0}))",
}
