"""The objects below a prefix that hold the state of operators, as boto3 reads and writes them.

s3://bucket/jobs/20261128T201500-5f2c9a1e/0/1/42_aa.changelog      state/0/1/42_aa.changelog of a checkpoint

Every error names the bucket, and none holds a key.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

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

_AT_ONCE = 8
_PIECE = 1 << 20
_KEYS_OF_A_DELETION = 1000
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


@dataclass(frozen=True, slots=True)
class StateBucket:
    """All objects below a prefix, by their names below it."""

    prefix: Prefix

    def below(self, name: str) -> StateBucket:
        """Return a prefix below this one."""
        return StateBucket(replace(self.prefix, prefix=self.prefix.key(name)))

    def sizes(self) -> Mapping[str, int]:
        """List the objects with their sizes."""
        sizes: dict[str, int] = {}
        start = f"{self.prefix.prefix}/"
        with self._explained():
            pages = self._client().get_paginator("list_objects_v2")
            for page in pages.paginate(Bucket=self.prefix.bucket, Prefix=start):
                for found in page.get("Contents", ()):
                    if not found["Key"].endswith("/"):
                        sizes[found["Key"].removeprefix(start)] = int(found["Size"])
        return sizes

    def read(self, name: str) -> bytes:
        """Return the content of an object; raise FileNotFoundError if there is none."""
        from engine.connectors.files.s3_client import is_gone  # noqa: PLC0415 - boto3 is an extra

        with self._explained():
            try:
                answer = self._client().get_object(Bucket=self.prefix.bucket, Key=self.prefix.key(name))
            except Exception as error:
                if is_gone(error):
                    raise FileNotFoundError(f"{self.prefix}/{name}") from error
                raise
            return bytes(answer["Body"].read())

    def write(self, name: str, content: bytes) -> None:
        """Write a small object."""
        with self._explained():
            self._client().put_object(Bucket=self.prefix.bucket, Key=self.prefix.key(name), Body=content)

    def create(self, name: str, content: bytes) -> bool:
        """Write a small object unless there is one of this name; return whether it was written."""
        from engine.connectors.files.s3_client import is_taken  # noqa: PLC0415 - boto3 is an extra

        with self._explained():
            try:
                key = self.prefix.key(name)
                self._client().put_object(Bucket=self.prefix.bucket, Key=key, Body=content, IfNoneMatch="*")
            except Exception as error:
                if is_taken(error):
                    return False
                raise
            return True

    def upload(self, files: Mapping[str, Path]) -> None:
        """Upload files, each under its name."""

        def send(name: str) -> None:
            with self._explained():
                self._client().upload_file(str(files[name]), self.prefix.bucket, self.prefix.key(name))

        _all_at_once(send, files)

    def download(self, files: Mapping[str, Path]) -> None:
        """Download objects into new files and make them durable; raise FileNotFoundError if one is missing."""

        def get(name: str) -> None:
            target = files[name]
            target.parent.mkdir(parents=True, exist_ok=True)
            self._download(name, target)
            sync_file(target)

        _all_at_once(get, files)
        for folder in {target.parent for target in files.values()}:
            sync_directory(folder)

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects; missing ones are no error."""
        keys = [{"Key": self.prefix.key(name)} for name in names]
        with self._explained():
            for first in range(0, len(keys), _KEYS_OF_A_DELETION):
                some = {"Objects": keys[first : first + _KEYS_OF_A_DELETION], "Quiet": True}
                self._client().delete_objects(Bucket=self.prefix.bucket, Delete=some)

    def _download(self, name: str, target: Path) -> None:
        from engine.connectors.files.s3_client import is_gone  # noqa: PLC0415 - boto3 is an extra

        with self._explained():
            try:
                answer = self._client().get_object(Bucket=self.prefix.bucket, Key=self.prefix.key(name))
                with target.open("wb") as copy:
                    shutil.copyfileobj(answer["Body"], copy, _PIECE)
            except Exception as error:
                if is_gone(error):
                    raise FileNotFoundError(f"{self.prefix}/{name}") from error
                raise

    def _client(self) -> Any:
        variables = tuple(sorted(item for item in os.environ.items() if item[0].startswith("AWS_")))
        return _client(self.prefix.endpoint, variables)

    def _explained(self) -> AbstractContextManager[None]:
        return _explained(self.prefix)


@lru_cache(maxsize=8)
def _client(endpoint: str | None, _: tuple[tuple[str, str], ...]) -> Any:
    """Return a client for an endpoint and the variables of the environment. Threads share it, since creating one is
    slow."""
    from engine.connectors.files.s3_access import s3_access, s3_client  # noqa: PLC0415 - boto3 is an extra

    return s3_client(s3_access(Prefix("", "", endpoint)))


def _all_at_once(work: Callable[[str], None], names: Iterable[str]) -> None:
    """Do the work for every name, several at a time; raise the first error."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for _ in pool.map(work, names):
            pass


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
