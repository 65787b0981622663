"""Redis: rows are looked up by key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field as Option
from pydantic import SecretStr, model_validator

from engine import types
from engine.connectors.base import Connector, Options, Table
from engine.schema import Field

if TYPE_CHECKING:
    from engine.connectors.redis_lookup import RedisLookup


class RedisOptions(Options):
    """Which server, and who asks it. In each of these texts `{{ NAME }}` is a variable of the workers' environment."""

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


def _open_lookup(table: Table) -> RedisLookup:
    from engine.connectors.redis_lookup import RedisLookup  # noqa: PLC0415 - checks must not pay for Arrow

    assert isinstance(table.options, RedisLookupOptions)
    return RedisLookup(table, table.options)


def _check(table: Table) -> str | None:
    if table.direction == "lookup" and dict(table.metadata).get("".join(table.primary_key)) != "key":
        return "the PRIMARY KEY of a Redis table must be its key: write `k TEXT METADATA FROM 'key' PRIMARY KEY`"
    return None


REDIS = Connector(
    name="redis",
    summary="Looks rows up in Redis, each the string value of a key.",
    options={"lookup": RedisLookupOptions},
    formats=frozenset({"json", "raw_string"}),
    metadata={"key": Field("key", types.TEXT, nullable=False)},
    check=_check,
    open_lookup=_open_lookup,
)
