"""Endpoints of connectors, and of user-defined functions that are stored for all pipelines.

Stored user-defined functions. They are validated without running them.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from engine.api.answers import Page
from engine.api.http.authentication import WhoDep
from engine.api.http.bodies import Body, Udf
from engine.api.http.problems import ContextDep, complaints_of, refusals
from engine.connectors import CONNECTORS, kinds
from engine.connectors.base import Direction
from engine.connectors.option_schemas import connection_schema, direction_schema, table_schema
from engine.connectors.plugins import load_plugins
from engine.control.context import Context
from engine.control.stored_objects import in_use
from engine.errors import EngineError, RequestTooLargeError, UdfSyntaxError
from engine.jobs import disk
from engine.store import stored
from engine.store.stored import StoredFunction
from engine.values.instants import to_micros

ROUTER = APIRouter(prefix="/udfs", tags=["connections"])


class FunctionPost(Body):
    """A file of functions for all pipelines."""

    prefix: str = Field(default="", max_length=256, description="A folder to show it in; no part of its name.")
    definition: str = Field(min_length=1, description="The source text of the file.")
    description: str = Field(default="", max_length=4096, description="What it is for.")
    language: Literal["python"] = "python"


class StoredUdf(BaseModel):
    """A file of functions that every script may call."""

    id: str
    prefix: str = Field(description="A folder to show it in; no part of its name.")
    name: str = Field(description="The first function of the file.")
    names: list[str] = Field(description="All functions of the file.")
    created_at: int = Field(description="When it was made.")
    updated_at: int = Field(description="The same as `created_at`: a function is deleted and created again.")
    definition: str = Field(description="The source text of the file.")
    description: str = Field(description="What it is for.")
    language: Literal["python"] = "python"
    dylib_url: str | None = Field(default=None, description="Null: nothing is compiled.")
    created_by: str = Field(description="Who made it.")
    used_by: list[str] = Field(description="The pipelines that use it.")


class UdfVerdict(BaseModel):
    """The function, or all errors in it."""

    udf_name: str | None = Field(description="The first function of the file; null when something is wrong.")
    udf_names: list[str] = Field(description="All functions of the file.")
    errors: list[str] = Field(description="Everything that is wrong.")


@ROUTER.get("")
def list_all(context: ContextDep) -> Page[StoredUdf]:
    """List the stored files of functions, by name."""
    with context.database.reading() as connection:
        used = stored.users(connection)
        return Page(data=[_shown(file, list(used.get(file.id, ()))) for file in stored.read(connection)])


@ROUTER.post("", responses=refusals(400, 409))
def create(body: FunctionPost, who: WhoDep, context: ContextDep) -> StoredUdf:
    """Store a file of functions for all pipelines. It is parsed, and not run."""
    names = _names(body.definition, context)
    file = StoredFunction(disk.make("udf"), body.prefix, names, body.definition, body.description, context.clock(), who)
    with context.database.writing() as connection:
        stored.add(connection, file)
    return _shown(file, [])


@ROUTER.post("/validate", responses=refusals(400))
def validate(body: Udf, context: ContextDep) -> UdfVerdict:
    """Parse a file of functions without running it."""
    try:
        names = _names(body.definition, context)
    except RequestTooLargeError:
        raise
    except EngineError as error:
        wrong = [complaint.message for complaint in complaints_of(error)]
        return UdfVerdict(udf_name=None, udf_names=[], errors=wrong)
    return UdfVerdict(udf_name=names[0], udf_names=list(names), errors=[])


@ROUTER.delete("/{udf}", status_code=204, responses=refusals(404, 409))
def remove(udf: str, context: ContextDep) -> None:
    """Delete a file of functions; refused while a pipeline uses it."""
    with context.database.writing() as connection:
        file = stored.find(connection, udf)
        if users := stored.users(connection).get(file.id):
            raise in_use("function", file.name, users)
        stored.remove(connection, file)


def _names(definition: str, context: Context) -> tuple[str, ...]:
    """Return the functions of a file, in order; raise with all errors."""
    from engine.udf.declared import name_files  # noqa: PLC0415 - the server is there sooner
    from engine.udf.reading import read_udfs  # noqa: PLC0415

    if len(definition.encode()) > context.max_query_bytes:
        raise RequestTooLargeError(
            f"the file is longer than {context.max_query_bytes} bytes",
            hint="the setting api.max_query_bytes is the limit",
        )
    names = tuple(function.name for function in read_udfs(name_files([definition])).by_name.values())
    if not names:
        raise UdfSyntaxError("the file defines no function", hint="mark one with @udf")
    return names


def _shown(file: StoredFunction, users: list[str]) -> StoredUdf:
    return StoredUdf(
        id=file.id,
        prefix=file.prefix,
        name=file.name,
        names=list(file.names),
        created_at=to_micros(file.created_at),
        updated_at=to_micros(file.created_at),
        definition=file.definition,
        description=file.description,
        created_by=file.created_by,
        used_by=users,
    )


CONNECTORS_ROUTER = APIRouter(tags=["connectors"])


class Connector(BaseModel):
    """A connector. Options with a dot in their name are in an object named by the part before it."""

    id: str
    name: str = Field(description="The same: what `connector = '...'` says.")
    icon: str = Field(default="", description="Empty: there are no icons.")
    description: str = Field(description="What it does.")
    enabled: bool = Field(default=True, description="Whether it may be used.")
    source: bool = Field(description="Whether its tables can be read.")
    sink: bool = Field(description="Whether its tables can be written.")
    lookup: bool = Field(description="Whether single rows of its tables can be asked for.")
    testing: bool = Field(default=False, description="Whether a table can be tried before there is a pipeline.")
    hidden: bool = Field(description="Whether lists of connectors leave it out.")
    custom_schemas: bool = Field(description="Whether a table of it may have columns that its owner declares.")
    connection_config: str | None = Field(
        description="The options that a connection holds, as the text of a JSON Schema; null for none."
    )
    table_config: str = Field(
        description="The options of its tables but for those, in any direction, as the text of a JSON Schema."
    )
    options: dict[Direction, dict[str, Any]] = Field(
        description="All options of its tables in each of its directions, as a JSON Schema each."
    )
    formats: list[str] = Field(description="The formats of records that its tables may have.")
    default_format: str | None = Field(description="The format if none is given.")
    guarantee: Literal["exactly-once", "at-least-once", "best effort"] | None = Field(
        description="What holds of every row that is written; null when it writes none."
    )


@CONNECTORS_ROUTER.get("/connectors")
def list_connectors() -> Page[Connector]:
    """List the connectors, by name."""
    return Page(data=list(_connectors()))


@cache
def _connectors() -> tuple[Connector, ...]:
    return tuple(map(_connector, sorted((*CONNECTORS, *load_plugins()), key=lambda connector: connector.name)))


def _connector(connector: kinds.Connector) -> Connector:
    connection = connection_schema(connector)
    return Connector(
        id=connector.name,
        name=connector.name,
        description=connector.summary,
        source="source" in connector.options,
        sink="sink" in connector.options,
        lookup="lookup" in connector.options,
        hidden=connector.hidden,
        custom_schemas=connector.schema is None,
        connection_config=None if connection is None else json.dumps(connection),
        table_config=json.dumps(table_schema(connector)),
        options={direction: direction_schema(connector, direction) for direction in connector.options},
        formats=sorted(connector.formats),
        default_format=connector.default_format,
        guarantee=None if connector.sink is None else connector.sink.guarantee,
    )
