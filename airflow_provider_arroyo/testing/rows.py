"""Convert test rows between Python values and files of JSON objects.

    {"at": datetime(2026, 1, 1, 0, 10, tzinfo=UTC), "amount": Decimal("1.50")}     in Python
    {"at": "2026-01-01T00:10:00+00:00", "amount": "1.50"}                          in the file

Results have the types of the columns: an aware datetime for TIMESTAMP, a date, a Decimal, bytes. Values in structs and
arrays stay as in JSON.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from airflow_provider_arroyo.errors import TrialError

Row = Mapping[str, Any]


class Tables(Mapping[str, list[dict[str, Any]]]):
    """Rows of each written table, by name; bare SELECTs are `select_1`, and so on."""

    def __init__(self, rows: Mapping[str, list[dict[str, Any]]]) -> None:
        self._rows = dict(rows)

    def __getitem__(self, name: str) -> list[dict[str, Any]]:
        if name not in self._rows:
            raise TrialError(
                f"the script writes no table {name!r}", code="trial.unknown_table", hint=f"It writes {_listed(self)}."
            )
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __repr__(self) -> str:
        return f"Tables({self._rows!r})"


def to_lines(table: str, rows: Sequence[Row], moment: datetime) -> str:
    """The rows as a file has them. What has no time of its own is of this moment, as in a topic."""
    lines = []
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping):
            raise TrialError(
                f"row {number} of table {table!r} is a {type(row).__name__}, not a mapping of columns to values",
                code="trial.bad_rows",
                hint="Write a row as {'column': value}.",
            )
        try:
            lines.append(json.dumps({"__event_time": moment, **row}, default=_as_json, allow_nan=False))
        except (TypeError, ValueError) as error:
            message = f"row {number} of table {table!r} cannot be written: {error}"
            raise TrialError(message, code="trial.bad_rows", hint="Give it the values of JSON, or times.") from error
    return "".join(f"{line}\n" for line in lines)


def from_lines(text: str, types: Mapping[str, str], *, are_changes: bool) -> list[dict[str, Any]]:
    """The rows of a file. Of changes those that are there in the end."""
    records = [json.loads(line, parse_float=_Number) for line in text.splitlines()]
    rows = _folded(records) if are_changes else records
    return [{name: _as_python(value, types.get(name, "")) for name, value in row.items()} for row in rows]


class _Number(str):
    """A number literal; only the column type says whether it is a Decimal."""

    __slots__ = ()


def _folded(changes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for change in changes:
        if change["before"] is not None:
            rows.remove(change["before"])
        if change["after"] is not None:
            rows.append(change["after"])
    return rows


def _as_json(value: object) -> str:
    match value:
        case datetime():
            if value.tzinfo is None:
                raise TypeError(f"{value!r} has no zone; give it tzinfo=UTC")
            return value.astimezone(UTC).isoformat()
        case date() | time():
            return value.isoformat()
        case Decimal():
            return str(value)
        case bytes():
            return base64.b64encode(value).decode()
        case _:
            raise TypeError(f"a {type(value).__name__} is no value of a column")


def _as_python(value: Any, kind: str) -> Any:
    match value, kind.partition("(")[0]:
        case None, _:
            return None
        case str(), "TIMESTAMP":
            instant = datetime.fromisoformat(value)
            return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
        case str(), "DATE":
            return date.fromisoformat(value)
        case str(), "BYTEA":
            return base64.b64decode(value)
        case int() | str(), "DECIMAL":
            return Decimal(str(value))
        case _:
            return _plain(value)


def _plain(value: Any) -> Any:
    match value:
        case _Number():
            return float(value)
        case list():
            return [_plain(part) for part in value]
        case dict():
            return {name: _plain(part) for name, part in value.items()}
        case _:
            return value


def _listed(tables: Mapping[str, object]) -> str:
    return ", ".join(sorted(tables)) or "none"
