"""The batch answer of DuckDB, and how rows are compared."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal

import duckdb

from tests.fuzz import lookups
from tests.fuzz.data import TABLE, Stream
from tests.fuzz.expressions import Columns
from tests.fuzz.own import MACROS

Row = tuple[object, ...]
_COLUMNS = ", ".join(f"{name} {column.oracle_sql}" for name, column in TABLE.items())
_MACROS = (
    "json_get_int(j, k) AS CAST(j ->> k AS BIGINT)",
    "json_get_str(j, k) AS (j ->> k)",
    "json_get_float(j, k) AS CAST(j ->> k AS DOUBLE)",
    "json_get_bool(j, k) AS CAST(j ->> k AS BOOLEAN)",
    "json_length(j, k) AS CAST(json_array_length(json_extract(j, k)) AS BIGINT)",
    "json_contains(j, k) AS coalesce(json_exists(j, k), false)",
    "extract_json_string(j, k) AS (j ->> k)",
)
"""What the oracle has no function of that name for; JSON is only asked for members of the kind they have."""


class Oracle:
    """A database with the rows of the streams."""

    def __init__(self, streams: Sequence[Stream]) -> None:
        self._database = duckdb.connect(":memory:", config={"threads": 1})
        self._database.execute("SET integer_division = true; SET order_by_non_integer_literal = true")
        for macro in (*_MACROS, *MACROS):
            self._database.execute(f"CREATE MACRO {macro}")
        self._database.execute(lookups.THEIRS)
        self._database.executemany("INSERT INTO side VALUES (?, ?, ?)", lookups.ROWS)
        for stream in streams:
            self.take(stream)

    def take(self, stream: Stream) -> None:
        """Have the rows of a stream, in the place of those that it had."""
        self._database.execute(f'CREATE OR REPLACE TABLE {stream.name} ({_COLUMNS}, "_wm" TIMESTAMP)')
        rows = stream.rows()
        if rows:
            marks = f"({', '.join('?' * len(rows[0]))})"
            values = [value for row in rows for value in row]
            self._database.execute(f"INSERT INTO {stream.name} VALUES {', '.join([marks] * len(rows))}", values)

    def answer(self, query: str, columns: Columns) -> list[Row]:
        """The rows of the batch query, as they are compared."""
        return [comparable(row, columns) for row in self._database.execute(query).fetchall()]

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()


def comparable(row: Iterable[object], columns: Columns) -> Row:
    """A row with values that do not depend on who wrote them."""
    return tuple(_value(value, kind) for value, kind in zip(row, columns.values(), strict=True))


def _value(value: object, kind: str) -> object:
    match value:
        case None:
            return None
        case list():
            return tuple(_value(element, kind[1:-1]) for element in value)
        case dict() if kind == "j":
            return json.dumps(value, sort_keys=True)
        case str() if kind == "j":
            return json.dumps(json.loads(value), sort_keys=True)
        case dict() if kind == "st":
            return tuple(_value(value[name], of) for name, of in {"a": "i", "n": "n", "t": "t"}.items())
        case dict():
            return tuple(_value(value[name], "ts") for name in ("start", "end"))
        case datetime():
            return value.replace(tzinfo=None).isoformat()
        case int() if kind == "ts":  # change streams write milliseconds
            return datetime.fromtimestamp(value / 1000, UTC).replace(tzinfo=None).isoformat()
        case str() if kind == "ts":
            return datetime.fromisoformat(value).replace(tzinfo=None).isoformat()
        case int() | float() | Decimal() if kind == "d":
            return float(value) + 0.0
        case int() | float() | str() | Decimal() if kind == "n":
            return Decimal(str(value)).normalize() + 0
    return value


def difference(engine_rows: Sequence[Row], oracle_rows: Sequence[Row]) -> str:
    """What rows only one side has, or nothing; the last digits of floating point numbers do not count."""
    more, missing = Counter(map(_coarse, engine_rows)), Counter(map(_coarse, oracle_rows))
    extra, lost = list((more - missing).elements()), list((missing - more).elements())
    for row in list(extra):
        near = next((candidate for candidate in lost if _near(row, candidate)), None)
        if near is not None:
            extra.remove(row)
            lost.remove(near)
    if not extra and not lost:
        return ""
    lines = [f"  only ours:   {row}" for row in extra[:8]] + [f"  only theirs: {row}" for row in lost[:8]]
    return "\n".join([f"{len(extra)} and {len(lost)} rows differ of {len(engine_rows)} and {len(oracle_rows)}", *lines])


def _coarse(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(map(_coarse, value))
    return float(f"{value:.10g}") + 0.0 if isinstance(value, float) else value


def _near(first: object, second: object) -> bool:
    if isinstance(first, tuple) and isinstance(second, tuple):
        return len(first) == len(second) and all(map(_near, first, second))
    if isinstance(first, float) and isinstance(second, float):
        return math.isclose(first, second, rel_tol=1e-7, abs_tol=1e-7)
    return first == second
