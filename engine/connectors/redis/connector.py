"""Redis: rows are looked up by key, and written as strings, lists or hashes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field as Option
from pydantic import SecretStr, model_validator

from engine import types
from engine.connectors.base import Connector, Options, SinkPlace, Table
from engine.schema import Field

if TYPE_CHECKING:
    from engine.connectors.redis.lookup import RedisLookup
    from engine.connectors.redis.sink import RedisSink


class RedisOptions(Options):
    """Which server, and who asks it."""

    address: str | None = Option(
        None, description="The server, `redis://host:port/database`; `rediss://` is encrypted. Or `cluster.addresses`."
    )
    cluster_addresses: str | None = Option(
        None, alias="cluster.addresses", description="Some nodes of a cluster, `redis://host:port`, comma-separated."
    )
    username: str | None = Option(None, description="Who asks, where the server knows users.")
    password: SecretStr | None = Option(None, description="The password, or the server's only one.")

    @model_validator(mode="after")
    def _one_place(self) -> RedisOptions:
        if (self.address is None) == (self.cluster_addresses is None):
            raise ValueError("exactly one of 'address' and 'cluster.addresses' must be set")
        return self


class RedisLookupOptions(RedisOptions):
    """Where the rows are looked up."""

    key_prefix: str = Option("", alias="target.key_prefix", description="What Redis has before every key.")


class RedisSinkOptions(RedisOptions):
    """How rows are written. Rows of an epoch that is run again are written again."""

    target: Literal["string", "list", "hash"] = Option(
        description="What a row becomes: a string of its own, a value in a list, or a field in a hash."
    )
    key_prefix: str = Option(alias="target.key_prefix", description="What every key begins with.")
    key_column: str | None = Option(
        None,
        alias="target.key_column",
        description="TEXT NOT NULL column with the rest of the key.",
    )
    field_column: str | None = Option(
        None, alias="target.field_column", description="TEXT NOT NULL column with the field of a hash."
    )
    ttl_secs: int | None = Option(
        None, alias="target.ttl_secs", gt=0, description="After how many seconds Redis forgets a string."
    )
    max_length: int | None = Option(
        None, alias="target.max_length", gt=0, description="How many values a list keeps; the oldest go."
    )
    operation: Literal["append", "prepend"] = Option(
        "append", alias="target.operation", description="At which end of a list values are added."
    )

    @model_validator(mode="after")
    def _fit_the_target(self) -> RedisSinkOptions:
        given = self.model_fields_set
        for name, target in (("ttl_secs", "string"), ("max_length", "list"), ("operation", "list")):
            if name in given and self.target != target:
                raise ValueError(f"'target.{name}' is only for target = '{target}'")
        if (self.field_column is not None) != (self.target == "hash"):
            raise ValueError("'target.field_column' is needed for target = 'hash', and only there")
        return self


def _open_sink(table: Table, place: SinkPlace) -> RedisSink:
    from engine.connectors.redis.sink import RedisSink  # noqa: PLC0415 - see `_open_lookup`

    assert isinstance(table.options, RedisSinkOptions)
    return RedisSink(table, table.options, place.directory)


def _open_lookup(table: Table) -> RedisLookup:
    from engine.connectors.redis.lookup import RedisLookup  # noqa: PLC0415 - checks must not pay for Arrow

    assert isinstance(table.options, RedisLookupOptions)
    return RedisLookup(table, table.options)


def _check(table: Table) -> str | None:
    if isinstance(table.options, RedisSinkOptions):
        for name in filter(None, (table.options.key_column, table.options.field_column)):
            column = table.schema.find(name)
            if column is None or column.nullable or column.type != types.TEXT:
                return f"column {name!r} makes keys, so it must be a TEXT NOT NULL of the table"
    if table.direction == "lookup" and dict(table.metadata).get("".join(table.primary_key)) != "key":
        return "the PRIMARY KEY of a Redis table must be its key: write `k TEXT METADATA FROM 'key' PRIMARY KEY`"
    return None


REDIS = Connector(
    name="redis",
    summary="Looks rows up in Redis, each the string value of a key, and writes rows as strings, lists or hashes.",
    options={"sink": RedisSinkOptions, "lookup": RedisLookupOptions},
    formats=frozenset({"json", "raw_string"}),
    metadata={"key": Field("key", types.TEXT, nullable=False)},
    check=_check,
    open_sink=_open_sink,
    open_lookup=_open_lookup,
    guarantee="at-least-once",
    limits=(
        "Strings and hashes come out the same when an epoch is sent again after a crash; values of a list are then "
        "there twice.",
        "A Redis that loses what it has acknowledged, as with appendfsync everysec or a failover, loses it unnoticed.",
    ),
)
