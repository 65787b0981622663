"""CREATE CONNECTION: options that several tables share, such as where a broker is and who asks it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from sqlglot import exp

from engine.connectors import CONNECTORS
from engine.connectors.base import Connector
from engine.connectors.options import GivenOption, known_names
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
from engine.sql.complaints import Complaints
from engine.sql.tables.options import given_options
from engine.sql.text.parse import Script, parse

CONNECTION = "CONNECTION"


@dataclass(frozen=True, slots=True)
class Connection:
    """The options of a connector that are the same for every table that uses it. `is_own` is whether the script itself
    declares it, so that their places are places in it."""

    name: str
    connector: str
    options: tuple[GivenOption, ...]
    is_own: bool = True


Connections = Mapping[str, Connection]
"""Connections by their name in lower case."""


def declare_connection(node: exp.Create, script: Script, at: TextPosition) -> Connection:
    """The connection that a CREATE CONNECTION declares. Raises ScriptRefused with all that is wrong with it."""
    complaints = Complaints()
    given = given_options(node, script, complaints, at)
    complaints.raise_any()
    named = next((one for one in given if one.name == "connector"), None)
    if named is None:
        raise MissingOptionError(
            "required option 'connector' not set", hint="say what kind of place it leads to", at=at
        )
    connector = next((one for one in CONNECTORS if one.name == named.value and not one.hidden), None)
    if connector is None:
        known = ", ".join(one.name for one in CONNECTORS if not one.hidden)
        raise OptionValueError(f"there is no connector {named.value!r}", hint=f"there is {known}", at=named.at)
    rest = tuple(one for one in given if one.name != "connector")
    allowed = shared_names(connector)
    for one in rest:
        if one.name not in allowed:
            listing = ", ".join(f"'{name}'" for name in sorted(allowed)) or "none"
            message = f"'{one.name}' is no option that all {connector.name} tables have"
            complaints.add(UnknownOptionError(message, hint=f"there are {listing}", at=one.at))
    complaints.raise_any()
    return Connection(node.this.name, connector.name, rest)


def shared_names(connector: Connector) -> frozenset[str]:
    """The options that a connector has in every direction: those a connection can hold."""
    return frozenset.intersection(*(known_names(model) for model in connector.options.values()))


def read_connections(text: str) -> dict[str, Connection]:
    """The connections of a file that an administrator has written. Raises SettingError when it holds anything else."""
    found: dict[str, Connection] = {}
    try:
        script = parse(text)
        if script.complaints:
            raise ScriptRefused(script.complaints)
        for statement in script.statements:
            node = statement.node
            if not isinstance(node, exp.Create) or node.kind != CONNECTION:
                raise SettingError("there can only be CREATE CONNECTION", at=statement.at)
            one = declare_connection(node, script, statement.at)
            if one.name.lower() in found:
                raise DuplicateNameError(f"connection {one.name!r} is declared twice", at=statement.at)
            found[one.name.lower()] = replace(one, is_own=False)
    except EngineError as refused:
        raise SettingError(
            f"the file of connections is refused: {refused}", hint="it holds CREATE CONNECTION name WITH (...) alone"
        ) from refused
    return found


def with_connection(given: Sequence[GivenOption], connections: Connections) -> list[GivenOption]:
    """The options of a table together with those of the connection that it names."""
    named = next((one for one in given if one.name == "connection_profile"), None)
    if named is None:
        return list(given)
    connection = connections.get(str(named.value).lower())
    if connection is None:
        near = get_close_matches(str(named.value).lower(), list(connections), n=1)
        hint = f"did you mean {near[0]!r}?" if near else "declare it with CREATE CONNECTION name WITH (...)"
        raise OptionValueError(f"there is no connection {named.value!r}", hint=hint, at=named.at)
    mine = {one.name: one for one in given}
    kind = mine.get("connector")
    if kind is not None and kind.value != connection.connector:
        message = f"connection {connection.name!r} is for connector '{connection.connector}', not '{kind.value}'"
        raise OptionValueError(message, hint="the table and its connection must have the same connector", at=kind.at)
    twice = next((mine[one.name] for one in connection.options if one.name in mine), None)
    if twice is not None:
        message = f"option '{twice.name}' is given by connection {connection.name!r} as well"
        raise OptionValueError(message, hint="leave it out in one of the two", at=twice.at)
    own = [one for one in given if one is not named]
    if kind is None:
        own.insert(0, GivenOption("connector", connection.connector, named.at))
    return own + [one if connection.is_own else replace(one, at=named.at) for one in connection.options]
