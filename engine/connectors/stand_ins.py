"""Replace the tables of a script by files with test rows, for tests of a script.

    folder = /test
    clicks     source, the topic clicks, Avro    /test/in/clicks.json, a JSON object per line
    hours      sink, a Delta table               /test/out/hours.json
    changes    source or sink of Debezium        the same files, with Debezium envelopes

Columns, event times and watermarks are those of the script, and so is the query. Metadata columns (such as a topic's
offsets) are read from the row like others. If the script declares no event time, it is read from `__event_time`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from engine import types
from engine.connectors import connector_of
from engine.connectors.base import Table
from engine.connectors.single_file.options import SingleFileOptions, SingleFileSinkOptions
from engine.errors import StandInError
from engine.formats import find_format
from engine.formats.base import FormatOptions
from engine.formats.debezium.format import DEBEZIUM_JSON
from engine.formats.json.options import JsonOptions
from engine.schema import Field, Schema


def stood_in(tables: Mapping[str, Table], folder: Path) -> tuple[Mapping[str, Table], Collection[StandInError]]:
    """Return the tables of a test whose rows are in this folder, and an error for those that cannot be replaced."""
    folder = folder.absolute()
    complaints: list[StandInError] = []
    replaced: dict[str, Table] = {}
    for name, table in tables.items():
        try:
            replaced[name] = _stand_in(table, folder)
        except StandInError as error:
            complaints.append(error)
    return replaced, complaints


def unread(folder: Path, read: Collection[str]) -> Collection[StandInError]:
    """Return an error for each table for which the test has rows, and which the script does not read."""
    hint = f"it reads {', '.join(sorted(read)) or 'none'}"
    names = sorted(path.stem for path in (folder / "in").glob("*.json") if path.stem not in read)
    return [
        StandInError(f"the test has rows for table {name}, which the script does not read", hint=hint) for name in names
    ]


def prepare_outputs(tables: Collection[Table], folder: Path) -> None:
    """Write a file without rows for each sink, and one with the types of its columns."""
    sinks = [table for table in tables if table.direction == "sink"]
    (folder / "out").mkdir(parents=True, exist_ok=True)
    for table in sinks:
        (folder / "out" / f"{table.name}.json").touch()
    listed = {
        table.name: {
            "columns": {field.name: str(field.type) for field in table.schema},
            "are_changes": _carries_changes(table.format),
        }
        for table in sinks
    }
    (folder / "out" / "tables.json").write_text(json.dumps(listed))


def _stand_in(table: Table, folder: Path) -> Table:
    match table.direction:
        case "source":
            return _source(table, folder / "in" / f"{table.name}.json")
        case "sink":
            options = SingleFileSinkOptions(path=folder / "out" / f"{table.name}.json")
            return _plain(replace(table, options=options), folder)
        case "lookup":
            raise StandInError(
                f"table {table.name} is looked up in a {table.connector}, and only sources and sinks have stand-ins",
                hint="declare a source of the same columns in the test, and join with that",
            )


def _source(table: Table, path: Path) -> Table:
    if not path.is_file():
        raise StandInError(
            f"table {table.name} is read, and the test has no rows for it", hint="an empty list of rows will do"
        )
    around = tuple(_filled(table, name, key) for name, key in table.metadata)
    schema = Schema((*table.schema, *around))
    return _plain(replace(table, options=SingleFileOptions(path=path), schema=schema, metadata=()), path.parents[1])


def _filled(table: Table, name: str, key: str) -> Field:
    """Return the column that a connector fills. The event time that it provides is not a declared column."""
    declared = connector_of(table).metadata.get(key)
    return Field(name, types.TIMESTAMP, nullable=False) if declared is None else replace(declared, name=name)


def _plain(table: Table, folder: Path) -> Table:
    letters = None if table.dead_letter_directory is None else folder / "dead_letters" / table.name
    return replace(
        table,
        connector="single_file",
        format=_format(table.format),
        framing=None,
        framing_max_length=None,
        dead_letter_directory=letters,
        start=None,
    )


def _format(options: FormatOptions | None) -> FormatOptions:
    return DEBEZIUM_JSON.options.model_validate({}) if _carries_changes(options) else JsonOptions()


def _carries_changes(options: FormatOptions | None) -> bool:
    return options is not None and find_format(options.format).carries_changes
