"""CREATE CONNECTION: options that several tables share, such as the address and the credentials of a broker.

    CREATE CONNECTION events WITH (connector = 'kafka', bootstrap_servers = 'broker:9092');
    CREATE TABLE s (...) WITH (connection_profile = 'events', topic = 't', ...)

is equivalent to a table with the options connector, bootstrap_servers and topic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from sqlglot import exp

from engine.connectors import find_connector, offered_connectors
from engine.connectors.kinds import Connector
from engine.connectors.options import WithOption, known_names
from engine.errors import (
    DuplicateNameError,
    EngineError,
    MissingOptionError,
    OptionValueError,
    ScriptRefused,
    SettingError,
    TextPosition,
    UnknownOptionError,
)
from engine.sql.catalog import Complaints
from engine.sql.tables.written_options import given_options, option_named
from engine.sql.text.parse import Script, parse
from engine.values.near_names import did_you_mean

CONNECTION = "CONNECTION"


@dataclass(frozen=True, slots=True)
class Connection:
    """Options of a connector for every table that uses the connection. `is_own` if the script itself declares it, so
    that positions are in the script."""

    name: str
    connector: str
    options: tuple[WithOption, ...]
    is_own: bool = True


Connections = Mapping[str, Connection]
"""Connections by lower-case name."""


def declare_connection(node: exp.Create, script: Script, at: TextPosition) -> Connection:
    """Return the connection that a CREATE CONNECTION declares. Raise ScriptRefused with all errors."""
    complaints = Complaints()
    options = given_options(node, script, complaints, at)
    complaints.raise_any()
    connector_option = option_named("connector", options)
    if connector_option is None:
        raise MissingOptionError("option 'connector' is required", hint="set the connector that its tables use", at=at)
    connector = connector_named(str(connector_option.value), connector_option.at)
    shared = tuple(option for option in options if option is not connector_option)
    _check_shared(shared, connector, complaints)
    complaints.raise_any()
    return Connection(node.this.name, connector.name, shared)


def connector_named(name: str, at: TextPosition | None = None) -> Connector:
    """Return the connector of that name; raise if there is none."""
    connector = find_connector(name)
    if connector is None or connector.hidden:
        names = [offered.name for offered in offered_connectors()]
        hint = did_you_mean(name, names) or f"there are {', '.join(names)}"
        raise OptionValueError(f"there is no connector {name!r}", hint=hint, at=at)
    return connector


def _check_shared(options: Sequence[WithOption], connector: Connector, complaints: Complaints) -> None:
    """Add an error for each option that only some tables of the connector have."""
    allowed = shared_names(connector)
    for option in options:
        if option.name not in allowed:
            listing = ", ".join(f"'{name}'" for name in sorted(allowed)) or "none"
            message = f"'{option.name}' is not an option of all {connector.name} tables"
            complaints.add(UnknownOptionError(message, hint=f"there are {listing}", at=option.at))


def shared_names(connector: Connector) -> frozenset[str]:
    """Return the options that a connector has in every direction: those a connection can hold."""
    return frozenset.intersection(*(known_names(model) for model in connector.options.values()))


def read_connections(text: str) -> dict[str, Connection]:
    """Return the connections of an administrator's file. Raise SettingError if it contains anything else."""
    connections: dict[str, Connection] = {}
    try:
        script = parse(text)
        if script.complaints:
            raise ScriptRefused(script.complaints)
        for statement in script.statements:
            node = statement.node
            if not isinstance(node, exp.Create) or node.kind != CONNECTION:
                raise SettingError("only CREATE CONNECTION is allowed", at=statement.at)
            connection = declare_connection(node, script, statement.at)
            if connection.name.lower() in connections:
                raise DuplicateNameError(f"connection {connection.name!r} is declared twice", at=statement.at)
            connections[connection.name.lower()] = replace(connection, is_own=False)
    except EngineError as error:
        raise SettingError(
            f"the file of connections is not valid: {error}", hint="it may only hold CREATE CONNECTION name WITH (...)"
        ) from error
    return connections


def with_connection(options: Sequence[WithOption], connections: Connections) -> list[WithOption]:
    """Return the options of a table merged with those of the connection that it names."""
    profile_option = option_named("connection_profile", options)
    if profile_option is None:
        return list(options)
    connection = _find_connection(profile_option, connections)
    by_name = {option.name: option for option in options}
    _check_agreement(by_name, connection)
    merged = [option for option in options if option is not profile_option]
    if "connector" not in by_name:
        merged.insert(0, WithOption("connector", connection.connector, profile_option.at))
    # Those of the administrator's file have positions in that file, which mean nothing in the script.
    shared = [option if connection.is_own else replace(option, at=profile_option.at) for option in connection.options]
    return merged + shared


def _find_connection(profile_option: WithOption, connections: Connections) -> Connection:
    """Return the connection that an option names."""
    connection = connections.get(str(profile_option.value).lower())
    if connection is None:
        near = get_close_matches(str(profile_option.value).lower(), list(connections), n=1)
        hint = f"did you mean {near[0]!r}?" if near else "declare it with CREATE CONNECTION name WITH (...)"
        raise OptionValueError(f"there is no connection {profile_option.value!r}", hint=hint, at=profile_option.at)
    return connection


def _check_agreement(options: Mapping[str, WithOption], connection: Connection) -> None:
    """Refuse a table that names another connector than its connection, or sets an option that the connection sets."""
    kind = options.get("connector")
    if kind is not None and kind.value != connection.connector:
        message = f"connection {connection.name!r} is for connector '{connection.connector}', not '{kind.value}'"
        raise OptionValueError(message, hint="the table and its connection must have the same connector", at=kind.at)
    twice = next((options[option.name] for option in connection.options if option.name in options), None)
    if twice is not None:
        message = f"option '{twice.name}' is also set by connection {connection.name!r}"
        raise OptionValueError(message, hint="set it in only one of the two", at=twice.at)
