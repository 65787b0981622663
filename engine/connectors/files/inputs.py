"""Files that are read: on the disk of the driver, or objects of a bucket that speaks S3.

An object is read as a copy on the disk of the process that reads it. The copy is fetched again only if the object has
changed, by its ETag.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

from engine.connectors.files.listing import Key, ListedFile, list_files
from engine.connectors.files.storage import BucketOptions, Location, Prefix
from engine.delivery.driver_files import copies, readable
from engine.errors import FilesChangedError

_CHUNK = 256 * 1024


@dataclass(frozen=True, slots=True)
class BucketFile:
    """An object below a prefix."""

    prefix: Prefix
    name: str
    options: BucketOptions

    def __str__(self) -> str:
        return f"{self.prefix}/{self.name}" if self.name else str(self.prefix)

    @property
    def suffix(self) -> str:
        """Return the end of the name, such as `.gz`."""
        return PurePosixPath(self.key).suffix

    @property
    def key(self) -> str:
        """Return the key of the object."""
        return self.prefix.key(self.name) if self.name else self.prefix.prefix


InputFile: TypeAlias = Path | BucketFile
"""A file that is read."""


def file_of(location: Location, name: str, options: BucketOptions) -> InputFile:
    """Return a file by its name below a location; the location itself is the file with an empty name."""
    if isinstance(location, Prefix):
        return BucketFile(location, name, options)
    return location / name if name else location


def local_file(file: InputFile) -> Path:
    """Return the path at which this process reads a file."""
    if isinstance(file, Path):
        return readable(file)
    key = f"{file.prefix.endpoint} {file.prefix.bucket} {file.key}"
    return copies().of(key, PurePosixPath(file.key).name, lambda known, write: _fetch(file, known, write))


def list_inputs(location: Location, options: BucketOptions, pattern: str | None, *, by_time: bool) -> list[ListedFile]:
    """Return the files below a location, ordered like those of `list_files`."""
    if isinstance(location, Path):
        return list_files(location, pattern, by_time=by_time)
    expression = re.compile(pattern or "")
    start = f"{location.prefix}/" if location.prefix else ""
    found = list(_objects(location, options, start))
    if not found and location.prefix:
        # the prefix may be the key of one file
        found = [
            summary for summary in _objects(location, options, location.prefix) if summary["Key"] == location.prefix
        ]
    files = []
    for summary in found:
        name = summary["Key"].removeprefix(start) if summary["Key"] != location.prefix else ""
        is_hidden = any(part.startswith((".", "_")) for part in name.split("/")) or name.endswith("/")
        if not is_hidden and expression.search(name):
            time = int(summary["LastModified"].timestamp() * 1e9) if by_time else 0
            files.append(ListedFile(Key(time, name), summary["Size"]))
    return sorted(files, key=lambda file: file.key)


def _objects(location: Prefix, options: BucketOptions, start: str) -> Iterator[dict[str, Any]]:
    from engine.connectors.files.s3_client import connect, reading_explained  # noqa: PLC0415 - only buckets need boto3

    with reading_explained(str(location)):
        pages = connect(location, options).get_paginator("list_objects_v2")
        for page in pages.paginate(Bucket=location.bucket, Prefix=start):
            yield from page.get("Contents", [])


def _fetch(file: BucketFile, known: str | None, write: Callable[[memoryview], object]) -> str:
    """Download an object unless its version is known, and return its version."""
    from botocore.exceptions import ClientError  # noqa: PLC0415 - see `_objects`

    from engine.connectors.files.s3_client import code_of, connect, reading_explained  # noqa: PLC0415

    condition = {} if known is None else {"IfNoneMatch": known}
    with reading_explained(str(file)):
        try:
            answer = connect(file.prefix, file.options).get_object(Bucket=file.prefix.bucket, Key=file.key, **condition)
        except ClientError as error:
            if known is not None and code_of(error) in ("304", "NotModified"):
                return known
            raise
        size = 0
        write(memoryview(b""))
        for chunk in answer["Body"].iter_chunks(_CHUNK):
            write(memoryview(chunk))
            size += len(chunk)
    if size != answer["ContentLength"]:
        raise FilesChangedError(f"{file} has ended early", hint="the epoch is run again")
    return str(answer["ETag"])
