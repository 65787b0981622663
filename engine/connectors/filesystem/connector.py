"""Directories of files (JSON lines, Parquet, CSV): read once or watched, and written exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from engine.connectors.base import Options, SinkContext, Table
from engine.connectors.files.beside import text_beside
from engine.connectors.files.storage import location_name, place_of
from engine.connectors.filesystem.options import (
    METADATA,
    FilesystemLookupOptions,
    FilesystemSinkOptions,
    FilesystemSourceOptions,
)
from engine.connectors.kinds import Connector, LookupKind, SinkKind, SourceKind
from engine.formats.base import RecordKind
from engine.formats.json.options import JsonOptions
from engine.formats.parquet import ParquetOptions
from engine.values.start_positions import EARLIEST_ONLY, StartWord

if TYPE_CHECKING:
    from engine.connectors.files.rolling_sink import RollingFilesSink
    from engine.connectors.filesystem.lookup import FilesystemLookup
    from engine.connectors.filesystem.source import FilesystemSource


def _open_source(table: Table) -> FilesystemSource:
    from engine.connectors.filesystem.source import FilesystemSource  # noqa: PLC0415 - checks must not pay for Arrow
    from engine.connectors.filesystem.source_from import FilesystemSourceFrom  # noqa: PLC0415 - as above
    from engine.connectors.filesystem.watched import WatchedFilesystemSource  # noqa: PLC0415 - as above

    assert isinstance(table.options, FilesystemSourceOptions)
    if not table.options.watch:
        return FilesystemSource(table, table.options)
    if table.start is not None and table.start.word != "earliest":
        return FilesystemSourceFrom(table, table.options)
    return WatchedFilesystemSource(table, table.options)


def _starts(options: Options) -> frozenset[StartWord]:
    # files that are read by name have no order in time
    watches = isinstance(options, FilesystemSourceOptions) and options.watch
    return frozenset({"earliest", "latest", "timestamp"}) if watches else EARLIEST_ONLY


def _open_sink(table: Table, context: SinkContext) -> RollingFilesSink:
    from engine.connectors.filesystem.sink import open_filesystem_sink  # noqa: PLC0415 - see `_open_source`

    assert isinstance(table.options, FilesystemSinkOptions)
    return open_filesystem_sink(table, table.options, context)


def _open_lookup(table: Table) -> FilesystemLookup:
    from engine.connectors.filesystem.lookup import FilesystemLookup  # noqa: PLC0415 - see `_open_source`

    assert isinstance(table.options, FilesystemLookupOptions)
    return FilesystemLookup(table, table.options)


def _check(table: Table) -> str | None:
    if isinstance(table.options, FilesystemSinkOptions):
        strangers = [name for name in table.options.fields if table.schema.find(name) is None]
        if strangers:
            columns = ", ".join(table.schema.names)
            return f"'partitioning.fields' names {', '.join(map(repr, strangers))}; the table's columns are {columns}"
    if isinstance(table.options, FilesystemSourceOptions) and table.options.watch and _is_bucket(table.options):
        return "'source.watch' needs a directory of this machine; a bucket is read once"
    form = "" if table.format is None else table.format.format
    if form in ("parquet", "csv") and any(key == "line" for _, key in table.metadata):
        return f"{'Parquet' if form == 'parquet' else 'CSV'} files have no lines, so there is no metadata 'line'"
    return None


def _needs_event_time(options: Options) -> bool:
    return isinstance(options, FilesystemSinkOptions) and options.time_pattern is not None


def _wakes_after(options: Options) -> timedelta | None:
    return options.wakes_after if isinstance(options, FilesystemSinkOptions) else None


def _target_names(options: Options) -> Sequence[str]:
    assert isinstance(options, FilesystemSinkOptions)
    return (location_name(options.location, options),)


def _place(options: Options) -> str | None:
    if isinstance(options, FilesystemSinkOptions):
        return place_of(options.location)
    return place_of(options.path) if isinstance(options, FilesystemSourceOptions) else None


def _new_columns(table: Table) -> str | None:
    match table.format:
        case ParquetOptions():
            return "files from the change on have them, those before do not: a reader takes the columns of all together"
        case JsonOptions():
            return "lines from the change on have them"
    return None


def _is_all_there(options: Options) -> bool:
    return isinstance(options, FilesystemSourceOptions) and not options.watch


def _reads(options: Options) -> Sequence[Path]:
    assert isinstance(options, FilesystemSourceOptions | FilesystemLookupOptions)
    return (options.path,) if isinstance(options.path, Path) else ()


def _is_bucket(options: FilesystemSourceOptions) -> bool:
    return not isinstance(options.path, Path)


def _redirect(options: Options, prefix: str) -> Options:
    if not isinstance(options, FilesystemSinkOptions):
        return options
    return options.model_copy(update={"path": text_beside(options.path, prefix)})


FILESYSTEM = Connector(
    name="filesystem",
    summary="Reads files from a directory, looks up rows in files, and writes files exactly once.",
    source=SourceKind(
        options=FilesystemSourceOptions,
        open=_open_source,
        check=_check,
        place=_place,
        reads=_reads,
        starts=_starts,
        is_all_there=_is_all_there,
    ),
    sink=SinkKind(
        options=FilesystemSinkOptions,
        open=_open_sink,
        check=_check,
        place=_place,
        redirect=_redirect,
        needs_event_time=_needs_event_time,
        wakes_after=_wakes_after,
        target_names=_target_names,
        new_columns=_new_columns,
        guarantee="exactly-once",
        limits=(
            "The files of an epoch do not appear all at once. Wait for the watermark, or for the marker "
            "of a complete partition.",
            "If a `rolling_policy` keeps files open, the watermark may have passed rows that cannot be "
            "read yet. With `partitioning.time_pattern`, directories that the watermark has passed are "
            "complete.",
            "A time directory without rows is not created, and so has no marker. Rows that arrive after "
            "the marker are added to the directory.",
            "If a store does not support conditional writes, the sink first asks whether an object "
            "exists. Two runs that ask at the same moment can then overwrite each other's files; random "
            "names (`filename.strategy`) prevent that.",
            "The guarantee ends if the store is set to delete unfinished uploads, or if a person or tool deletes "
            "the pipeline's own segments and manifests. The pipeline then fails instead of guessing.",
        ),
    ),
    lookup=LookupKind(
        options=FilesystemLookupOptions,
        open=_open_lookup,
        check=_check,
        reads=_reads,
    ),
    carries=frozenset({RecordKind.JSON, RecordKind.TEXT, RecordKind.PARQUET_FILE, RecordKind.CSV_FILE}),
    metadata=METADATA,
)
