"""Talking to Redis: one server or a cluster, behind the same few calls."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias
from urllib.parse import urlsplit

from engine.connectors.redis import RedisOptions
from engine.errors import EngineError, LookupFailedError, MissingPackageError, OptionValueError

try:
    import redis
    from redis.backoff import ExponentialBackoff
    from redis.cluster import ClusterNode, RedisCluster
    from redis.retry import Retry
except ImportError as missing:
    raise MissingPackageError(
        "the connector 'redis' needs the Python package redis", hint="pip install 'airflow-provider-arroyo[redis]'"
    ) from missing

Client: TypeAlias = "redis.Redis | RedisCluster"

_SECONDS = 10.0
_TIMES = 3
_VARIABLE = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")


def connect(options: RedisOptions) -> Client:
    """A client; it connects when it is first used, and again when the connection is lost."""
    user = None if options.username is None else filled(options.username)
    password = None if options.password is None else filled(options.password.get_secret_value())
    retry = Retry(ExponentialBackoff(cap=1.0, base=0.05), _TIMES)
    if options.address is not None:
        own = {name: value for name, value in (("username", user), ("password", password)) if value is not None}
        return redis.Redis.from_url(
            _url(options.address), retry=retry, socket_timeout=_SECONDS, socket_connect_timeout=_SECONDS, **own
        )
    addresses = [_url(one.strip()) for one in (options.cluster_addresses or "").split(",") if one.strip()]
    places = [urlsplit(one) for one in addresses]
    return RedisCluster(
        startup_nodes=[_node(one.hostname or "localhost", one.port or 6379) for one in places],
        username=user,
        password=password,
        retry=retry,
        socket_timeout=_SECONDS,
        socket_connect_timeout=_SECONDS,
        ssl=any(one.startswith("rediss:") for one in addresses),
    )


@contextmanager
def told(options: RedisOptions, kind: type[EngineError] = LookupFailedError) -> Iterator[None]:
    """Whatever goes wrong inside is an error of ours, which says where; it never holds a password."""
    try:
        yield
    except (redis.RedisError, OSError) as wrong:
        place = options.address or options.cluster_addresses or ""
        shown = re.sub(r"//[^/@]*@", "//...@", place)
        raise kind(
            f"Redis at {shown} does not answer: {wrong}", hint="is it up, and are user and password right?"
        ) from wrong


def filled(text: str) -> str:
    """The text with `{{ NAME }}` replaced by variables of the environment, which must be there."""

    def value(found: re.Match[str]) -> str:
        known = os.environ.get(found[1])
        if known is None:
            raise OptionValueError(
                f"the environment of a worker has no variable {found[1]!r}", hint="set it where the job runs"
            )
        return known

    return _VARIABLE.sub(value, text)


def _url(address: str) -> str:
    address = filled(address)
    return address if "://" in address else f"redis://{address}"


def _node(host: str, port: int) -> ClusterNode:
    return ClusterNode(host, port)  # type: ignore[no-untyped-call]  # redis has no types there
