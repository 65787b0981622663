"""Redis: look up rows by key, and write them as strings, lists or hashes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine import types
from engine.connectors.base import Options, SinkContext, Table
from engine.connectors.kinds import Connector, LookupKind, SinkKind
from engine.connectors.redis.options import RedisLookupOptions, RedisOptions, RedisSinkOptions
from engine.formats.base import RecordKind
from engine.schema import Field

if TYPE_CHECKING:
    from engine.connectors.redis.lookup import RedisLookup
    from engine.connectors.redis.sink import RedisSink


def _open_sink(table: Table, context: SinkContext) -> RedisSink:
    from engine.connectors.redis.sink import RedisSink  # noqa: PLC0415 - see `_open_lookup`

    assert isinstance(table.options, RedisSinkOptions)
    return RedisSink(table, table.options, context.directory)


def _open_lookup(table: Table) -> RedisLookup:
    from engine.connectors.redis.lookup import RedisLookup  # noqa: PLC0415 - checks must not pay for Arrow

    assert isinstance(table.options, RedisLookupOptions)
    return RedisLookup(table, table.options)


def _check(table: Table) -> str | None:
    if isinstance(table.options, RedisSinkOptions):
        for name in filter(None, (table.options.key_column, table.options.field_column)):
            column = table.schema.find(name)
            if column is None or column.nullable or column.type != types.TEXT:
                return f"column {name!r} is part of a key, so it must be a TEXT NOT NULL column of the table"
    if table.direction == "lookup" and dict(table.metadata).get("".join(table.primary_key)) != "key":
        return "the PRIMARY KEY of a Redis table must be its key: write `k TEXT METADATA FROM 'key' PRIMARY KEY`"
    return None


def _probe(options: Options) -> str:
    from engine.connectors.redis.client import connect, errors_explained  # noqa: PLC0415 - see `_open_lookup`

    assert isinstance(options, RedisOptions)
    with errors_explained(options):
        connect(options).ping()
    return "the server lets it in"


def _redirect(options: Options, prefix: str) -> Options:
    if not isinstance(options, RedisSinkOptions):
        return options
    return options.model_copy(update={"key_prefix": f"{prefix}-{options.key_prefix}"})


REDIS = Connector(
    name="redis",
    summary="Looks up rows in Redis by key, and writes rows as strings, lists or hashes.",
    sink=SinkKind(
        options=RedisSinkOptions,
        open=_open_sink,
        check=_check,
        redirect=_redirect,
        records_stand_alone=True,
        guarantee="at-least-once",
        limits=(
            "When an epoch is sent again after a crash, strings and hashes come out the same, but the "
            "values of a list are there twice.",
            "A Redis server that loses writes it has acknowledged (`appendfsync everysec`, a failover) "
            "loses them unnoticed.",
        ),
    ),
    lookup=LookupKind(
        options=RedisLookupOptions,
        open=_open_lookup,
        check=_check,
    ),
    connection=RedisOptions,
    carries=frozenset({RecordKind.JSON, RecordKind.TEXT}),
    carries_changes=False,
    metadata={"key": Field("key", types.TEXT, nullable=False)},
    probe=_probe,
)
