"""The sinks of a job, for the driver and its tasks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from engine.connectors import sink_kind_of
from engine.connectors.base import Epoch, HasProbe, Sink, SinkContext, Table
from engine.delivery.file_ledger import read_ledger, refused_in, refused_so_far
from engine.plan.nodes import Write, is_updating
from engine.plan.times import has_late_rows
from engine.plan.tree import EVENT_TIME
from engine.schema import Field, Schema
from engine.spark.read.scan_spec import CHANGES, safe_name
from engine.types import TIMESTAMP


@dataclass(frozen=True, slots=True)
class Target:
    """A sink of a job: its table, the directory of its own files, whether it takes changelog rows, and whether it takes
    rows that are older than the watermark."""

    table: Table
    place: SinkContext
    is_updating: bool = False
    takes_late_rows: bool = False

    @property
    def has_event_time(self) -> bool:
        """Whether its rows have the event time as their last column."""
        return self.needs_event_time or self.takes_late_rows

    @property
    def needs_event_time(self) -> bool:
        """Whether its writer gets the event time as the last column."""
        return sink_kind_of(self.table).needs_event_time(self.table.options)

    @property
    def wakes_after(self) -> timedelta | None:
        """Return how long the input may be silent before the sink needs an epoch."""
        return sink_kind_of(self.table).wakes_after(self.table.options)

    @property
    def schema(self) -> Schema:
        """Return the columns of its rows; the writer does not get the event time unless it needs it."""
        hidden = (Field(EVENT_TIME, TIMESTAMP),) if self.has_event_time else ()
        return Schema((*self.table.schema, *(CHANGES if self.is_updating else ()), *hidden))

    @property
    def drops_all(self) -> bool:
        """Whether Spark need not emit its rows; late rows are emitted, since their minutes are reported."""
        return sink_kind_of(self.table).drops_all and not self.takes_late_rows

    @property
    def refused(self) -> int | None:
        """Return how many rows the sink has refused so far; None for a sink that never refuses rows."""
        may_refuse = sink_kind_of(self.table).may_refuse_rows and self.table.bad_data != "fail"
        return refused_so_far(read_ledger(self.place.directory)) if may_refuse else None

    def refused_in(self, epoch: int) -> int:
        """Return how many rows it left out in the epoch, which is the newest that it has taken."""
        return 0 if self.refused is None else refused_in(read_ledger(self.place.directory), epoch)

    def open(self) -> Sink:
        """Return the table's sink."""
        return sink_kind_of(self.table).open(self.table, self.place)

    def receiving(self, write: Write) -> Target:
        """Return this sink as the target of a query."""
        return replace(self, is_updating=is_updating(write), takes_late_rows=has_late_rows(write))

    def epoch_of_sink(self, epoch: Epoch) -> Epoch:
        """Return the epoch as the sink gets it; for late rows, without the previous watermark."""
        return replace(epoch, watermark_before=None) if self.takes_late_rows else epoch

    def probe(self) -> None:
        """Raise the error of an epoch if the sink can detect it without writing one."""
        sink = self.open()
        if isinstance(sink, HasProbe):
            sink.probe()


def sink_directory(state: Path, table: str) -> Path:
    """Return the folder of a sink's own files."""
    return state / "sinks" / safe_name(table)
