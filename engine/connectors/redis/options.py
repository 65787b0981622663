"""What a table in Redis may be told."""

from __future__ import annotations

from typing import Literal

from pydantic import Field as Option
from pydantic import SecretStr, model_validator

from engine.connectors.base import Options


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
        for name, target in (("ttl_secs", "string"), ("max_length", "list"), ("operation", "list")):
            if name in self.model_fields_set and self.target != target:
                raise ValueError(f"'target.{name}' is only for target = '{target}'")
        if (self.field_column is not None) != (self.target == "hash"):
            raise ValueError("'target.field_column' is needed for target = 'hash', and only there")
        return self
