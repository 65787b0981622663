"""Tables of what is stored for all pipelines: connections, tables and functions, and the pipelines that use them.

Find the pipelines that use a stored object.

The text of a version contains the statements that were prepended at its deployment, each after a comment line that
names the connection or table; the files of its functions likewise. There is no other record.

    -- stored table ct_5Yz0nq0bGmS2cXvW as it was at deployment
    CREATE TABLE "orders" ...
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from sqlalchemy import (
    Column,
    Connection,
    LargeBinary,
    RowMapping,
    Table,
    Text,
    and_,
    delete,
    insert,
    or_,
    select,
    type_coerce,
)
from sqlalchemy.exc import IntegrityError

from engine.errors import StoredExistsError, StoredNotFoundError
from engine.store.access.vault import Vault
from engine.store.columns import Instant
from engine.store.database import METADATA
from engine.store.pipelines.pipelines import PIPELINES
from engine.store.pipelines.previews import PREVIEWS
from engine.store.pipelines.versions import VERSIONS

FUNCTIONS = Table(
    "stored_functions",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("prefix", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("names", Text, nullable=False),
    Column("definition", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("created_by", Text, nullable=False),
)


@dataclass(frozen=True, slots=True)
class StoredFunction:
    """A file of functions, `names`; the first of them is its name."""

    id: str
    prefix: str
    names: tuple[str, ...]
    definition: str
    description: str
    created_at: datetime
    created_by: str

    @property
    def name(self) -> str:
        """Return the name of the function."""
        return self.names[0]


def add(connection: Connection, function: StoredFunction) -> None:
    """Store a file of functions; raise if one of its names is taken."""
    taken = {name.lower() for kept in read(connection) for name in kept.names}
    for name in function.names:
        if name.lower() in taken:
            raise _taken(name)
    values = {field: getattr(function, field) for field in StoredFunction.__dataclass_fields__}
    names = json.dumps(function.names)
    try:
        connection.execute(insert(FUNCTIONS).values(**{**values, "names": names}, name=function.name.lower()))
    except IntegrityError as error:
        raise _taken(function.name) from error


def read(connection: Connection) -> Sequence[StoredFunction]:
    """Return all stored files of functions, by name."""
    rows = connection.execute(select(FUNCTIONS).order_by(FUNCTIONS.c.name)).mappings()
    return [
        StoredFunction(
            row["id"],
            row["prefix"],
            tuple(json.loads(row["names"])),
            row["definition"],
            row["description"],
            row["created_at"],
            row["created_by"],
        )
        for row in rows
    ]


def find(connection: Connection, id_or_name: str) -> StoredFunction:
    """Return the file of that id, or with a function of that name; raise if there is none."""
    for function in read(connection):
        if function.id == id_or_name or id_or_name in function.names:
            return function
    raise StoredNotFoundError(f"there is no function {id_or_name!r}", hint="GET /udfs lists them")


def remove(connection: Connection, function: StoredFunction) -> None:
    """Delete a file of functions."""
    connection.execute(delete(FUNCTIONS).where(FUNCTIONS.c.id == function.id))


def _taken(name: str) -> StoredExistsError:
    return StoredExistsError(f"there is a function {name!r} already", hint="take another name, or delete it first")


_MARK = re.compile(r"^(?:--|#) stored (?:connection|table|function) ((?:cp|ct|udf)_[A-Za-z0-9]{16}) ", re.MULTILINE)


def mark(kind: Literal["connection", "table", "function"], stored_id: str) -> str:
    """Return the line that marks a stored object in a version's text."""
    return f"{'#' if kind == 'function' else '--'} stored {kind} {stored_id} as it was at deployment\n"


def is_marked(text: str) -> bool:
    """Whether a file of functions is marked in the text."""
    return text.startswith("# stored function ") and _MARK.match(text) is not None


def users(connection: Connection) -> Mapping[str, Sequence[str]]:
    """Return the users of each stored object, by its id: "pipeline" or "table" and a name, in order. Previews do not
    count."""
    current = and_(VERSIONS.c.pipeline_id == PIPELINES.c.id, VERSIONS.c.number == PIPELINES.c.version)
    udfs = type_coerce(VERSIONS.c.udfs, Text)
    marked = or_(VERSIONS.c.query.contains("-- stored "), udfs.contains("# stored function "))
    previewed = select(PREVIEWS.c.pipeline_id)
    query = select(PIPELINES.c.name, VERSIONS.c.query, VERSIONS.c.udfs).where(
        current, marked, PIPELINES.c.id.not_in(previewed)
    )
    found: dict[str, list[str]] = {}
    for name, text, files in connection.execute(query.order_by(PIPELINES.c.name)):
        texts = [text, *files]
        for stored_id in dict.fromkeys(stored for part in texts for stored in _MARK.findall(part)):
            found.setdefault(stored_id, []).append(f"pipeline {name}")
    for table in tables(connection):
        if table.profile_id is not None:
            found.setdefault(table.profile_id, []).append(f"table {table.name}")
    return found


