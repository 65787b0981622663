"""Connections, tables and functions that are there for all pipelines, as clients of Arroyo's API ask for them.

Connections stand in the administrator's file; tables and functions belong to the scripts that use them. None of them is
made over HTTP, so requests to make one are refused by name.
"""

from __future__ import annotations

import re
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from engine.api.answers import Page
from engine.api.bodies import Udf
from engine.api.context import ContextDep
from engine.api.problems import complaints_of, refusals
from engine.connectors import find_connector
from engine.connectors.option_schemas import nested_values, secret_options
from engine.errors import EngineError, RequestTooLargeError, UnsupportedRequestError

ROUTER = APIRouter(tags=["connections"])

_HIDDEN = "**********"
_LOGIN = re.compile(r"(?<=://)[^/@\s]+(?=@)")
"""User and password in a URL."""


class ConnectionProfile(BaseModel):
    """A connection that every script may use."""

    id: str
    name: str = Field(description="What `connection_profile = '...'` says.")
    connector: str = Field(description="The connector of its tables.")
    config: dict[str, Any] = Field(
        description="Its options, in the shape of the connector's `connection_config`; secrets are asterisks."
    )
    description: str = Field(description="What its connector does.")


class NoTable(BaseModel):
    """A table that is there without a script; there is none."""


class NoFunction(BaseModel):
    """A function that is there without a script; there is none."""


class UdfVerdict(BaseModel):
    """The function, or everything that is wrong with it."""

    udf_name: str | None = Field(description="The first function of the file; null when something is wrong.")
    udf_names: list[str] = Field(description="All functions of the file.")
    errors: list[str] = Field(description="Everything that is wrong.")


@ROUTER.get("/connection_profiles")
def list_profiles(context: ContextDep) -> Page[ConnectionProfile]:
    """List the connections of the administrator's file, by name."""
    from engine.sql.tables.create_connection import read_connections  # noqa: PLC0415 - the server is there sooner

    connections = read_connections(context.connections) if context.connections.strip() else {}
    profiles = []
    for _, connection in sorted(connections.items()):
        connector = find_connector(connection.connector)
        assert connector is not None, connection.connector
        secrets = secret_options(connector)
        options = {
            option.name: _HIDDEN if option.name in secrets else _plain(option.value) for option in connection.options
        }
        profiles.append(
            ConnectionProfile(
                id=connection.name,
                name=connection.name,
                connector=connector.name,
                config=nested_values(connector, options),
                description=connector.summary,
            )
        )
    return Page(data=profiles)


@ROUTER.get("/connection_tables")
def list_tables() -> Page[NoTable]:
    """List the tables that are there without a script: none, since each script declares its own."""
    return Page(data=[])


@ROUTER.get("/udfs")
def list_functions() -> Page[NoFunction]:
    """List the functions that are there without a script: none, since each pipeline brings its own."""
    return Page(data=[])


@ROUTER.post("/udfs/validate", responses=refusals(400))
def validate_function(body: Udf, context: ContextDep) -> UdfVerdict:
    """Read a file of functions without running it."""
    from engine.udf.declared import name_files  # noqa: PLC0415 - see `list_profiles`
    from engine.udf.reading import read_udfs  # noqa: PLC0415

    if len(body.definition.encode()) > context.max_query_bytes:
        raise RequestTooLargeError(
            f"the file is longer than {context.max_query_bytes} bytes",
            hint="the setting api.max_query_bytes is the limit",
        )
    try:
        names = [function.name for function in read_udfs(name_files([body.definition])).by_name.values()]
    except EngineError as error:
        wrong = [complaint.message for complaint in complaints_of(error)]
        return UdfVerdict(udf_name=None, udf_names=[], errors=wrong)
    return UdfVerdict(udf_name=names[0], udf_names=names, errors=[])


@ROUTER.post("/connection_profiles", include_in_schema=False)
@ROUTER.post("/connection_profiles/test", include_in_schema=False)
def refuse_profile() -> None:
    """No connection is made over HTTP."""
    raise UnsupportedRequestError(
        "connections are not made over HTTP",
        hint="CREATE CONNECTION in a script, or in the file that the setting `connections` names, declares one",
    )


@ROUTER.post("/connection_tables", include_in_schema=False)
@ROUTER.post("/connection_tables/test", include_in_schema=False)
@ROUTER.post("/connection_tables/schemas/test", include_in_schema=False)
def refuse_table() -> None:
    """No table is made over HTTP."""
    raise UnsupportedRequestError("tables are not made over HTTP", hint="CREATE TABLE in a script declares one")


@ROUTER.post("/udfs", include_in_schema=False)
def refuse_function() -> None:
    """No function is kept for all pipelines."""
    raise UnsupportedRequestError(
        "functions are not kept for all pipelines", hint="`udfs` of a pipeline has the files of its functions"
    )


def _plain(value: object) -> object:
    """A value as JSON has it, without the login of a URL; a length of time is text."""
    return value if isinstance(value, bool | int | float) else _LOGIN.sub(_HIDDEN, str(value))
