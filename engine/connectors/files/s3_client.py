"""S3 client, and the translation of its errors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from engine.connectors.addresses import ALLOWED, check_url
from engine.connectors.aws_region import region_of
from engine.connectors.files.storage import BucketOptions, Prefix
from engine.errors import (
    MissingFileError,
    MissingPackageError,
    SourceRefusedError,
    SourceUnavailableError,
    TargetUnavailableError,
    UnwritableTargetError,
    message_of,
)

try:
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, ParamValidationError
except ImportError as missing:
    raise MissingPackageError(
        "buckets need the Python package boto3", hint="pip install 'airflow-provider-arroyo[s3]'"
    ) from missing

_TIMES = 5
_SECONDS = 60
_GONE = frozenset({"404", "NoSuchKey", "NotFound"})
_TAKEN = frozenset({"412", "PreconditionFailed", "409", "ConditionalRequestConflict", "NoSuchUpload"})
_UNDER_WAY = frozenset({"409", "ConditionalRequestConflict"})
_UNCONDITIONAL = frozenset({"501", "NotImplemented"})
_REFUSED = frozenset({"AccessDenied", "403", "InvalidAccessKeyId", "SignatureDoesNotMatch", "NoSuchBucket"})
_AWAY = frozenset({408, 409, 425, 429})
_FLEETING = frozenset({"RequestTimeout", "SlowDown", "Throttling", "ThrottlingException", "ExpiredToken"})
"""Error codes that look like a wrong request but are temporary: a role's credentials are being renewed."""


def connect(prefix: Prefix, options: BucketOptions) -> Any:
    """Return the client of a bucket. Clients are cached by their options, since creating one is slow."""
    endpoint = prefix.endpoint or options.endpoint
    secrets = (options.access_key_id, options.secret_access_key, options.session_token)
    if endpoint is not None:
        _check(endpoint, os.environ.get(ALLOWED, ""))
    region = region_of(options.region, endpoint)
    return _client(endpoint, region, *(secret and secret.get_secret_value() for secret in secrets))


@lru_cache(maxsize=8)
def _check(endpoint: str, allowed: str) -> None:
    """Raise if scripts may not reach an endpoint."""
    check_url(endpoint, {ALLOWED: allowed})


@lru_cache(maxsize=8)
def _client(endpoint: str | None, region: str | None, key_id: str | None, key: str | None, token: str | None) -> Any:
    # others than Amazon know neither buckets as host names nor checksums that no request needs
    extra: dict[str, Any] = {} if endpoint is None else {"s3": {"addressing_style": "path"}}
    extra |= {} if endpoint is None else {"request_checksum_calculation": "when_required"}
    retries = {"mode": "standard", "max_attempts": _TIMES}
    config = Config(retries=retries, connect_timeout=_SECONDS / 6, read_timeout=_SECONDS, **extra)
    return boto3.session.Session().client(
        "s3",
        endpoint_url=endpoint,
        region_name=region,
        aws_access_key_id=key_id,
        aws_secret_access_key=key,
        aws_session_token=token,
        config=config,
    )


def code_of(error: Exception) -> str:
    """Return the code of a server's answer."""
    return str(error.response.get("Error", {}).get("Code", "")) if isinstance(error, ClientError) else ""


def _is_refusal(error: Exception) -> bool:
    """Whether the server has answered that a request is wrong, and would answer the same again."""
    if not isinstance(error, ClientError):
        return isinstance(error, ParamValidationError)
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500)
    return 400 <= status < 500 and status not in _AWAY and code_of(error) not in _FLEETING


def is_gone(error: Exception) -> bool:
    """Whether an answer means that there is no such object."""
    return code_of(error) in _GONE


def is_taken(error: Exception) -> bool:
    """Whether an answer means that an object exists already, perhaps one of ours."""
    return code_of(error) in _TAKEN


def is_under_way(error: Exception) -> bool:
    """Whether a conditional request was refused because another one for the same object was under way."""
    return code_of(error) in _UNDER_WAY


def knows_no_conditions(error: Exception) -> bool:
    """Whether a server cannot refuse to overwrite an object."""
    return code_of(error) in _UNCONDITIONAL


@contextmanager
def reading_explained(what: str) -> Iterator[None]:
    """Turn an error of reading a bucket into one of ours, which names `what` is read; it never contains a key."""
    try:
        yield
    except (ClientError, BotoCoreError) as wrong:
        if is_gone(wrong):
            raise MissingFileError(f"there is no file {what}", hint="check the option 'path'") from wrong
        if isinstance(wrong, NoCredentialsError) or code_of(wrong) in _REFUSED or _is_refusal(wrong):
            raise SourceRefusedError(
                f"{what} cannot be read: {message_of(wrong)}",
                hint="check the name of the bucket, and the keys: the variables AWS_*, or 'storage.access_key_id'",
            ) from wrong
        raise SourceUnavailableError(
            f"{what} does not answer: {message_of(wrong)}", hint="check that the server is up and the URL is right"
        ) from wrong


@contextmanager
def errors_explained(prefix: Prefix) -> Iterator[None]:
    """Turn an error in the context into one of ours, which names the location; it never contains a key."""
    try:
        yield
    except NoCredentialsError as wrong:
        raise UnwritableTargetError(
            f"{prefix} cannot be written: there are no credentials",
            hint="set 'storage.access_key_id' and 'storage.secret_access_key', or give the driver a role or a profile",
        ) from wrong
    except (ClientError, BotoCoreError) as wrong:
        if code_of(wrong) in _REFUSED or _is_refusal(wrong):
            raise UnwritableTargetError(
                f"{prefix} cannot be written: {message_of(wrong)}",
                hint="check the name of the bucket, the keys and their permissions",
            ) from wrong
        raise TargetUnavailableError(
            f"{prefix} does not answer: {message_of(wrong)}", hint="check that the server is up and the URL is right"
        ) from wrong
