"""Report of a committed epoch, declared once.

A driver makes the report and sends it as JSON; the store has a row of it, the API returns it as a checkpoint, and the
command line prints it. All use the declaration below, so a new figure is one field here and one migration of existing
databases. Add a new field at the end, like its column, with a default: older drivers do not send it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_type_hints

from pydantic import Field, PlainSerializer, PlainValidator, TypeAdapter

from engine.values.instants import from_micros, to_micros


@dataclass(frozen=True, slots=True)
class Figure:
    """Metadata of a field: its `meaning`, its database `column` if that has another name, whether it `is_sent` and
    stored, and the fields of the API's checkpoint that show it, if these differ."""

    meaning: str
    column: str | None = None
    is_sent: bool = True
    shown_as: tuple[str, ...] | None = None


def _read_instant(value: object) -> datetime:
    try:
        return from_micros(_whole(value))
    except OverflowError as error:
        raise ValueError(f"{value} microseconds are not an instant") from error


def _read_length(value: object) -> timedelta:
    try:
        return timedelta(microseconds=_whole(value))
    except OverflowError as error:
        raise ValueError(f"{value} microseconds are too long") from error


def _whole(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ValueError("not a whole number of microseconds")


def _to_micros(length: timedelta) -> int:
    return length // timedelta(microseconds=1)


Instant = Annotated[
    datetime, PlainValidator(_read_instant, json_schema_input_type=int), PlainSerializer(to_micros, return_type=int)
]
"""An instant, in JSON as microseconds since 1970."""
Length = Annotated[
    timedelta, PlainValidator(_read_length, json_schema_input_type=int), PlainSerializer(_to_micros, return_type=int)
]
"""A duration, in JSON as microseconds."""


HoldReason = Literal[
    "no_rows", "oldest_rows", "unread_rows", "silent", "history", "open_files", "no_epoch", "not_running"
]
"""Why output is not complete any further.

    no_rows        the partition has not had a row yet
    oldest_rows    of all active partitions, this one has the oldest watermark
    unread_rows    the same, and rows of the source wait to be read
    silent         all partitions of the source have been without rows for longer than `idle_time`
    history        a backfill has not read the history of the source yet
    open_files     rows lie in files of the sink that cannot be read yet
    no_epoch       the job has not committed an epoch yet
    not_running    the job does not run
"""


@dataclass(frozen=True, slots=True)
class HeldBy:
    """The cause that keeps output from being complete any further, and the remedy."""

    reason: Annotated[HoldReason, Field(description="Why it is held.")]
    remedy: Annotated[str, Field(description="What would move it, in words.")]
    source: Annotated[str | None, Field(description="The source table; null where no source holds it.")] = None
    partition: Annotated[
        str | None, Field(description="The partition of the source; null where it is no single one.")
    ] = None
    watermark: Annotated[Instant | None, Field(description="The watermark there; null where no row has shown one.")] = (
        None
    )
    since: Annotated[Instant | None, Field(description="Since when it has been so.")] = None


@dataclass(frozen=True, slots=True)
class SinkProgress:
    """Completeness of a sink after a committed epoch."""

    complete_until: Annotated[
        Instant | None,
        Field(description="Every input row before it that was read and not late is in output that readers can read."),
    ] = None
    output_until: Annotated[
        Instant | None,
        Field(description="Every output row whose own event time, for windows just before their end, is before it."),
    ] = None
    unknown: Annotated[str | None, Field(description="Why complete_until cannot be known.")] = None
    by_clock: Annotated[
        tuple[str, ...],
        Field(description="The source tables of it that are silent, so that their watermark is that of the clock."),
    ] = ()
    held_by: Annotated[
        HeldBy | None,
        Field(
            description="What keeps it from being complete any further. Null where nothing does, or in reports of "
            "drivers of an earlier version."
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFigures:
    """Figures of a table in an epoch. Unknown or inapplicable ones are None."""

    rows_in: Annotated[int | None, Field(description="Rows read from it.")] = None
    rows_out: Annotated[int | None, Field(description="Rows given to it.")] = None
    rows_waiting: Annotated[
        int | None, Field(description="Rows that could be read when the epoch was planned and are not in it.")
    ] = None
    late_rows: Annotated[
        int | None, Field(description="Rows read from it that were left out because they came after their watermark.")
    ] = None
    dropped_rows: Annotated[
        int | None, Field(description="Rows of it that could not be read or written and were left out, so far.")
    ] = None
    dead_letters: Annotated[
        int | None, Field(description="Those of its dropped rows that are kept as dead letters, so far.")
    ] = None
    busy: Annotated[
        float | None,
        Field(
            description="Share of the time since the epoch before, 0 to 1. Of a source: that its tasks worked, with "
            "all that they do to its rows before the next shuffle. Of a sink: that it took to deliver the epoch."
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorFigures:
    """Figures of a stateful operator in an epoch. Unknown ones are None."""

    rows_in: Annotated[
        int | None,
        Field(description="Rows that went into it. Null where source tasks merge rows before Spark counts them."),
    ] = None
    rows_out: Annotated[int | None, Field(description="Rows that it emitted.")] = None
    busy: Annotated[
        float | None,
        Field(
            description="Share of the time since the epoch before, 0 to 1, that its tasks read shuffled rows, and "
            "read, changed and stored state."
        ),
    ] = None


PHASES: Mapping[str, str] = {
    "find": "asking the sources where the epoch ends",
    "log": "writing down where it ends, before anything is read",
    "plan": "planning it in Spark",
    "compute": "reading and computing its rows, until they lie in segments",
    "deliver": "letting each sink take it, dead letters too",
    "commit": "writing down that it is done",
}
"""The phases of an epoch in order, with descriptions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochReport:
    """The figures of one committed epoch."""

    epoch: Annotated[int, Figure("Its number; the first is 0.")]
    rows_in: Annotated[int, Figure("Rows read from the sources.")]
    rows_out: Annotated[int, Figure("Rows given to the sinks.")]
    rows_per_second: Annotated[
        float,
        Figure("Rows read, for each second since its run committed the epoch before; of its first, that it took."),
    ]
    duration: Annotated[Length, Figure("How long it took.", shown_as=("start_time", "finish_time"))]
    watermark: Annotated[
        Instant | None,
        Figure("That of committed output: nothing older will be added. Null while it is not known."),
    ]
    source_watermarks: Annotated[
        Mapping[str, Instant | None],
        Figure("The watermark of each source table; the endpoint of watermarks shows it.", "sources", shown_as=()),
    ] = field(default_factory=dict)
    late_rows: Annotated[int, Figure("Rows left out because they came after their watermark.")] = 0
    dropped_rows: Annotated[int, Figure("Rows that could not be read or written and were left out, so far.")] = 0
    dropped_in_epoch: Annotated[
        int, Figure("Rows that could not be read or written and were left out in this epoch alone.", is_sent=False)
    ] = 0
    state_changes: Annotated[int, Figure("Rows of state that were added, changed or removed.")] = 0
    state_bytes: Annotated[int, Figure("Memory that the state takes.")] = 0
    at: Annotated[Instant, Figure("When it was committed.", shown_as=("start_time", "finish_time"))]
    rows_waiting: Annotated[
        int | None,
        Figure("Rows that could be read when the epoch was planned and are not in it. Null when no source can tell."),
    ] = None
    lineage: Annotated[
        str | None,
        Figure("The history of the state that it belongs to. Null from drivers of an earlier version."),
    ] = None
    sinks: Annotated[Mapping[str, SinkProgress], Figure("How far the output of each sink is complete.")] = field(
        default_factory=dict
    )
    tables: Annotated[Mapping[str, TableFigures], Figure("What was done with each table.")] = field(
        default_factory=dict
    )
    phases: Annotated[
        Mapping[str, Length],
        Figure(f"How long each phase took, in microseconds: {', '.join(PHASES)}."),
    ] = field(default_factory=dict)
    state_rows: Annotated[
        Mapping[str, int],
        Figure("Rows that are kept, of `windows` and of `sessions`; empty unless the setting `count_state` is on."),
    ] = field(default_factory=dict)
    state_requests: Annotated[
        Mapping[str, int],
        Figure(
            "Requests to the bucket of `state_url` since the report before, by kind: `changelog` are the PUTs of "
            "epochs; `put`, `get`, `head`, `list` and `delete` those of a start, then of maintenance."
        ),
    ] = field(default_factory=dict)
    operators: Annotated[
        Mapping[str, OperatorFigures],
        Figure("What each stateful operator did, by its id. One is left out while nothing is known of it."),
    ] = field(default_factory=dict)
    late: Annotated[
        Mapping[str, Sequence[tuple[int, int]]],
        Figure("For sinks that rows came late for, or that take them: the minutes since 1970.", is_sent=False),
    ] = field(default_factory=dict)
    is_last: Annotated[
        bool, Figure("Whether the input has ended with it; the driver reports it when it exits.", is_sent=False)
    ] = False


@dataclass(frozen=True, slots=True)
class DeclaredFigure:
    """A field of EpochReport: its name, its Python type without None, and its type in a Pydantic model."""

    name: str
    kind: object
    is_optional: bool
    annotation: Any
    figure: Figure

    @property
    def column(self) -> str:
        """The column that keeps it."""
        return self.figure.column or self.name

    @property
    def shown_as(self) -> tuple[str, ...]:
        """The fields of the API's checkpoint that show it."""
        if self.figure.shown_as is not None:
            return self.figure.shown_as
        return (self.name,) if self.figure.is_sent else ()


def _declared() -> tuple[DeclaredFigure, ...]:
    annotations = get_type_hints(EpochReport, include_extras=True)
    declared = []
    for name, python_type in get_type_hints(EpochReport).items():
        is_optional = NoneType in get_args(python_type)
        kind = (
            next(member for member in get_args(python_type) if member is not NoneType) if is_optional else python_type
        )
        figure = next(mark for mark in get_args(annotations[name]) if isinstance(mark, Figure))
        declared.append(DeclaredFigure(name, kind, is_optional, annotations[name], figure))
    return tuple(declared)


FIGURES = _declared()
"""Every field of EpochReport, in order."""
SENT = tuple(declared for declared in FIGURES if declared.figure.is_sent)
"""Fields that are sent to the control plane."""

_JSON = TypeAdapter(EpochReport)
_SENT_NAMES = {declared.name for declared in SENT}


def to_wire(report: EpochReport) -> dict[str, Any]:
    """Return the report as a driver sends it: plain JSON values."""
    values: dict[str, Any] = _JSON.dump_python(report, include=_SENT_NAMES)
    return values
