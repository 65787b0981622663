"""Files of Python functions that are kept for all pipelines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Column, Connection, Table, Text, delete, insert, select
from sqlalchemy.exc import IntegrityError

from engine.errors import StoredExistsError, StoredNotFoundError
from engine.store.columns import Instant
from engine.store.database import METADATA

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
    """Keep a file of functions; refused where one of its names is taken."""
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
    """All files of functions that are kept, by name."""
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
    """The file of that id, or with a function of that name; refused where there is none."""
    for function in read(connection):
        if function.id == id_or_name or id_or_name in function.names:
            return function
    raise StoredNotFoundError(f"there is no function {id_or_name!r}", hint="GET /udfs lists them")


def remove(connection: Connection, function: StoredFunction) -> None:
    """Keep a file of functions no longer."""
    connection.execute(delete(FUNCTIONS).where(FUNCTIONS.c.id == function.id))


def _taken(name: str) -> StoredExistsError:
    return StoredExistsError(f"there is a function {name!r} already", hint="take another name, or delete it first")