Options: TypeAlias = "Mapping[str, str | bool | int | float | Sequence[str]]"

PROFILES = Table(
    "connection_profiles",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("connector", Text, nullable=False),
    Column("options", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("created_by", Text, nullable=False),
)
TABLES = Table(
    "connection_tables",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("connector", Text, nullable=False),
    Column("profile_id", Text),
    Column("options", Text, nullable=False),
    Column("columns", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("created_by", Text, nullable=False),
)
SECRETS = Table(
    "stored_secrets",
    METADATA,
    Column("owner_id", Text, nullable=False),
    Column("name", Text, primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
)


@dataclass(frozen=True, slots=True)
class StoredConnection:
    """A connection; its secrets are references to stored ones."""

    id: str
    name: str
    connector: str
    options: Options
    created_at: datetime
    created_by: str


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table. `columns` is its column list in SQL; `profile_id` is its stored connection, if any."""

    id: str
    name: str
    connector: str
    profile_id: str | None
    options: Options
    columns: str
    created_at: datetime
    created_by: str


def add_connection(connection: Connection, stored: StoredConnection, sealed: Mapping[str, bytes]) -> None:
    """Store a connection with its secrets; raise if its name is taken."""
    _add(connection, PROFILES, stored.name, {**_values(stored), "options": json.dumps(stored.options)})
    _add_secrets(connection, stored.id, sealed)


def add_table(connection: Connection, stored: StoredTable, sealed: Mapping[str, bytes]) -> None:
    """Store a table with its secrets; raise if its name is taken."""
    _add(connection, TABLES, stored.name, {**_values(stored), "options": json.dumps(stored.options)})
    _add_secrets(connection, stored.id, sealed)


def connections(connection: Connection) -> Sequence[StoredConnection]:
    """Return all stored connections, by name."""
    rows = connection.execute(select(PROFILES).order_by(PROFILES.c.key)).mappings()
    return [StoredConnection(**_read(row)) for row in rows]


def tables(connection: Connection) -> Sequence[StoredTable]:
    """Return all stored tables, by name."""
    rows = connection.execute(select(TABLES).order_by(TABLES.c.key)).mappings()
    return [StoredTable(**_read(row)) for row in rows]


def find_connection(connection: Connection, id_or_name: str) -> StoredConnection:
    """Return the connection of that id, or name; raise if there is none."""
    for stored in connections(connection):
        if stored.id == id_or_name or stored.name.lower() == id_or_name.lower():
            return stored
    raise StoredNotFoundError(f"there is no connection {id_or_name!r}", hint="`arroyo connections list` shows them")


def find_table(connection: Connection, id_or_name: str) -> StoredTable:
    """Return the table of that id, or name; raise if there is none."""
    for stored in tables(connection):
        if stored.id == id_or_name or stored.name.lower() == id_or_name.lower():
            return stored
    raise StoredNotFoundError(f"there is no table {id_or_name!r}", hint="`arroyo tables list` shows them")


def remove_connection(connection: Connection, stored: StoredConnection) -> None:
    """Delete a connection and its secrets."""
    connection.execute(delete(PROFILES).where(PROFILES.c.id == stored.id))
    connection.execute(delete(SECRETS).where(SECRETS.c.owner_id == stored.id))


def remove_table(connection: Connection, stored: StoredTable) -> None:
    """Delete a table and its secrets."""
    connection.execute(delete(TABLES).where(TABLES.c.id == stored.id))
    connection.execute(delete(SECRETS).where(SECRETS.c.owner_id == stored.id))


def secrets(connection: Connection, vault: Vault, names: frozenset[str]) -> Mapping[str, str]:
    """Return the values of the given names that are secrets of stored objects."""
    if not names:
        return {}
    rows = connection.execute(select(SECRETS.c.name, SECRETS.c.sealed).where(SECRETS.c.name.in_(sorted(names))))
    return {name: vault.unseal(sealed) for name, sealed in rows}


def _values(stored: StoredConnection | StoredTable) -> dict[str, object]:
    return {name: getattr(stored, name) for name in type(stored).__dataclass_fields__}


def _read(row: RowMapping) -> dict[str, Any]:
    values = {name: value for name, value in row.items() if name != "key"}
    return {**values, "options": json.loads(row["options"])}


def _add(connection: Connection, table: Table, name: str, values: Mapping[str, object]) -> None:
    try:
        connection.execute(insert(table).values(**values, key=name.lower()))
    except IntegrityError as error:
        kind = "connection" if table is PROFILES else "table"
        raise StoredExistsError(
            f"there is a {kind} {name!r} already", hint="take another name, or delete it first"
        ) from error


def _add_secrets(connection: Connection, owner: str, sealed: Mapping[str, bytes]) -> None:
    for name, value in sealed.items():
        connection.execute(insert(SECRETS).values(owner_id=owner, name=name, sealed=value))
