"""Connections and tables that are kept for all pipelines, with the secrets of their options, sealed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from sqlalchemy import Column, Connection, LargeBinary, RowMapping, Table, Text, delete, insert, select
from sqlalchemy.exc import IntegrityError

from engine.errors import StoredExistsError, StoredNotFoundError
from engine.store.access.vault import Vault
from engine.store.columns import Instant
from engine.store.database import METADATA

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
    """A connection; its secrets are references to those that are kept beside it."""

    id: str
    name: str
    connector: str
    options: Options
    created_at: datetime
    created_by: str


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table. `columns` is how CREATE TABLE lists them; `profile_id` is the connection that it names, if it is kept
    here, too."""

    id: str
    name: str
    connector: str
    profile_id: str | None
    options: Options
    columns: str
    created_at: datetime
    created_by: str


def add_connection(connection: Connection, stored: StoredConnection, sealed: Mapping[str, bytes]) -> None:
    """Keep a connection with its secrets; refused where there is one of its name."""
    _add(connection, PROFILES, stored.name, {**_values(stored), "options": json.dumps(stored.options)})
    _add_secrets(connection, stored.id, sealed)


def add_table(connection: Connection, stored: StoredTable, sealed: Mapping[str, bytes]) -> None:
    """Keep a table with its secrets; refused where there is one of its name."""
    _add(connection, TABLES, stored.name, {**_values(stored), "options": json.dumps(stored.options)})
    _add_secrets(connection, stored.id, sealed)


def connections(connection: Connection) -> Sequence[StoredConnection]:
    """All connections that are kept, by name."""
    rows = connection.execute(select(PROFILES).order_by(PROFILES.c.key)).mappings()
    return [StoredConnection(**_read(row)) for row in rows]


def tables(connection: Connection) -> Sequence[StoredTable]:
    """All tables that are kept, by name."""
    rows = connection.execute(select(TABLES).order_by(TABLES.c.key)).mappings()
    return [StoredTable(**_read(row)) for row in rows]


def find_connection(connection: Connection, id_or_name: str) -> StoredConnection:
    """The connection of that id, or name; refused where there is none."""
    for stored in connections(connection):
        if stored.id == id_or_name or stored.name.lower() == id_or_name.lower():
            return stored
    raise StoredNotFoundError(f"there is no connection {id_or_name!r}", hint="`arroyo connections list` shows them")


def find_table(connection: Connection, id_or_name: str) -> StoredTable:
    """The table of that id, or name; refused where there is none."""
    for stored in tables(connection):
        if stored.id == id_or_name or stored.name.lower() == id_or_name.lower():
            return stored
    raise StoredNotFoundError(f"there is no table {id_or_name!r}", hint="`arroyo tables list` shows them")


def remove_connection(connection: Connection, stored: StoredConnection) -> None:
    """Keep a connection no longer, nor its secrets."""
    connection.execute(delete(PROFILES).where(PROFILES.c.id == stored.id))
    connection.execute(delete(SECRETS).where(SECRETS.c.owner_id == stored.id))


def remove_table(connection: Connection, stored: StoredTable) -> None:
    """Keep a table no longer, nor its secrets."""
    connection.execute(delete(TABLES).where(TABLES.c.id == stored.id))
    connection.execute(delete(SECRETS).where(SECRETS.c.owner_id == stored.id))


def is_any(connection: Connection) -> bool:
    """Whether any connection or table is kept."""
    return any(connection.execute(select(table.c.id).limit(1)).first() is not None for table in (PROFILES, TABLES))


def secrets(connection: Connection, vault: Vault, names: frozenset[str]) -> Mapping[str, str]:
    """The values of those of the names that are secrets of what is kept here."""
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
