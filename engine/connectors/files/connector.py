"""A directory of files, JSON lines or Parquet: read as they are or as they come, and written exactly once."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator
from pydantic import Field as Option

from engine import types
from engine.connectors.base import Connector, Options, SinkPlace, Table
from engine.connectors.files.sink_options import TimedFileSinkOptions
from engine.connectors.files.storage import Prefix, StorageOptions, WritablePath, read_place
from engine.option_values import Pattern
from engine.schema import Field

if TYPE_CHECKING:
    from engine.connectors.files.lookup import FilesystemLookup
    from engine.connectors.files.sink import FilesystemSink
    from engine.connectors.files.source import FilesystemSource

_SCHEME = re.compile(r"([a-z0-9]+)::?//|([a-z0-9]+)::", re.IGNORECASE)


def _local(value: object) -> object:
    """A path of this machine, from a plain path or a file: URL."""
    text = str(value)
    found = _SCHEME.match(text)
    if found is None:
        return value
    if text.lower().startswith("file://"):
        return text[len("file://") :]
    raise ValueError(f"{text.split(':', 1)[0]}: cannot be reached yet; name a directory of this machine")


LocalPath = Annotated[Path, BeforeValidator(_local)]
"""A path of this machine; a file: URL is one too."""


class FilesystemSourceOptions(Options):
    """Which files, and whether to wait for more."""

    path: LocalPath = Option(description="The directory, or one file in it; directories inside are read too.")
    regex_pattern: Pattern | None = Option(
        None, alias="source.regex_pattern", description="Only files whose path below `path` has a match."
    )
    compression: Literal["none", "gzip", "zstd"] | None = Option(
        None, alias="source.compression", description="Of JSON files; without it, what the file's name says."
    )
    watch: bool = Option(False, alias="source.watch", description="Go on with new files instead of ending.")
    settle_time: timedelta = Option(
        timedelta(seconds=1),
        alias="source.settle_time",
        description="How long a file must have been left alone before a watching source takes it.",
    )


class FilesystemLookupOptions(Options):
    """Which files hold the rows that are looked up."""

    path: LocalPath = Option(description="One file, or the directory of several; they are read again when they change.")
    regex_pattern: Pattern | None = Option(
        None, alias="lookup.regex_pattern", description="Only files whose path below `path` has a match."
    )
    compression: Literal["none", "gzip", "zstd"] | None = Option(
        None, alias="lookup.compression", description="Of JSON and CSV files; without it, what the file's name says."
    )


class FilesystemSinkOptions(TimedFileSinkOptions, StorageOptions):
    """Where the files go, how rows are spread over them, and when a file becomes final: with every epoch, unless a
    `rolling_policy` says when. Only final files can be seen; the rest is kept with the pipeline's state, and goes on to
    be filled after a stop. At the end of the input all files become final."""

    path: WritablePath = Option(
        description="The directory, which is made when it is not there; or `s3://bucket/prefix`, or at another server "
        "`s3::https://endpoint/bucket/prefix`."
    )

    @property
    def place(self) -> Path | Prefix:
        """Where `path` is."""
        return read_place(self.path)


def _open_source(table: Table) -> FilesystemSource:
    from engine.connectors.files.source import FilesystemSource  # noqa: PLC0415 - checks must not pay for Arrow

    assert isinstance(table.options, FilesystemSourceOptions)
    return FilesystemSource(table, table.options)


def _open_sink(table: Table, place: SinkPlace) -> FilesystemSink:
    from engine.connectors.files.sink import open_filesystem_sink  # noqa: PLC0415 - see `_open_source`

    assert isinstance(table.options, FilesystemSinkOptions)
    return open_filesystem_sink(table, table.options, place)


def _open_lookup(table: Table) -> FilesystemLookup:
    from engine.connectors.files.lookup import FilesystemLookup  # noqa: PLC0415 - see `_open_source`

    assert isinstance(table.options, FilesystemLookupOptions)
    return FilesystemLookup(table, table.options)


def _check(table: Table) -> str | None:
    if isinstance(table.options, FilesystemSinkOptions):
        strangers = [name for name in table.options.fields if table.schema.find(name) is None]
        if strangers:
            columns = ", ".join(table.schema.names)
            return f"'partitioning.fields' names {', '.join(map(repr, strangers))}; the table's columns are {columns}"
    form = "" if table.format is None else table.format.format
    if form in ("parquet", "csv") and any(key == "line" for _, key in table.metadata):
        return f"{'Parquet' if form == 'parquet' else 'CSV'} files have no lines, so there is no metadata 'line'"
    return None


def _needs_event_time(options: Options) -> bool:
    return isinstance(options, FilesystemSinkOptions) and options.time_pattern is not None


def _wakes_after(options: Options) -> timedelta | None:
    return options.wakes_after if isinstance(options, FilesystemSinkOptions) else None


FILESYSTEM = Connector(
    name="filesystem",
    summary="Reads the files of a directory, looks rows up in them, and writes files exactly once.",
    options={"source": FilesystemSourceOptions, "sink": FilesystemSinkOptions, "lookup": FilesystemLookupOptions},
    formats=frozenset({"json", "debezium_json", "parquet", "raw_string", "csv"}),
    metadata={
        "filename": Field("filename", types.TEXT, nullable=False),
        "line": Field("line", types.BIGINT, nullable=False),
    },
    check=_check,
    needs_event_time=_needs_event_time,
    wakes_after=_wakes_after,
    open_source=_open_source,
    open_sink=_open_sink,
    open_lookup=_open_lookup,
    guarantee="exactly-once",
    limits=(
        "The files of one epoch do not appear all at once in a bare directory; wait for the watermark, or for the "
        "marker of a complete partition.",
        "Where a `rolling_policy` keeps files open, the watermark may have passed rows that cannot be read yet; with "
        "`partitioning.time_pattern` the directories that it has passed are whole.",
        "A directory of time that no row came for is not made, and so not marked; rows that come behind the mark are "
        "added.",
        "A store that cannot be told to overwrite nothing is asked beforehand, and two runs that ask at the same "
        "moment are not told apart; random names, `filename.strategy`, keep them from meeting.",
        "A rule of the store that deletes unfinished uploads, or whoever deletes the pipeline's own segments and "
        "manifests, ends the guarantee; the pipeline stops rather than guess.",
    ),
)
