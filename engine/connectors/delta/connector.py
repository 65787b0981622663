"""Delta tables: rows are appended in Parquet files, with one commit whenever files become final."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from engine import types
from engine.connectors.base import Options, SinkContext, Table
from engine.connectors.delta.options import DeltaOptions
from engine.connectors.files.beside import text_beside
from engine.connectors.files.storage import location_name, place_of
from engine.connectors.kinds import Connector, SinkKind
from engine.formats.base import RecordKind

if TYPE_CHECKING:
    from engine.connectors.files.rolling_sink import RollingFilesSink

_KEYS = types.Text | types.Integer | types.Boolean | types.Date


def _open_sink(table: Table, context: SinkContext) -> RollingFilesSink:
    from engine.connectors.delta.sink import open_delta_sink  # noqa: PLC0415 - checks must not pay for Arrow

    assert isinstance(table.options, DeltaOptions)
    return open_delta_sink(table, table.options, context)


def _check(table: Table) -> str | None:
    assert isinstance(table.options, DeltaOptions)
    for name in table.options.fields:
        column = table.schema.find(name)
        if column is None:
            return f"'partitioning.fields' names {name!r}; the table's columns are {', '.join(table.schema.names)}"
        if not isinstance(column.type, _KEYS):
            return f"a Delta table is partitioned by text, whole numbers, booleans or dates; {name!r} is {column.type}"
    if len(table.options.fields) >= len(table.schema):
        return "'partitioning.fields' names every column, so no column is left for the files"
    strange = next((field for field in table.schema if isinstance(field.type, types.Interval)), None)
    return f"a Delta table cannot hold column {strange.name!r} of type {strange.type}" if strange else None


def _needs_event_time(options: Options) -> bool:
    return isinstance(options, DeltaOptions) and options.time_pattern is not None


def _wakes_after(options: Options) -> timedelta | None:
    return options.wakes_after if isinstance(options, DeltaOptions) else None


def _target_names(options: Options) -> Sequence[str]:
    assert isinstance(options, DeltaOptions)
    return (location_name(options.location, options),)


def _place(options: Options) -> str:
    assert isinstance(options, DeltaOptions)
    return place_of(options.location)


def _redirect(options: Options, prefix: str) -> Options:
    assert isinstance(options, DeltaOptions)
    return options.model_copy(update={"path": text_beside(options.path, prefix)})


def _new_columns(_: Table) -> str:
    return "the table gets them in a version of their own before the first rows, and has NULL there for all rows before"


DELTA = Connector(
    name="delta",
    summary="Adds rows to a Delta table, each exactly once, in a directory or a bucket. The table is "
    "created if it does not exist.",
    sink=SinkKind(
        options=DeltaOptions,
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
            "Restoring an older savepoint removes the rows added after it from the table. "
            "Older versions of the table, and their readers, still have these rows.",
            "The guarantee ends if the table's log is deleted, or the pipeline's own segments and "
            "manifests. The pipeline then fails instead of guessing.",
            "The directories of `partitioning.time_pattern` are no partition column, and readers of the table, which "
            "find its files by its log, do not use them. For a partition column, add a date to the query, and name it "
            "in `partitioning.fields`.",
            "Many small epochs make many versions and small files; set a `rolling_policy` to avoid that.",
        ),
    ),
    carries=frozenset({RecordKind.PARQUET_FILE}),
    default_format="parquet",
)
