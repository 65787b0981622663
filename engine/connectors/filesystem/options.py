"""The options of a table in a directory of files."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator
from pydantic import Field as Option

from engine import types
from engine.connectors.base import Compression, Options
from engine.connectors.files.sink_options import TimedFileSinkOptions
from engine.connectors.files.storage import Location, StorageOptions, WritablePath, read_location
from engine.option_values import Pattern
from engine.schema import Field

_SCHEME = re.compile(r"([a-z0-9]+)::?//|([a-z0-9]+)::", re.IGNORECASE)


def _local(value: object) -> object:
    """A path of this machine, from a plain path or a file: URL."""
    text = str(value)
    if _SCHEME.match(text) is None:
        return value
    if text.lower().startswith("file://"):
        return text[len("file://") :]
    raise ValueError(f"must be a directory or a file of this machine, not {text.split(':', 1)[0]}:")


_REGEX_PATTERN = "Regular expression; only files whose path below `path` contains a match are read."
LocalPath = Annotated[Path, BeforeValidator(_local)]
"""A path of this machine; a file: URL is one too."""


class FilesystemSourceOptions(Options):
    """Which files, and whether to wait for more."""

    path: LocalPath = Option(description="Directory to read, including its subdirectories, or a single file.")
    regex_pattern: Pattern | None = Option(None, alias="source.regex_pattern", description=_REGEX_PATTERN)
    compression: Compression | None = Option(
        None,
        alias="source.compression",
        description="Compression of files of lines. By default the file's name says it.",
    )
    watch: bool = Option(
        False, alias="source.watch", description="Whether to wait for new files instead of ending after the last one."
    )
    settle_time: timedelta = Option(
        timedelta(seconds=1),
        alias="source.settle_time",
        description="How long a file must have been unchanged before a watching source reads it.",
    )


class FilesystemLookupOptions(Options):
    """Which files hold the rows that are looked up."""

    path: LocalPath = Option(description="Directory or file with the rows; files are read again when they change.")
    regex_pattern: Pattern | None = Option(None, alias="lookup.regex_pattern", description=_REGEX_PATTERN)
    compression: Compression | None = Option(
        None,
        alias="lookup.compression",
        description="Compression of files of lines and of CSV files. By default the file's name says it.",
    )


class FilesystemSinkOptions(TimedFileSinkOptions, StorageOptions):
    """Where the files go, how rows are spread over them, and when a file becomes final: with every epoch, unless a
    `rolling_policy` says when. Only final files can be seen; the rest is kept with the pipeline's state, and goes on to
    be filled after a stop. At the end of the input all files become final."""

    path: WritablePath = Option(
        description="Directory to write to, created if it does not exist; or a bucket: `s3://bucket/prefix`, "
        "or on another server `s3::https://endpoint/bucket/prefix`."
    )

    @property
    def location(self) -> Location:
        """Return the location of `path`."""
        return read_location(self.path)


METADATA = {
    "filename": Field("filename", types.TEXT, nullable=False),
    "line": Field("line", types.BIGINT, nullable=False),
}
"""What a row has around it: the file it is from, and its place there."""
