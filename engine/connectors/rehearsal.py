"""Sink of a rehearsal, which replaces every other sink and stores the rows for the comparison.

    rows of a table (user, n)        c0, c1, and the weight w: 1 for an insert, -1 for a retraction
    +(ann, 1)                        ann  1   1
    -(ann, 1) +(ann, 2)              ann  1  -1
                                     ann  2   1

Columns are numbered, so that no column name can clash. The sum of the weights of a row gives the final content of a
table with changelog rows, however the rows were divided into epochs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field as Option

from engine.connectors.base import Epoch, Options, SinkContext, Table
from engine.connectors.kinds import Connector, SinkKind
from engine.plan.tree import EVENT_TIME, RETRACT, ROW_ID

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

WEIGHT = "w"


class RehearsalOptions(Options):
    """Additional columns that the replaced sink needs."""

    wants_event_time: bool = Option(False, description="Whether it is given the event time, which it does not keep.")


def column(number: int) -> str:
    """Return the name of the column with this number."""
    return f"c{number}"


def rows_directory(sink: Path) -> Path:
    """Return the folder of the rows of a sink with this directory."""
    return sink / "rows"


class KeptRows:
    """Stores rows as Parquet below the sink's own directory."""

    def __init__(self, context: SinkContext) -> None:
        self._directory = context.directory

    def open(self, epoch: Epoch, task: int) -> KeptRowsWriter:
        """Return a writer of one file."""
        from engine.delivery.segments import segment_path  # noqa: PLC0415 - only runs need it

        return KeptRowsWriter(segment_path(self._directory, epoch, task))

    def commit(self, epoch: Epoch, messages: Sequence[bytes]) -> None:
        """Record the files of an epoch whose tasks have ended. Without a row there is no directory."""
        target = rows_directory(self._directory)
        for message in messages:
            target.mkdir(parents=True, exist_ok=True)
            path = self._directory / message.decode()
            path.rename(target / f"{epoch.number:012d}-{path.name}.parquet")


class KeptRowsWriter:
    """Writes the rows of a task, with their weights."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: pq.ParquetWriter | None = None

    def write(self, rows: pa.RecordBatch) -> None:
        """Append some rows."""
        import pyarrow.parquet as pq  # noqa: PLC0415 - only tasks need it

        weighed = _weighed(rows)
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._path, weighed.schema, compression="zstd")
        self._writer.write_batch(weighed)

    def close(self) -> bytes:
        """Return the name of the file."""
        from engine.delivery.outbox import finish  # noqa: PLC0415 - see `write`
        from engine.delivery.segments import segment_name  # noqa: PLC0415

        assert self._writer is not None, "a writer is opened for its first row"
        self._writer.close()
        finish(self._path, sync=False)
        return segment_name(self._path).encode()


def _weighed(rows: pa.RecordBatch) -> pa.RecordBatch:
    import pyarrow as pa  # noqa: PLC0415 - see `KeptRowsWriter.write`
    import pyarrow.compute as pc  # noqa: PLC0415

    names = rows.schema.names
    # behind the table's columns, which may have such names where rows are never taken back
    hidden = 1 if names[-1:] == [EVENT_TIME] else 0
    end = len(names) - hidden
    if names[end - 2 : end] == [RETRACT, ROW_ID]:
        end -= 2
        weights = pc.if_else(rows.column(end), pa.scalar(-1, pa.int64()), pa.scalar(1, pa.int64()))
    else:
        weights = pa.repeat(pa.scalar(1, pa.int64()), rows.num_rows)
    columns = [_storable(part) for part in rows.columns[:end]]
    return pa.RecordBatch.from_arrays([*columns, weights], names=[*map(column, range(end)), WEIGHT])


def _storable(values: pa.Array) -> pa.Array:
    """Return the values in a type that Parquet and Spark share."""
    import pyarrow as pa  # noqa: PLC0415 - see `KeptRowsWriter.write`

    if pa.types.is_duration(values.type):
        return values.cast(pa.int64())
    return values.cast(pa.string()) if pa.types.is_null(values.type) else values


def _open_sink(table: Table, context: SinkContext) -> KeptRows:
    return KeptRows(context)


def _needs_event_time(options: Options) -> bool:
    assert isinstance(options, RehearsalOptions)
    return options.wants_event_time


REHEARSAL = Connector(
    name="rehearsal",
    summary="Keeps the rows of a rehearsal until they are compared.",
    sink=SinkKind(
        options=RehearsalOptions,
        open=_open_sink,
        needs_event_time=_needs_event_time,
    ),
    hidden=True,
)
