"""A source that counts."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import Field as Option

from engine import types
from engine.connectors.base import Options, Table
from engine.connectors.kinds import Connector, SourceKind
from engine.schema import Field, Schema
from engine.values.option_values import MicrosOrInterval

if TYPE_CHECKING:
    import pyarrow as pa

    from engine.connectors.generated import GeneratedSource, Numbers

_COUNTER = types.Integer(64, signed=False)


class ImpulseOptions(Options):
    """Rate and number of rows."""

    event_rate: float = Option(gt=0, description="Rows per second.")
    event_time_interval: MicrosOrInterval | None = Option(
        None,
        description="Interval between event times; a bare number is in microseconds. By default event times "
        "follow the wall clock.",
    )
    message_count: int | None = Option(None, ge=0, description="Number of rows. The default is no limit.")
    start_time: datetime | None = Option(
        None, description="Event time of the first row. The default is the time at which the pipeline first started."
    )


def _open_source(table: Table) -> GeneratedSource:
    from engine.connectors.generated import GeneratedSource, Pace  # noqa: PLC0415 - checks must not pay for Arrow

    options = table.options
    assert isinstance(options, ImpulseOptions)
    pace = Pace(options.event_rate, options.message_count, options.event_time_interval, options.start_time)
    names = table.schema.names
    return GeneratedSource(table, pace, lambda numbers, micros: _rows(names, numbers))


def _rows(names: tuple[str, ...], numbers: Numbers) -> pa.RecordBatch:
    import pyarrow as pa  # noqa: PLC0415 - see `_open_source`

    columns = {"counter": lambda: pa.array(numbers), "subtask_index": lambda: pa.array(numbers * 0)}
    return pa.RecordBatch.from_arrays([columns[name.lower()]() for name in names], names=list(names))


IMPULSE = Connector(
    name="impulse",
    summary="Generates a counter that starts at zero, at a given rate.",
    source=SourceKind(
        options=ImpulseOptions,
        open=_open_source,
        is_by_clock=lambda options: True,
    ),
    schema=Schema((Field("counter", _COUNTER, nullable=False), Field("subtask_index", _COUNTER, nullable=False))),
    metadata={"timestamp": Field("timestamp", types.TIMESTAMP, nullable=False)},
    event_time="timestamp",
)
