"""Connections, tables and functions that are stored for all pipelines: their text before a query, and their options
without secrets.

Prepend the stored objects that a query uses when it is planned.

    SELECT plus(n) FROM orders                   as sent

    -- stored connection cp_... as it was at deployment
    CREATE CONNECTION "shop" WITH (...);
    -- stored table ct_... as it was at deployment
    CREATE TABLE "orders" (...) WITH ('connection_profile' = 'shop', ...);
    SELECT plus(n) FROM orders                   as run and shown

A pipeline stores this text: later changes of the table do not affect it until the next deployment. Names that the
query declares itself take precedence. Positions in errors refer to the text that was sent.

{"auth": {"password": "hunter2"}}                    as sent auth.password = {{ secret:cp_..._auth_password }}    as
stored; the secret itself is encrypted {"auth": {"password": "**********"}}                 as shown
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlalchemy import Connection

from engine.connectors.kinds import Connector
from engine.connectors.option_schemas import flat_values, nested_values, secret_options
from engine.connectors.options import name_of
from engine.connectors.secret_values import is_secret, refers_to_secret
from engine.control.context import Context
from engine.errors import (
    EngineError,
    OptionValueError,
    RequestError,
    ScriptRefused,
    SecretValueError,
    StaleWriteError,
    StoredInUseError,
    TextPosition,
    message_of,
)
from engine.formats import FORMATS
from engine.jobs import disk
from engine.jobs.decisions.spec import Spec
from engine.jobs.processes.probes import HIDDEN
from engine.store import stored as stored_functions
from engine.store import stored as stored_tables
from engine.store import stored as stored_uses
from engine.store.stored import Options, StoredConnection, StoredFunction, StoredTable
from engine.values.secret_references import secrets_named

if TYPE_CHECKING:
    from engine.sql.tables.create_connection import Connections


@dataclass(frozen=True, slots=True)
class WholeSpec:
    """A spec with everything that it uses; `lines` is the number of prepended lines, and `used` the ids of stored
    objects."""

    spec: Spec
    lines: int = 0
    used: frozenset[str] = frozenset()

    @contextmanager
    def places_as_sent(self) -> Iterator[None]:
        """Let errors name places of the text that was sent."""
        try:
            yield
        except ScriptRefused as refused:
            if not self.lines:
                raise
            for complaint in refused.complaints:
                complaint.at = self._as_sent(complaint.at)
            raise ScriptRefused(refused.complaints) from refused

    def _as_sent(self, at: TextPosition | None) -> TextPosition | None:
        return None if at is None or at.line <= self.lines else TextPosition(at.line - self.lines, at.column)


def with_stored(context: Context, spec: Spec) -> WholeSpec:
    """Return the spec with the stored declarations that it uses in front of its query, and the files of functions that
    it calls."""
    with context.database.reading() as connection:
        kept = _Kept(
            {connection.name.lower(): connection for connection in stored_tables.connections(connection)},
            {table.name.lower(): table for table in stored_tables.tables(connection)},
            stored_functions.read(connection),
        )
    own_files = tuple(text for text in spec.udfs if not stored_uses.is_marked(text))
    if not (kept.connections or kept.tables or kept.functions):
        return WholeSpec(replace(spec, udfs=own_files))
    from engine.sql.stored.checking import used_names  # noqa: PLC0415 - the server is there sooner

    taken = frozenset(administrators(context))
    parts, called = _Parts(), set[str]()
    texts = [spec.query]
    while texts:
        used = used_names(texts.pop())
        called |= used.functions
        for name in sorted(used.connections - taken):
            if name in kept.connections:
                parts.connections.setdefault(name, kept.connections[name])
        for name in sorted(used.tables & kept.tables.keys() - parts.tables.keys()):
            parts.tables[name] = kept.tables[name]
            texts.append(spelled_table(kept.tables[name]))
    front = parts.text()
    files = [function for function in kept.functions if _is_called(function, called, own_files)]
    stored: list[StoredConnection | StoredTable | StoredFunction] = [
        *parts.connections.values(),
        *parts.tables.values(),
        *files,
    ]
    marked = tuple(stored_uses.mark("function", function.id) + function.definition for function in files)
    whole = replace(spec, query=front + spec.query, udfs=(*own_files, *marked))
    return WholeSpec(whole, front.count("\n"), frozenset(used.id for used in stored))


def refuse_gone(connection: Connection, used: frozenset[str]) -> None:
    """Refuse a plan that uses a stored object that is deleted."""
    if not used:
        return
    kept = {stored.id for stored in stored_tables.connections(connection)}
    kept |= {stored.id for stored in stored_tables.tables(connection)}
    kept |= {function.id for function in stored_functions.read(connection)}
    if not used <= kept:
        raise StaleWriteError("a table, connection or function that it uses was deleted", hint="send the request again")


def stored_secrets(connection: Connection, context: Context, query: str) -> Mapping[str, str]:
    """Return the secrets of the stored objects that a query names."""
    return stored_tables.secrets(connection, context.database.vault, secrets_named(query))


def spelled_table(table: StoredTable) -> str:
    """Return the CREATE TABLE of a stored table."""
    from engine.sql.stored.spelling import spell_table  # noqa: PLC0415 - see `with_stored`

    return spell_table(table.name, table.connector, table.columns, table.options)


def spelled_connection(stored: StoredConnection) -> str:
    """Return the CREATE CONNECTION of a stored connection."""
    from engine.sql.stored.spelling import spell_connection  # noqa: PLC0415 - see `with_stored`

    return spell_connection(stored.name, stored.connector, stored.options)


@dataclass(frozen=True, slots=True)
class _Kept:
    connections: Mapping[str, StoredConnection]
    tables: Mapping[str, StoredTable]
    functions: Sequence[StoredFunction]


@dataclass(frozen=True, slots=True)
class _Parts:
    """Prepended texts by name."""

    connections: dict[str, StoredConnection] = field(default_factory=dict)
    tables: dict[str, StoredTable] = field(default_factory=dict)

    def text(self) -> str:
        """Return the text of connections, then of tables, each below its mark."""
        connections = sorted(self.connections.items())
        tables = sorted(self.tables.items())
        parts = [stored_uses.mark("connection", stored.id) + spelled_connection(stored) for _, stored in connections]
        parts += [stored_uses.mark("table", stored.id) + spelled_table(stored) for _, stored in tables]
        return "".join(f"{part}\n" for part in parts)


def _is_called(function: StoredFunction, called: set[str], own_files: Sequence[str]) -> bool:
    """Whether a query calls a function of a stored file that it does not provide itself."""
    from engine.udf.declared import name_files  # noqa: PLC0415 - see `with_stored`
    from engine.udf.reading import read_udfs  # noqa: PLC0415

    wanted = {name.lower() for name in function.names} & called
    if not wanted:
        return False
    try:
        own = {name.lower() for name in read_udfs(name_files(own_files)).by_name}
    except EngineError:
        return False  # planning it reports the error
    return bool(wanted - own)


_SHOWN = 5


def administrators(context: Context) -> Connections:
    """Return the connections of the administrator's file, by their names in lower case. They take precedence over
    stored ones."""
    from engine.sql.tables.create_connection import read_connections  # noqa: PLC0415 - the server is there sooner

    return read_connections(context.connections) if context.connections.strip() else {}


def refuse_id(name: str) -> None:
    """Refuse a name that could be an id."""
    if any(disk.is_id(name, kind) for kind in ("cp", "ct", "udf")):
        raise RequestError(f"{name!r} is what an id looks like", hint="choose another name")


def in_use(kind: str, name: str, users: Sequence[str]) -> StoredInUseError:
    """Return the error for an object that cannot be deleted, since others use it."""
    shown = ", ".join(users[:_SHOWN]) + (f" and {len(users) - _SHOWN} more" if len(users) > _SHOWN else "")
    return StoredInUseError(f"{kind} {name!r} is used by {shown}", hint="delete those first, or deploy them without it")


_LOGIN = re.compile(r"(?<=://)[^/@\s]+(?=@)")
"""User and password in a URL."""
_LONGEST_SECRET = 16_384
Values: TypeAlias = "dict[str, str | bool | int | float | list[str]]"


@dataclass(frozen=True, slots=True)
class SplitSecrets:
    """Options with references instead of secrets, and the secrets by reference name."""

    options: Values
    secrets: Mapping[str, str]


def read_config(config: Mapping[str, Any]) -> Values:
    """Validate the options that a client sends."""
    try:
        return flat_values(config)
    except ValueError as error:
        raise OptionValueError(message_of(error), hint="GET /connectors has the options of each connector") from error


def split_secrets(owner: str, connector: Connector, options: Values) -> SplitSecrets:
    """Separate the secrets; raise if one is the placeholder that is shown for it, or if another option contains a
    login."""
    names = secret_options(connector) | _secrets_of_formats()
    split, secrets = dict(options), dict[str, str]()
    for name, value in options.items():
        if name not in names:
            if isinstance(value, str) and _LOGIN.search(value):
                raise SecretValueError(
                    f"option '{name}' holds a login, which would be shown", hint="a connection has options for it"
                )
            continue
        text = str(value)
        if text == HIDDEN:
            raise SecretValueError(
                f"option '{name}' is the placeholder that responses show for a secret",
                hint="send the secret itself, or its name",
            )
        if not text or refers_to_secret(value):
            continue
        if "\0" in text or len(text) > _LONGEST_SECRET:
            raise SecretValueError(
                f"option '{name}' has a null character, or more than {_LONGEST_SECRET} characters",
                hint="an environment cannot hold it",
            )
        reference = f"{owner}_{re.sub('[^A-Za-z0-9]', '_', name)}"
        secrets[reference] = text
        split[name] = f"{{{{ secret:{reference} }}}}"
    return SplitSecrets(split, secrets)


def shown_config(connector: Connector, options: Options) -> dict[str, Any]:
    """Return the options as answers show them: without secrets, and without the login of a URL."""
    names = secret_options(connector) | _secrets_of_formats()
    shown = {name: HIDDEN if name in names and value else _plain(value) for name, value in options.items()}
    return nested_values(connector, shown)


def _plain(value: object) -> object:
    """Return a value for JSON, without the login of a URL; a duration is text."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, bool | int | float) else _LOGIN.sub(HIDDEN, str(value))


def _secrets_of_formats() -> frozenset[str]:
    fields = [field for form in FORMATS for field in form.options.model_fields.items()]
    return frozenset(name_of(name, info) for name, info in fields if is_secret(info))
