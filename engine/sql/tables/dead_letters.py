"""Sinks that take what a source cannot decode and what a sink cannot write: an option names them, and no query writes
them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from difflib import get_close_matches

from engine.connectors.base import Table
from engine.connectors.dead_letters import DEAD_LETTER_COLUMNS
from engine.errors import OptionValueError
from engine.sql.catalog import Catalog, SinkTable, SourceTable
from engine.sql.complaints import Complaints
from engine.sql.tables.sinks import with_columns


def with_dead_letter_tables(catalog: Catalog, written: Mapping[str, Table], complaints: Complaints) -> dict[str, Table]:
    """The tables that are read and written, and the sinks that they name for their dead letters; what is wrong with
    those goes to the complaints."""
    used = {**catalog.read_tables, **written}
    tables = dict(used)
    for _, entry in catalog.entries.values():
        if isinstance(entry, SourceTable | SinkTable) and entry.table.dead_letter_table is not None:
            with complaints.collect(entry.dead_letters_at):
                table = _dead_letter_table(catalog, entry.table.dead_letter_table, written)
                if (named := used.get(entry.table.name)) is not None:
                    tables[table.name] = table
                    tables[named.name] = replace(named, dead_letter_table=table.name)
    return tables


def _dead_letter_table(catalog: Catalog, name: str, written: Collection[str]) -> Table:
    entry = catalog.find(name)
    if not isinstance(entry, SinkTable):
        raise OptionValueError(f"dead_letter.table {name!r} is not a sink", hint="declare it with type = 'sink'")
    if entry.table.dead_letter_table is not None:
        raise OptionValueError(
            f"{name} takes dead letters and cannot name a table for its own dead letters",
            hint="name a directory there, with dead_letter.path",
        )
    if entry.table.name in written:
        raise OptionValueError(
            f"{name} takes dead letters and cannot be the target of an INSERT as well",
            hint="give one of the two another table",
        )
    if entry.columns is None:
        raise OptionValueError(f"{name} takes dead letters and needs columns", hint=f"declare some of {_MENU}")
    for field in entry.columns:
        types = DEAD_LETTER_COLUMNS.get(field.name.lower())
        if types is None:
            near = get_close_matches(field.name.lower(), DEAD_LETTER_COLUMNS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {_MENU}"
            raise OptionValueError(f"{name} takes dead letters, which have no column {field.name!r}", hint=hint)
        if field.type not in types:
            listing = " or ".join(map(str, types))
            raise OptionValueError(f"column {field.name} of {name} must be {listing}, not {field.type}")
    return with_columns(entry.table, entry.columns)


_MENU = ", ".join(f"{name} {' or '.join(map(str, types))}" for name, types in DEAD_LETTER_COLUMNS.items())
