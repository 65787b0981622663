"""Redis client: the same few calls for one server or a cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias
from urllib.parse import urlsplit

from engine.connectors.redis.options import RedisOptions
from engine.errors import EngineError, LookupFailedError, LookupRefusedError, MissingPackageError, message_of

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


def connect(options: RedisOptions) -> Client:
    """Return a client; it connects when it is first used, and again when the connection is lost."""
    password = None if options.password is None else options.password.get_secret_value()
    retry = Retry(ExponentialBackoff(cap=1.0, base=0.05), _TIMES)
    if options.address is not None:
        return _server(options.address, options.username, password, retry)
    return _cluster(options.cluster_addresses or "", options.username, password, retry)


def _server(address: str, user: str | None, password: str | None, retry: Retry) -> redis.Redis:
    # what is None would go before the user and the password of the URL
    login = {name: value for name, value in (("username", user), ("password", password)) if value is not None}
    return redis.Redis.from_url(
        _url(address), retry=retry, socket_timeout=_SECONDS, socket_connect_timeout=_SECONDS, **login
    )


def _cluster(listing: str, user: str | None, password: str | None, retry: Retry) -> RedisCluster:
    addresses = [_url(address.strip()) for address in listing.split(",") if address.strip()]
    nodes = [urlsplit(address) for address in addresses]
    return RedisCluster(
        startup_nodes=[_node(node.hostname or "localhost", node.port or 6379) for node in nodes],
        username=user,
        password=password,
        retry=retry,
        socket_timeout=_SECONDS,
        socket_connect_timeout=_SECONDS,
        ssl=any(address.startswith("rediss:") for address in addresses),
    )


@contextmanager
def errors_explained(
    options: RedisOptions,
    kind: type[EngineError] = LookupFailedError,
    refusal: type[EngineError] = LookupRefusedError,
) -> Iterator[None]:
    """Turn an error in the context into one of ours, which names the server; it never contains a password. It is a
    `refusal` if the server has answered and would answer the same again, else of `kind`."""
    try:
        yield
    except (redis.RedisError, OSError) as wrong:
        addresses = options.address or options.cluster_addresses or ""
        shown = re.sub(r"//[^/@]*@", "//...@", addresses)
        if isinstance(wrong, _REFUSALS) or message_of(wrong).startswith(_REFUSING_WORDS):
            hint = "check user and password, and what is kept under the keys"
            raise refusal(f"Redis at {shown} refuses a request: {message_of(wrong)}", hint=hint) from wrong
        raise kind(f"Redis at {shown} does not answer: {message_of(wrong)}", hint="check that it is up") from wrong


_REFUSALS = (
    redis.AuthenticationError,
    redis.exceptions.AuthorizationError,
    redis.exceptions.AuthenticationWrongNumberOfArgsError,
    redis.exceptions.NoPermissionError,
)
_REFUSING_WORDS = ("WRONGTYPE", "NOAUTH", "WRONGPASS", "NOPERM", "unknown command")


def _url(address: str) -> str:
    return address if "://" in address else f"redis://{address}"


def _node(host: str, port: int) -> ClusterNode:
    return ClusterNode(host, port)  # type: ignore[no-untyped-call]  # redis has no types there
