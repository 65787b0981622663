"""Locations of written files: a directory of this machine, or a prefix in an S3 bucket."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, SecretStr
from pydantic import Field as Option

from engine.connectors.base import Options
from engine.delivery.target_names import bucket_name, file_name
from engine.values.option_values import ByteCount

_SCHEME = re.compile(r"([a-z0-9]+)::?//|([a-z0-9]+)::", re.IGNORECASE)
_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,62}", re.IGNORECASE)
_SMALLEST_PART = 5 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Prefix:
    """All keys of a bucket that begin with `prefix`; without an endpoint the bucket is Amazon's."""

    bucket: str
    prefix: str
    endpoint: str | None = None

    def key(self, name: str) -> str:
        """Return the key of a file by its name below the prefix."""
        return f"{self.prefix}/{name}" if self.prefix else name

    @property
    def url(self) -> str:
        """Return the URL without the server, for readers that configure the server separately."""
        return f"s3://{self.bucket}/{self.prefix}"

    def __str__(self) -> str:
        start = f"s3::{self.endpoint}/" if self.endpoint else "s3://"
        return f"{start}{self.bucket}/{self.prefix}"


Location: TypeAlias = Path | Prefix
"""Location of written files."""


def read_location(text: str) -> Location:
    """Return the location that a path names; raise ValueError with the reason if it cannot be written."""
    if _SCHEME.match(text) is None:
        return Path(text)
    if text.lower().startswith("file://"):
        return Path(text[len("file://") :])
    endpoint, path = None, text[len("s3://") :]
    if text.lower().startswith(("s3::https://", "s3::http://")):
        parts = urlsplit(text[len("s3::") :])
        if parts.username is not None or parts.password is not None:
            raise ValueError(
                "must not hold keys, since a URL is printed: "
                "set 'storage.access_key_id' and 'storage.secret_access_key'"
            )
        endpoint, path = f"{parts.scheme}://{parts.netloc}", parts.path.lstrip("/")
    elif not text.lower().startswith("s3://"):
        raise ValueError(f"must be a directory, s3://... or s3::https://..., not {text.split(':', 1)[0]}:")
    bucket, _, prefix = path.partition("/")
    if not _BUCKET.fullmatch(bucket):
        raise ValueError("must name a bucket: write s3://bucket/prefix or s3::https://endpoint/bucket/prefix")
    return Prefix(bucket, prefix.strip("/"), endpoint)


def _is_location(text: str) -> str:
    read_location(text)
    return text


def location_name(location: Location, options: StorageOptions) -> str:
    """Return the canonical name of a location among the targets of all sinks."""
    if isinstance(location, Path):
        return file_name(location)
    return bucket_name(location.bucket, location.prefix, location.endpoint or options.endpoint)


def place_of(location: Location) -> str:
    """Return the URI by which other systems know a location, whichever server has the bucket."""
    return file_name(location) if isinstance(location, Path) else location.url.rstrip("/")


WritablePath = Annotated[str, AfterValidator(_is_location)]
"""Path of this machine, or a prefix in a bucket."""


class BucketOptions(Options):
    """Access to a bucket. Options that are not set are looked up like Amazon's own tools do: variables, files,
    roles."""

    endpoint: str | None = Option(
        None, alias="storage.endpoint", description="For a bucket: URL of the server, if the path does not name it."
    )
    region: str | None = Option(
        None,
        alias="storage.region",
        description="For a bucket: its region. The default is that of `AWS_REGION`, or else `AWS_DEFAULT_REGION`.",
    )
    access_key_id: SecretStr | None = Option(
        None,
        alias="storage.access_key_id",
        description="For a bucket: id of the access key. By default the credentials of the process are used.",
    )
    secret_access_key: SecretStr | None = Option(
        None, alias="storage.secret_access_key", description="For a bucket: secret that belongs to the access key."
    )
    session_token: SecretStr | None = Option(
        None, alias="storage.session_token", description="For a bucket: session token, for temporary access keys."
    )


class StorageOptions(BucketOptions):
    """Options for writing to a bucket."""

    part_size: ByteCount = Option(
        32 * 1024 * 1024,
        ge=_SMALLEST_PART,
        alias="multipart.target_part_size",
        description="For a bucket: size of the parts in which a file is uploaded.",
    )
    max_parts: int = Option(
        1000,
        ge=1,
        le=10_000,
        alias="multipart.max_parts",
        description="For a bucket: maximum number of parts of a file; the parts of larger files are larger.",
    )
