"""The options of a table in a directory of files."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema
from pydantic import Field as Option

from engine import types
from engine.connectors.base import Compression
from engine.connectors.files.sink_options import MarkedFileSinkOptions
from engine.connectors.files.storage import BucketOptions, Location, Prefix, StorageOptions, WritablePath, read_location
from engine.schema import Field
from engine.values.option_values import Pattern


def _read_input(value: object) -> object:
    """Return the location to read, from a plain path, a file: URL or the URL of a bucket."""
    return value if isinstance(value, Path | Prefix) else read_location(str(value))


_REGEX_PATTERN = "Regular expression; only files whose path below `path` contains a match are read."
_HIDDEN = "Files and directories whose name begins with a dot or an underscore are not read."
InputPath = Annotated[
    Path | Prefix,
    BeforeValidator(_read_input),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "format": "path"}),
]
"""Path of this machine, or a prefix or an object in a bucket."""
_CHANGEABLE = frozenset({"endpoint", "region", "access_key_id", "secret_access_key", "session_token"})
"""Options that say how a bucket is reached, and not which rows it has."""


class FilesystemSourceOptions(BucketOptions):
    """Files to read, and whether to wait for more."""

    changeable: ClassVar[frozenset[str]] = _CHANGEABLE | {"on_change"}

    path: InputPath = Option(
        description="Directory to read, including its subdirectories, or a single file; or a bucket: "
        f"`s3://bucket/prefix`, or on another server `s3::https://endpoint/bucket/prefix`. {_HIDDEN}"
    )
    regex_pattern: Pattern | None = Option(None, alias="source.regex_pattern", description=_REGEX_PATTERN)
    compression: Compression | None = Option(
        None,
        alias="source.compression",
        description="Compression of files of lines. By default the file's name says it.",
    )
    watch: bool = Option(
        False,
        alias="source.watch",
        description="Whether to wait for new files, and for lines appended to files that were read, instead of ending "
        "after the last file.",
    )
    settle_time: timedelta = Option(
        timedelta(seconds=1),
        alias="source.settle_time",
        description="How long a file must have been unchanged before a watching source reads it. Of a file that was "
        "read before, and of a `path` that is a single file, whole lines are read at once, and a last line without a "
        "newline after that time.",
    )
    on_change: Literal["fail", "new_file"] = Option(
        "fail",
        alias="source.on_change",
        description="What a watching source does when a file that was read has changed, other than by lines at its "
        "end: when it was cut or rewritten, or is Parquet or compressed. `fail` ends the run with "
        "`data.files_changed`; `new_file` reads the file from its beginning, as a new one. The state keeps the size "
        "and a digest of what was read of the 1,000 files that were read last; a change of an older one reads it as a "
        "new file. Of more than 16 MiB the digest is that of the first and the last 8 MiB.",
    )


class FilesystemLookupOptions(BucketOptions):
    """Files with the rows of a lookup table."""

    path: InputPath = Option(
        description="Directory or file with the rows, or a bucket such as `s3://bucket/prefix`. Files are read again "
        f"when they change; a bucket is listed at most every 10 seconds. {_HIDDEN}"
    )
    regex_pattern: Pattern | None = Option(None, alias="lookup.regex_pattern", description=_REGEX_PATTERN)
    compression: Compression | None = Option(
        None,
        alias="lookup.compression",
        description="Compression of files of lines and of CSV files. By default the file's name says it.",
    )


class FilesystemSinkOptions(MarkedFileSinkOptions, StorageOptions):
    """Location of the files, how rows are distributed over them, and when a file becomes final: with every epoch,
    unless a `rolling_policy` is set. Only final files are visible. Open files are stored with the pipeline's state, and
    are continued after a stop. At the end of the input all files become final."""

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
"""Metadata of a row: its file, and its position there."""
