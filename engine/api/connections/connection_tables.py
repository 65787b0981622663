"""Stored tables, which scripts can use without a CREATE TABLE."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field, model_validator

from engine.api.answers import Page
from engine.api.connections import connection_profiles
from engine.api.connections.connection_profiles import Config, ConnectionProfile, StoredName, TestMessage
from engine.api.connections.table_schemas import ShownSchema, TableSchema, in_snake_case, show_column, show_schema
from engine.api.http.authentication import WhoDep
from engine.api.http.bodies import Body
from engine.api.http.problems import ContextDep, refusals
from engine.connectors import find_connector
from engine.control.context import Context
from engine.control.stored_objects import (
    administrators,
    in_use,
    read_config,
    refuse_id,
    shown_config,
    split_secrets,
    stored_secrets,
)
from engine.errors import EngineError, OptionValueError, SchemaUnknownError
from engine.formats import FORMATS
from engine.jobs import disk
from engine.jobs.processes.probes import ProbeOrder, ProbeResult
from engine.sql.stored.spelling import spell_name
from engine.store import stored as stored_tables
from engine.store import stored as stored_uses
from engine.store.stored import Options, StoredConnection, StoredTable
from engine.values.instants import to_micros

if TYPE_CHECKING:
    from engine.sql.stored.checking import CheckedTable, StoredColumn
    from engine.sql.tables.create_connection import Connections

ROUTER = APIRouter(prefix="/connection_tables", tags=["connections"])
_EVENTS: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {}}, "description": "Messages of the test as server-sent events."}
}


class ConnectionTablePost(Body):
    """A table for all pipelines."""

    name: StoredName = Field(description="What scripts call it.")
    connector: str = Field(max_length=64, description="Its connector.")
    connection_profile_id: str | None = Field(
        default=None, max_length=128, description="The connection that it uses, by id or name; null for none."
    )
    config: Config = Field(
        default={},
        description="Its options, in the shape of the connector's `table_config`, and any that a WITH clause may have. "
        "Secrets are stored encrypted, and never shown.",
    )
    table_schema: TableSchema | None = Field(default=None, alias="schema", description="Its columns and its format.")

    @model_validator(mode="before")
    @classmethod
    def take_both_spellings(cls, body: object) -> object:
        """Take `connectionProfileId` for `connection_profile_id`, as older clients spell it."""
        return in_snake_case(body)


class ConnectionTable(BaseModel):
    """A table that every script may name."""

    id: str
    name: str = Field(description="What scripts call it.")
    created_at: int = Field(description="When it was made.")
    created_by: str = Field(description="Who made it.")
    connector: str = Field(description="Its connector.")
    connection_profile: ConnectionProfile | None = Field(description="The connection that it uses.")
    table_type: str = Field(description="What it is for: source, sink or lookup.")
    config: dict[str, Any] = Field(description="Its options; secrets are asterisks.")
    schema_: ShownSchema = Field(alias="schema", description="Its columns and its format.")
    consumers: int = Field(description="How many pipelines use it.")
    used_by: list[str] = Field(description="The pipelines that use it.")
    fault: str | None = Field(description="What is wrong with it by now; null when nothing is.")
    statement: str = Field(description="The CREATE TABLE that declares it in the script of a pipeline.")


@ROUTER.get("", responses=refusals(404))
def list_all(
    context: ContextDep,
    starting_after: Annotated[
        str | None, Query(description="The id of the last table of the page before; the first page without it.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 1000,
) -> Page[ConnectionTable]:
    """List the stored tables, by name."""
    with context.database.reading() as connection:
        used = stored_uses.users(connection)
        profiles = {stored.id: stored for stored in stored_tables.connections(connection)}
        tables = stored_tables.tables(connection)
        if starting_after is not None:
            tables = tables[tables.index(stored_tables.find_table(connection, starting_after)) + 1 :]
    known = connections_of(context, profiles.values())
    page = [_shown(table, profiles, known, used.get(table.id, ())) for table in tables[:limit]]
    return Page(data=page, has_more=len(tables) > limit)


@ROUTER.post("", responses=refusals(400, 404, 409))
def create(body: ConnectionTablePost, who: WhoDep, context: ContextDep) -> ConnectionTable:
    """Store a table for all pipelines. It is not tested: use `.../test`."""
    with context.database.reading() as connection:
        profiles = {stored.id: stored for stored in stored_tables.connections(connection)}
    known = connections_of(context, profiles.values())
    table, secrets, _ = checked(body, who, context, profiles, known)
    sealed = {name: context.database.vault.seal(value) for name, value in secrets.items()}
    with context.database.writing() as connection:
        if table.profile_id is not None:
            stored_tables.find_connection(connection, table.profile_id)  # it may have been deleted meanwhile
        stored_tables.add_table(connection, table, sealed)
    return _shown(table, profiles, known, ())


@ROUTER.post("/test", response_class=StreamingResponse, responses=_EVENTS | refusals(400, 404, 409))
def test(body: ConnectionTablePost, who: WhoDep, context: ContextDep) -> StreamingResponse:
    """Test from where drivers run whether the table's topic, file or directory exists. The response is server-sent
    events; the last one is `done`. Nothing is stored or written."""
    table, secrets, connections = _order(body, who, context)
    order = ProbeOrder(table.name, table.connector, table.options, table.columns, connections)

    def events() -> Iterator[str]:
        yield _event(TestMessage(error=False, done=False, message="asking"))
        try:
            yield _event(TestMessage.of(context.probe(order, secrets)))
        except EngineError as error:
            result = ProbeResult(error.message, True, error.code, error.hint)
            yield _event(TestMessage.of(result))

    return StreamingResponse(events(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})


@ROUTER.post("/schemas/test", responses=refusals(400))
def test_schema(body: TableSchema) -> None:
    """Validate the schema of a table. Nothing is contacted or stored. A refusal lists all problems."""
    _check_alone(body)


class InferredSchema(BaseModel):
    """Suggested columns of a table, inferred from its input."""

    fields: list[dict[str, Any]] = Field(description="The columns.")
    columns: str = Field(description="The columns as CREATE TABLE lists them.")
    message: str = Field(description="Where they are from, and what has to be looked at, in words.")


@ROUTER.post("/schemas/infer", responses=refusals(400, 404, 409))
def infer_schema(body: ConnectionTablePost, who: WhoDep, context: ContextDep) -> InferredSchema:
    """Infer the columns of a table from its data, as drivers reach it: the first thousand JSON records, a Parquet file,
    or an Avro schema. Columns in the request are ignored, and nothing is stored."""
    given = body.table_schema or TableSchema()
    is_change = given.options().get("format") == "debezium_json"
    schema = given.model_copy(update={"columns": f"a TEXT{' PRIMARY KEY' * is_change}", "fields": ()})
    table, secrets, connections = _order(body.model_copy(update={"table_schema": schema}), who, context)
    order = ProbeOrder(table.name, table.connector, table.options, None, connections, infer=True)
    result = context.probe(order, secrets)
    if result.is_wrong:
        raise SchemaUnknownError(result.message, hint=result.hint)
    listed = ",\n".join(
        f"{spell_name(name)} {kind}{'' if nullable else ' NOT NULL'}" for name, kind, nullable in result.columns
    )
    fields = [show_column(column) for column in _check_alone(TableSchema(format="json", columns=listed))]
    return InferredSchema(fields=fields, columns=listed, message=result.message)


@ROUTER.delete("/{table}", status_code=204, responses=refusals(404, 409))
def remove(table: str, context: ContextDep) -> None:
    """Delete a stored table. Refused while a pipeline uses it. The data is not affected."""
    with context.database.writing() as connection:
        stored = stored_tables.find_table(connection, table)
        if users := stored_uses.users(connection).get(stored.id):
            raise in_use("table", stored.name, users)
        stored_tables.remove_table(connection, stored)


def _check_alone(schema: TableSchema) -> tuple[StoredColumn, ...]:
    """Return the columns of a schema, as those of a table that could have it; raise with all errors."""
    from engine.sql.stored.checking import check_table  # noqa: PLC0415 - the server is there sooner

    options = schema.options()
    of_files = options.get("format") in {"parquet", "csv"}
    stand_in = {"path": "/schema"} if of_files else {"topic": "schema", "bootstrap_servers": "schema:9092"}
    connector = "filesystem" if of_files else "kafka"
    return check_table("schema", connector, schema.listed(), {"type": "source", **stand_in, **options}, {}).columns


def connections_of(context: Context, profiles: Iterable[StoredConnection]) -> Connections:
    """Return the connections that a table may name."""
    from engine.sql.stored.checking import check_connection  # noqa: PLC0415 - the server is there sooner

    stored = {
        profile.name.lower(): check_connection(profile.name, profile.connector, profile.options) for profile in profiles
    }
    return {**stored, **administrators(context)}


def checked(
    body: ConnectionTablePost,
    who: str,
    context: Context,
    profiles: Mapping[str, StoredConnection],
    known: Connections,
) -> tuple[StoredTable, Mapping[str, str], CheckedTable]:
    """Return the table that a request describes, its secrets, and its declaration; raise with all errors."""
    from engine.sql.stored.checking import check_table, stored_connector  # noqa: PLC0415 - the server is there sooner

    refuse_id(body.name)
    connector, own_id = stored_connector(body.connector), disk.make("ct")
    schema = body.table_schema or TableSchema()
    options = _merged(read_config(body.config), schema.options())
    profile = _profile(body.connection_profile_id, profiles, known)
    if profile is not None:
        options = _merged({"connection_profile": profile}, options)
    split = split_secrets(own_id, connector, options)
    listed = schema.listed()
    table = check_table(body.name, connector.name, listed, split.options, known)
    named = str(split.options.get("connection_profile", "")).lower()
    profile_id = next((stored.id for stored in profiles.values() if stored.name.lower() == named), None)
    if named in administrators(context):
        profile_id = None
    stored = StoredTable(own_id, body.name, connector.name, profile_id, split.options, listed, context.clock(), who)
    return stored, split.secrets, table


def _order(body: ConnectionTablePost, who: str, context: Context) -> tuple[StoredTable, Mapping[str, str], str]:
    """Return a table to be tested, the secrets that it and its connection name, and the connections that it may
    name."""
    from engine.sql.stored.spelling import spell_connection  # noqa: PLC0415 - the server is there sooner

    with context.database.reading() as connection:
        profiles = {stored.id: stored for stored in stored_tables.connections(connection)}
    table, own, _ = checked(body, who, context, profiles, connections_of(context, profiles.values()))
    profile = None if table.profile_id is None else profiles[table.profile_id]
    text = "" if profile is None else spell_connection(profile.name, profile.connector, profile.options)
    with context.database.reading() as connection:
        further = stored_secrets(connection, context, text)
    return table, {**further, **own}, text or context.connections


def _event(message: TestMessage) -> str:
    return f"data: {message.model_dump_json()}\n\n"


def _profile(id_or_name: str | None, profiles: Mapping[str, StoredConnection], known: Connections) -> str | None:
    """Return the name of the connection that a request names by its id or name."""
    if id_or_name is None:
        return None
    if id_or_name in profiles:
        return profiles[id_or_name].name
    if id_or_name.lower() in known:
        return known[id_or_name.lower()].name
    raise OptionValueError(f"there is no connection {id_or_name!r}", hint="`arroyo connections list` shows them")


def _merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    if twice := sorted(first.keys() & second.keys()):
        raise OptionValueError(f"option '{twice[0]}' is given twice", hint="say it in one place")
    return {**first, **second}


def _shown(
    table: StoredTable, profiles: Mapping[str, StoredConnection], known: Connections, users: Sequence[str]
) -> ConnectionTable:
    from engine.sql.stored.checking import check_table  # noqa: PLC0415 - the server is there sooner
    from engine.sql.stored.spelling import spell_table  # noqa: PLC0415

    connector = find_connector(table.connector)
    assert connector is not None, table.connector
    fault: str | None = None
    described: CheckedTable | None = None
    try:
        described = check_table(table.name, table.connector, table.columns, table.options, known)
    except EngineError as error:  # of another version of the engine, or its connection stands in the file no more
        fault = error.message
    direction = str(table.options.get("type", "source")) if described is None else described.direction
    columns, keys = ((), ()) if described is None else (described.columns, described.keys)
    profile = None if table.profile_id is None else profiles.get(table.profile_id)
    return ConnectionTable(
        id=table.id,
        name=table.name,
        created_at=to_micros(table.created_at),
        created_by=table.created_by,
        connector=table.connector,
        connection_profile=None if profile is None else connection_profiles.show(profile, ()),
        table_type=direction,
        config=shown_config(connector, _of_connector(table.options)),
        schema=show_schema(columns, keys, table.columns, table.options, inferred=direction == "sink" and not columns),
        consumers=len(users),
        used_by=list(users),
        fault=fault,
        statement=spell_table(table.name, table.connector, table.columns, table.options),
    )


def _of_connector(options: Options) -> Options:
    """Return the options that neither the schema nor the connection determines."""
    prefixes = tuple(f"{form.prefix}." for form in FORMATS)
    others = {"format", "bad_data", "framing", "framing.newline.max_length", "connection_profile"}
    return {name: value for name, value in options.items() if name not in others and not name.startswith(prefixes)}
