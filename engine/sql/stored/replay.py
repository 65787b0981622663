"""A script that reads dead letters again.

The table rejected holds records that orders (id BIGINT NOT NULL, name TEXT) could not read:

    CREATE TABLE "rejected" ("source" TEXT, "record" TEXT) WITH ('connector' = 'filesystem', 'type' = 'source', ...);
    SELECT TRY_CAST("record" ->> 'id' AS BIGINT) AS "id", "record" ->> 'name' AS "name", "record"
    FROM "rejected" WHERE "source" = 'orders';

What cannot be read is NULL there. Whoever has mended it inserts the rows where those of orders go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from engine import types
from engine.connectors.base import Table
from engine.sql.stored.spelling import spell_name, spell_table

_PLAIN = (types.Boolean, types.Integer, types.Float, types.Decimal, types.Timestamp, types.Date)


def replay_script(letters: Table, place: Path, sources: Sequence[Table]) -> str | None:
    """The script for the records of sources of JSON; None where a table of dead letters does not have what it takes."""
    columns = {field.name: field.type for field in letters.schema}
    if columns.get("record") != types.TEXT or letters.format is None:
        return None
    readable = [table for table in sources if table.format is not None and table.format.format == "json"]
    if not readable or (len(readable) > 1 and "source" not in columns):
        return None
    listed = ", ".join(f"{spell_name(name)} {kind}" for name, kind in columns.items())
    options = {"type": "source", "path": str(place), "format": letters.format.format}
    head = "-- Records that could not be read, once more: mend the expressions, then insert the rows where they belong."
    declared = spell_table(letters.name, letters.connector, listed, options)
    has_source = "source" in columns
    return "\n".join([head, declared, *(_select(letters, table, has_source) for table in readable)]) + "\n"


def _select(letters: Table, table: Table, has_source: bool) -> str:
    items = ",\n  ".join([*_items(table), spell_name("record")])
    name = table.name.replace("'", "''")
    where = f" WHERE {spell_name('source')} = '{name}'" if has_source else ""
    return f"\n-- of {' '.join(table.name.split())}\nSELECT {items}\nFROM {spell_name(letters.name)}{where};"


def _items(table: Table) -> Iterator[str]:
    for field in table.schema:
        key = field.name.replace("'", "''")
        text = f"{spell_name('record')} ->> '{key}'"
        value = f"TRY_CAST({text} AS {field.type})" if isinstance(field.type, _PLAIN) else text
        yield f"{value} AS {spell_name(field.name)}"
