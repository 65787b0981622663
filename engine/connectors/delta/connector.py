"""Delta tables: rows are added in files of Parquet, with one commit whenever files become final."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from engine import types
from engine.connectors.base import Connector, Options, SinkContext, Table
from engine.connectors.delta.options import DeltaOptions
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
            return f"a Delta table is divided by texts, whole numbers, booleans and dates; {name!r} is {column.type}"
    if len(table.options.fields) >= len(table.schema):
        return "'partitioning.fields' names every column, so nothing is left for the files"
    strange = next((field for field in table.schema if isinstance(field.type, types.Interval)), None)
    return f"a Delta table cannot hold column {strange.name!r} of type {strange.type}" if strange else None


def _wakes_after(options: Options) -> timedelta | None:
    return options.wakes_after if isinstance(options, DeltaOptions) else None


DELTA = Connector(
    name="delta",
    summary="Adds rows to a Delta table, each exactly once, here or in a bucket; the table is made when there is none.",
    options={"sink": DeltaOptions},
    carries=frozenset({RecordKind.PARQUET_FILE}),
    default_format="parquet",
    check=_check,
    wakes_after=_wakes_after,
    open_sink=_open_sink,
    guarantee="exactly-once",
    limits=(
        "A restore to an older savepoint removes from the table what came later; older versions of the table, and "
        "whoever has read them, still have it.",
        "Whoever deletes the table's log, or the pipeline's own segments and manifests, ends the guarantee; the "
        "pipeline stops rather than guess.",
        "Many small epochs make many versions and small files: give a `rolling_policy`.",
    ),
)
