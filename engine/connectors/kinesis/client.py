"""Client of Kinesis, and the translation of its errors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from engine.connectors.addresses import ALLOWED, check_url
from engine.connectors.aws_region import region_of
from engine.connectors.kinesis.options import KinesisConnectionOptions, KinesisOptions
from engine.errors import (
    EngineError,
    MissingPackageError,
    SourceRefusedError,
    SourceUnavailableError,
    message_of,
)

try:
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, NoRegionError
except ImportError as missing:
    raise MissingPackageError(
        "the connector 'kinesis' needs the Python package boto3",
        hint="pip install 'airflow-provider-arroyo[kinesis]'",
    ) from missing

__all__ = ("EXPIRED", "GONE", "ClientError", "code_of", "connect", "errors_explained", "probe_stream")

_ATTEMPTS = 8
_CONNECT_SECONDS = 10
_READ_SECONDS = 60
GONE = "ResourceNotFoundException"
EXPIRED = "ExpiredIteratorException"
_FLEETING = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "LimitExceededException",
        "KMSThrottlingException",
        "Throttling",
        "ThrottlingException",
        "RequestTimeout",
        "ExpiredToken",
        "ExpiredTokenException",
        EXPIRED,
    }
)
"""Codes of refusals that pass."""


def connect(options: KinesisConnectionOptions) -> Any:
    """Return the client for a table. Clients are cached by their options, since creating one is slow. It retries
    throttled requests."""
    if options.endpoint is not None:
        _check(options.endpoint, os.environ.get(ALLOWED, ""))
    secrets = (options.access_key_id, options.secret_access_key, options.session_token)
    region = region_of(options.aws_region)
    return _client(options.endpoint, region, *(secret and secret.get_secret_value() for secret in secrets))


@lru_cache(maxsize=8)
def _check(endpoint: str, allowed: str) -> None:
    """Raise if scripts may not reach an endpoint."""
    check_url(endpoint, {ALLOWED: allowed})


@lru_cache(maxsize=8)
def _client(endpoint: str | None, region: str | None, key_id: str | None, key: str | None, token: str | None) -> Any:
    return boto3.session.Session().client(
        "kinesis",
        endpoint_url=endpoint,
        region_name=region,
        aws_access_key_id=key_id,
        aws_secret_access_key=key,
        aws_session_token=token,
        config=Config(
            retries={"mode": "standard", "max_attempts": _ATTEMPTS},
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=_READ_SECONDS,
            max_pool_connections=32,
        ),
    )


def code_of(error: BaseException) -> str:
    """Return the code of a server's answer."""
    return str(error.response.get("Error", {}).get("Code", "")) if isinstance(error, ClientError) else ""


@contextmanager
def errors_explained(
    options: KinesisConnectionOptions,
    kind: type[EngineError] = SourceUnavailableError,
    refusal: type[EngineError] = SourceRefusedError,
) -> Iterator[None]:
    """Turn an error in the context into one of ours, which contains no key: a `refusal` if the server would answer the
    same again, else of `kind`."""
    of_stream = f"the stream {options.stream_name!r}" if isinstance(options, KinesisOptions) else "a connection"
    try:
        yield
    except NoRegionError as wrong:
        raise refusal(
            f"the region of {of_stream} is not known",
            hint="set 'aws_region', or the variable AWS_REGION where the pipeline runs",
        ) from wrong
    except NoCredentialsError as wrong:
        raise refusal(
            f"there are no credentials for {of_stream}",
            hint="set 'auth.access_key_id' and 'auth.secret_access_key', or give the pipeline a role or a profile",
        ) from wrong
    except (BotoCoreError, ClientError) as wrong:
        if code_of(wrong) == GONE:
            raise refusal(
                f"{of_stream} does not exist: {message_of(wrong)}",
                hint="check 'stream_name' and 'aws_region'",
            ) from wrong
        if _is_refusal(wrong):
            raise refusal(
                f"Kinesis refuses a request for {of_stream}: {message_of(wrong)}",
                hint="check the credentials and what they allow, and that the stream was not created again",
            ) from wrong
        raise kind(
            f"Kinesis does not answer for {of_stream}: {message_of(wrong)}",
            hint="check that the endpoint is right and can be reached from here",
        ) from wrong


def _is_refusal(error: Exception) -> bool:
    """Whether the server has answered that a request is wrong, and would answer the same again."""
    if not isinstance(error, ClientError):
        return False
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500)
    return 400 <= status < 500 and status not in (408, 429) and code_of(error) not in _FLEETING


def probe_stream(options: KinesisConnectionOptions) -> str:
    """Describe a stream, or that a connection without one is let in. Fail as a source would."""
    with errors_explained(options):
        if not isinstance(options, KinesisOptions):
            connect(options).list_streams(Limit=1)
            return "Kinesis lets it in"
        summary = connect(options).describe_stream_summary(StreamName=options.stream_name)
    count = summary["StreamDescriptionSummary"]["OpenShardCount"]
    return f"the stream has {count} open shard{'s' * (count != 1)}"
