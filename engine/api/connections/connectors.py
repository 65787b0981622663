"""Connectors, with the options for a form."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from engine.api.answers import Page
from engine.connectors import CONNECTORS, kinds
from engine.connectors.base import Direction
from engine.connectors.option_schemas import connection_schema, direction_schema, table_schema
from engine.connectors.plugins import load_plugins

ROUTER = APIRouter(tags=["connectors"])


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


@ROUTER.get("/connectors")
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
