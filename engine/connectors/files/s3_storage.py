"""Storage below a prefix of a bucket that speaks S3.

    create             PUT with If-None-Match: *
    compare_and_put    PUT with If-Match: the version is the ETag
    put                PUT, or an upload in parts for a large file
    list               ListObjectsV2, which is consistent since 2020 at Amazon, and at the stores of the tests

boto3 repeats a request whose answer was lost. If the first one was done, the second is answered by 412. So the contents
are compared before a call reports that another content is there.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, cast

from botocore.exceptions import ClientError

from engine.connectors.files.s3_client import is_gone, is_taken, is_under_way, knows_no_conditions
from engine.connectors.files.storage import Prefix
from engine.delivery.storage import NoConditionsError, Stored

AT_ONCE = 8
"""Number of requests that are sent in parallel."""
_KEYS_OF_A_DELETION = 1000
_TRIES = 4
"""Number of conditional requests while the store answers that another one is under way."""


@dataclass(frozen=True, slots=True)
class S3Storage:
    """Objects below a prefix. `explained` turns errors of boto3 in its context into ones that name the prefix."""

    prefix: Prefix
    client: Callable[[], Any]
    explained: Callable[[Prefix], AbstractContextManager[None]]

    def __str__(self) -> str:
        return str(self.prefix)

    def below(self, name: str) -> S3Storage:
        """Return the storage below a longer prefix."""
        return replace(self, prefix=replace(self.prefix, prefix=self.prefix.key(name)))

    def get(self, name: str) -> Stored | None:
        """Read an object with one request."""
        with self.explained(self.prefix):
            answer = self._get(name)
            return None if answer is None else Stored(bytes(answer["Body"].read()), str(answer["ETag"]))

    def open_range(self, name: str, first: int = 0, size: int | None = None) -> BinaryIO:
        """Open the body of one request."""
        if size == 0:
            return io.BytesIO()
        last = "" if size is None else str(first + size - 1)
        wanted = {} if first == 0 and size is None else {"Range": f"bytes={first}-{last}"}
        with self.explained(self.prefix):
            answer = self._get(name, **wanted)
        if answer is None:
            raise FileNotFoundError(f"{self.prefix}/{name}")
        return cast("BinaryIO", answer["Body"])

    def put(self, name: str, content: bytes | Path) -> None:
        """Write an object with one request, or in parts."""
        with self.explained(self.prefix):
            if isinstance(content, bytes):
                self.client().put_object(**self._where(name), Body=content)
            else:
                self.client().upload_file(str(content), self.prefix.bucket, self.prefix.key(name))

    def create(self, name: str, content: bytes) -> str | None:
        """Write an object unless there is one."""
        return self._put_if(name, content, {"IfNoneMatch": "*"})

    def compare_and_put(self, name: str, content: bytes, version: str) -> str | None:
        """Replace an object that still has this ETag."""
        return self._put_if(name, content, {"IfMatch": version})

    def list(self, start: str = "") -> Mapping[str, int]:
        """List the objects, a request for each thousand."""
        found: dict[str, int] = {}
        folder = self.prefix.key("")
        with self.explained(self.prefix):
            pages = self.client().get_paginator("list_objects_v2")
            for page in pages.paginate(Bucket=self.prefix.bucket, Prefix=folder + start):
                for each in page.get("Contents", ()):
                    name = str(each["Key"]).removeprefix(folder)
                    if not name.endswith("/"):
                        found[name] = int(each["Size"])
        return dict(sorted(found.items()))

    def copy(self, source: str, target: str) -> None:
        """Have the store copy an object."""
        with self.explained(self.prefix):
            try:
                self.client().copy(self._where(source), self.prefix.bucket, self.prefix.key(target))
            except ClientError as error:
                if is_gone(error):
                    raise FileNotFoundError(f"{self.prefix}/{source}") from error
                raise

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects, a thousand with each request."""
        keys = [{"Key": self.prefix.key(name)} for name in names]
        with self.explained(self.prefix):
            for first in range(0, len(keys), _KEYS_OF_A_DELETION):
                some = {"Objects": keys[first : first + _KEYS_OF_A_DELETION], "Quiet": True}
                self.client().delete_objects(Bucket=self.prefix.bucket, Delete=some)

    def _put_if(self, name: str, content: bytes, condition: Mapping[str, str]) -> str | None:
        with self.explained(self.prefix):
            for attempt in range(_TRIES):
                try:
                    answer = self.client().put_object(**self._where(name), Body=content, **condition)
                except ClientError as error:
                    if knows_no_conditions(error):
                        raise NoConditionsError(str(self.prefix)) from error
                    if not is_taken(error) and not is_gone(error):
                        raise
                    there = self._get(name)
                    if there is not None and bytes(there["Body"].read()) == content:
                        return str(there["ETag"])
                    if not is_under_way(error) or attempt == _TRIES - 1:
                        return None
                else:
                    return str(answer["ETag"])
        return None

    def _get(self, name: str, **wanted: str) -> Any:
        try:
            return self.client().get_object(**self._where(name), **wanted)
        except ClientError as error:
            if is_gone(error):
                return None
            raise

    def _where(self, name: str) -> dict[str, str]:
        return {"Bucket": self.prefix.bucket, "Key": self.prefix.key(name)}


def all_at_once(work: Callable[[str], None], names: Iterable[str]) -> None:
    """Do the work for every name, several at a time; raise the first error."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for _ in pool.map(work, names):
            pass
