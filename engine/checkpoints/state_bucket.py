"""The objects below a prefix that hold the state of operators.

s3://bucket/jobs/20261128T201500-5f2c9a1e/0/1/42_aa.changelog      state/0/1/42_aa.changelog of a checkpoint

Every error names the bucket, and none holds a key.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.connectors.files.storage import Prefix, read_location
from engine.delivery.durable import sync_directory, sync_file
from engine.errors import (
    EngineError,
    SettingError,
    StateBucketError,
    StateBucketUnavailableError,
    TargetUnavailableError,
    UnwritableTargetError,
    message_of,
)

if TYPE_CHECKING:
    from engine.connectors.files.s3_storage import S3Storage

_PIECE = 1 << 20
_CHECK = (
    "check the bucket, AWS_REGION, AWS_ENDPOINT_URL and the credentials; they must allow to list, get, put and delete"
)


def read_state_url(text: str) -> Prefix:
    """Return the prefix that a setting `state_url` names; raise SettingError if it is none."""
    try:
        location = read_location(text)
    except ValueError as error:
        raise SettingError(f"state_url {message_of(error)}", hint="write s3://bucket/prefix") from error
    if isinstance(location, Path):
        raise SettingError(f"state_url must be in a bucket, not {text!r}", hint="write s3://bucket/prefix")
    if not location.prefix:
        raise SettingError("state_url must not be a whole bucket", hint="write s3://bucket/prefix")
    return location


def state_storage(prefix: Prefix) -> S3Storage:
    """Return the objects below a prefix. Errors are those of a state."""
    from engine.connectors.files.s3_storage import S3Storage  # noqa: PLC0415 - boto3 is an extra

    return S3Storage(prefix, partial(_client_of, prefix), _explained)


def upload(storage: S3Storage, files: Mapping[str, Path]) -> None:
    """Upload files, each under its name."""
    from engine.connectors.files.s3_storage import all_at_once  # noqa: PLC0415 - boto3 is an extra

    all_at_once(lambda name: storage.put(name, files[name]), files)


def download(storage: S3Storage, files: Mapping[str, Path]) -> None:
    """Download objects into new files and make them durable; raise FileNotFoundError if one is missing."""
    from engine.connectors.files.s3_storage import all_at_once  # noqa: PLC0415 - boto3 is an extra

    def get(name: str) -> None:
        target = files[name]
        target.parent.mkdir(parents=True, exist_ok=True)
        with _explained(storage.prefix), storage.open_range(name) as content, target.open("wb") as copy:
            shutil.copyfileobj(content, copy, _PIECE)
        sync_file(target)

    all_at_once(get, files)
    for folder in {target.parent for target in files.values()}:
        sync_directory(folder)


def _client_of(prefix: Prefix) -> Any:
    variables = tuple(sorted(item for item in os.environ.items() if item[0].startswith("AWS_")))
    return _client(prefix.endpoint, variables)


@lru_cache(maxsize=8)
def _client(endpoint: str | None, _: tuple[tuple[str, str], ...]) -> Any:
    """Return a client for an endpoint and the variables of the environment. Threads share it, since creating one is
    slow."""
    from engine.connectors.files.s3_access import s3_access, s3_client  # noqa: PLC0415 - boto3 is an extra

    return s3_client(s3_access(Prefix("", "", endpoint)))


@contextmanager
def _explained(prefix: Prefix) -> Iterator[None]:
    """Turn a bucket's error into one that names the bucket; it never contains a key."""
    from engine.connectors.files.s3_client import errors_explained  # noqa: PLC0415 - boto3 is an extra

    try:
        with errors_explained(prefix):
            yield
    except (UnwritableTargetError, TargetUnavailableError) as error:
        raise _named(prefix, error) from error


def _named(prefix: Prefix, error: EngineError) -> EngineError:
    if isinstance(error, UnwritableTargetError):
        reason = error.message.removeprefix(f"{prefix} cannot be written: ")
        return StateBucketError(f"the state in {prefix} cannot be used: {reason}", hint=_CHECK)
    reason = error.message.removeprefix(f"{prefix} does not answer: ")
    return StateBucketUnavailableError(f"the state in {prefix} cannot be reached: {reason}", hint=error.hint)
