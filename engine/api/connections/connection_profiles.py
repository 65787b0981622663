"""Stored connections: those of the administrator's file, and those created over the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from engine.api.answers import Page
from engine.api.http.authentication import WhoDep
from engine.api.http.bodies import Body
from engine.api.http.problems import ContextDep, refusals
from engine.connectors import find_connector
from engine.connectors.kinds import Connector
from engine.connectors.option_schemas import secret_options
from engine.control.context import Context
from engine.control.stored_objects import administrators, in_use, read_config, refuse_id, shown_config, split_secrets
from engine.errors import StoredExistsError
from engine.jobs import disk
from engine.jobs.processes.probes import HIDDEN, ProbeOrder, ProbeResult
from engine.store import stored as stored_tables
from engine.store import stored as stored_uses
from engine.store.stored import StoredConnection
from engine.values.instants import to_micros

ROUTER = APIRouter(prefix="/connection_profiles", tags=["connections"])

StoredName = Annotated[str, Field(max_length=128, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Config = Annotated[dict[Annotated[str, Field(max_length=256)], Any], Field(max_length=256)]


class ConnectionProfilePost(Body):
    """A connection for all pipelines."""

    name: StoredName = Field(description="What `connection_profile = '...'` says.")
    connector: str = Field(max_length=64, description="The connector of its tables.")
    config: Config = Field(
        default={},
        description="Its options, in the shape of the connector's `connection_config`. Secrets are kept encrypted, and "
        "never shown; `{{ secret:NAME }}` names one instead.",
    )


class ConnectionProfile(BaseModel):
    """A connection that every script may use."""

    id: str = Field(description="Its id; for a profile of the administrator's file, its name.")
    name: str = Field(description="What `connection_profile = '...'` says.")
    connector: str = Field(description="The connector of its tables.")
    config: dict[str, Any] = Field(
        description="Its options, in the shape of the connector's `connection_config`; secrets are asterisks."
    )
    description: str = Field(description="What its connector does.")
    stored: bool = Field(description="Whether it was made over HTTP, and can be deleted.")
    created_at: int | None = Field(default=None, description="When it was made; null of one of the file.")
    created_by: str | None = Field(default=None, description="Who made it; null of one of the file.")
    used_by: list[str] = Field(default=[], description="The pipelines and tables that use it, of one that is stored.")


class TestMessage(BaseModel):
    """Result of a connection test."""

    error: bool = Field(description="Whether something is wrong.")
    done: bool = Field(description="Whether this is the last message.")
    message: str = Field(description="What was found, or what is wrong.")
    code: str | None = Field(default=None, description="The code of the error.")
    hint: str | None = Field(default=None, description="What to do next.")

    @staticmethod
    def of(result: ProbeResult) -> TestMessage:
        """Return the last message, with the result."""
        return TestMessage(error=result.is_wrong, done=True, message=result.message, code=result.code, hint=result.hint)


@ROUTER.get("")
def list_all(context: ContextDep) -> Page[ConnectionProfile]:
    """List the connections of the administrator's file and the stored ones, by name."""
    profiles = {}
    for key, connection in administrators(context).items():
        connector = _connector(connection.connector)
        secrets = secret_options(connector)
        options = {option.name: HIDDEN if option.name in secrets else option.value for option in connection.options}
        profiles[key] = ConnectionProfile(
            id=connection.name,
            name=connection.name,
            connector=connector.name,
            config=shown_config(connector, options),  # type: ignore[arg-type]  # a length of time is shown as text
            description=connector.summary,
            stored=False,
        )
    with context.database.reading() as store:
        used = stored_uses.users(store)
        for stored in stored_tables.connections(store):
            profiles.setdefault(stored.name.lower(), show(stored, used.get(stored.id, ())))
    return Page(data=[profile for _, profile in sorted(profiles.items())])


@ROUTER.post("", responses=refusals(400, 409))
def create(body: ConnectionProfilePost, who: WhoDep, context: ContextDep) -> ConnectionProfile:
    """Store a connection for all pipelines. It is not tested: use `.../test`."""
    stored, secrets = checked(body, who, context)
    if stored.name.lower() in administrators(context):
        raise StoredExistsError(
            f"there is a connection {stored.name!r} in the administrator's file", hint="take another name"
        )
    sealed = {name: context.database.vault.seal(value) for name, value in secrets.items()}
    with context.database.writing() as connection:
        stored_tables.add_connection(connection, stored, sealed)
    return show(stored, ())


@ROUTER.post("/test", responses=refusals(400, 409))
def test(body: ConnectionProfilePost, who: WhoDep, context: ContextDep) -> TestMessage:
    """Test a connection from where drivers run. Nothing is stored."""
    stored, secrets = checked(body, who, context)
    order = ProbeOrder(stored.name, stored.connector, stored.options)
    return TestMessage.of(context.probe(order, secrets))


@ROUTER.delete("/{profile}", status_code=204, responses=refusals(404, 409))
def remove(profile: str, context: ContextDep) -> None:
    """Delete a connection; refused while a pipeline or a table uses it."""
    with context.database.writing() as connection:
        stored = stored_tables.find_connection(connection, profile)
        if users := stored_uses.users(connection).get(stored.id):
            raise in_use("connection", stored.name, users)
        stored_tables.remove_connection(connection, stored)


def show(stored: StoredConnection, users: Sequence[str]) -> ConnectionProfile:
    """Return a stored connection in the form of the API."""
    connector = _connector(stored.connector)
    return ConnectionProfile(
        id=stored.id,
        name=stored.name,
        connector=stored.connector,
        config=shown_config(connector, stored.options),
        description=connector.summary,
        stored=True,
        created_at=to_micros(stored.created_at),
        created_by=stored.created_by,
        used_by=list(users),
    )


def checked(body: ConnectionProfilePost, who: str, context: Context) -> tuple[StoredConnection, Mapping[str, str]]:
    """Return the connection that a request describes, and its secrets; raise with all errors."""
    from engine.sql.stored.checking import check_connection, stored_connector  # noqa: PLC0415 - the server is there sooner

    refuse_id(body.name)
    connector, own_id = stored_connector(body.connector), disk.make("cp")
    split = split_secrets(own_id, connector, read_config(body.config))
    check_connection(body.name, connector.name, split.options)
    stored = StoredConnection(own_id, body.name, connector.name, split.options, context.clock(), who)
    return stored, split.secrets


def _connector(name: str) -> Connector:
    connector = find_connector(name)
    assert connector is not None, name
    return connector
