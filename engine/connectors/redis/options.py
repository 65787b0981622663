"""Options of a table in Redis."""

from __future__ import annotations

from typing import Literal

from pydantic import Field as Option
from pydantic import SecretStr, model_validator

from engine.connectors.base import Options


class RedisOptions(Options):
    """Server and login."""

    address: str | None = Option(
        None,
        description="Server, as `redis://host:port/database`, or `rediss://...` for an encrypted connection. "
        "Exactly one of this and `cluster.addresses` must be set.",
    )
    cluster_addresses: str | None = Option(
        None,
        alias="cluster.addresses",
        description="Some nodes of a cluster, as comma-separated `redis://host:port` addresses.",
    )
    username: str | None = Option(None, description="User who logs in, if the server has users.")
    password: SecretStr | None = Option(None, description="Password of that user, or of the server.")

    @model_validator(mode="after")
    def _one_place(self) -> RedisOptions:
        if (self.address is None) == (self.cluster_addresses is None):
            raise ValueError("exactly one of 'address' and 'cluster.addresses' must be set")
        return self


class RedisLookupOptions(RedisOptions):
    """Keys of the looked-up rows."""

    key_prefix: str = Option("", alias="target.key_prefix", description="Prefix of every key in Redis.")


class RedisSinkOptions(RedisOptions):
    """Options for writing rows. If an epoch is run again, its rows are written again."""

    target: Literal["string", "list", "hash"] = Option(
        description="What each row becomes: a string under its own key, a value in a list, or a field of a hash."
    )
    key_prefix: str = Option(alias="target.key_prefix", description="Prefix of every key.")
    key_column: str | None = Option(
        None,
        alias="target.key_column",
        description="TEXT NOT NULL column whose value follows the prefix in the key.",
    )
    field_column: str | None = Option(
        None, alias="target.field_column", description="TEXT NOT NULL column whose value is the field of the hash."
    )
    ttl_secs: int | None = Option(
        None, alias="target.ttl_secs", gt=0, description="Seconds after which Redis deletes a string."
    )
    max_length: int | None = Option(
        None, alias="target.max_length", gt=0, description="Maximum number of values in a list; the oldest are removed."
    )
    operation: Literal["append", "prepend"] = Option(
        "append", alias="target.operation", description="End of the list at which values are added."
    )

    @model_validator(mode="after")
    def _fit_the_target(self) -> RedisSinkOptions:
        for name, target in (("ttl_secs", "string"), ("max_length", "list"), ("operation", "list")):
            if name in self.model_fields_set and self.target != target:
                raise ValueError(f"'target.{name}' is only for target = '{target}'")
        if (self.field_column is not None) != (self.target == "hash"):
            raise ValueError("'target.field_column' is needed for target = 'hash', and only there")
        return self
