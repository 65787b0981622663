"""Streams in which one column has other values, so that it shows what depends on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from tests.fuzz.data import COLUMNS, Stream, watermarks_of
from tests.fuzz.oracle import Row, difference
from tests.fuzz.queries import Relation


def with_column_changed(stream: Stream, column: str) -> Stream:
    """The stream with another value of the column in every row: equal values stay equal, in changes too."""
    change = _OTHERS[COLUMNS[column]]

    def changed(row: Mapping[str, object]) -> dict[str, object]:
        if stream.is_changes:
            return {name: other_row(value) if isinstance(value, dict) else value for name, value in row.items()}
        return other_row(row)

    def other_row(row: Mapping[str, object]) -> dict[str, object]:
        return {**row, column: change(row[column])}

    steps = tuple({part: [changed(row) for row in rows] for part, rows in step.items()} for step in stream.steps)
    if stream.is_changes or column != "ts":
        return replace(stream, steps=steps)
    return replace(stream, steps=steps, watermarks=tuple(watermarks_of(steps, stream.delay)))


def _other_text(value: object) -> object:
    return "b" if value is None else f"{value}z"


def _other_number(value: object) -> object:
    return 2 if value is None else value + 3 if isinstance(value, int | float) else value


def _other_time(value: object) -> object:
    at = datetime.fromisoformat(str(value))
    return (at + timedelta(seconds=97 + at.second)).isoformat().replace("+00:00", "Z")


def _other_struct(value: object) -> object:
    if not isinstance(value, Mapping):
        return {"a": 1, "n": 0.5, "t": "x"}
    return {"a": _other_number(value["a"]), "n": _other_number(value["n"]), "t": _other_text(value["t"])}


_OTHERS: Mapping[str, Callable[[object], object]] = {
    "i": _other_number,
    "d": _other_number,
    "n": _other_number,
    "t": _other_text,
    "b": lambda value: value is not True,
    "ts": _other_time,
    "[i]": lambda value: [7] if value is None else [*value, 1] if isinstance(value, list) else value,
    "st": _other_struct,
    "j": lambda value: {"i": 4} if value is None else {**value, "i": 8, "t": "q"} if isinstance(value, dict) else value,
}


def columns_that_differ(query: Relation, before: Sequence[Row], after: Sequence[Row]) -> set[str]:
    """The columns, looked at one by one, that have other values."""
    return {
        name
        for place, name in enumerate(query.columns)
        if difference([(row[place],) for row in before], [(row[place],) for row in after])
    }
