"""Generate the statement that declares a stored connection or table.

The table orders of kafka, its columns "id BIGINT", its options {"connection_profile": "shop", "topic": "it's"}:

    CREATE TABLE "orders" (id BIGINT) WITH ('connector' = 'kafka', 'connection_profile' = 'shop', 'topic' = 'it''s');
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

StoredValue: TypeAlias = "str | bool | int | float | Sequence[str]"
"""JSON value of an option."""


def spell_connection(name: str, connector: str, options: Mapping[str, StoredValue]) -> str:
    """Return the CREATE CONNECTION of a stored connection."""
    return f"CREATE CONNECTION {_quoted_name(name)} WITH ({_spell({'connector': connector, **options})});"


def spell_table(name: str, connector: str, columns: str, options: Mapping[str, StoredValue]) -> str:
    """Return the CREATE TABLE of a stored table; without columns it has those of its connector or of its first row."""
    listed = f" (\n{columns}\n)" if columns.strip() else ""
    return f"CREATE TABLE {_quoted_name(name)}{listed} WITH ({_spell({'connector': connector, **options})});"


def spell_name(name: str) -> str:
    """Return the SQL spelling of any name of a column or a table."""
    return _quoted_name(name)


def _spell(options: Mapping[str, StoredValue]) -> str:
    return ", ".join(f"{_quoted(name)} = {_value(value)}" for name, value in options.items())


def _value(value: StoredValue) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return _quoted(value)
    return f"[{', '.join(map(_quoted, value))}]"


def _quoted(text: str) -> str:
    escaped = text.replace("'", "''")
    return f"'{escaped}'"


def _quoted_name(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'
