"""Declaration of a connector: one value for each kind of table that it has.

    CONNECTOR = Connector(
        name="acme",
        summary="Reads a queue of Acme.",
        source=SourceKind(options=AcmeSourceOptions, open=_open_source),
        sink=SinkKind(options=AcmeSinkOptions, open=_open_sink, guarantee="at-least-once"),
    )

A declaration imports no implementation: `open` does, when a table is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from engine.connectors.base import Direction, Lookup, Options, Sink, SinkContext, Source, SparkRead, Table
from engine.formats import FORMATS
from engine.schema import Field, Schema
from engine.values.start_positions import EARLIEST_ONLY, StartWord

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.connectors.intake.receiver import Receiver
    from engine.formats.base import RecordKind

Guarantee: TypeAlias = Literal["exactly-once", "at-least-once", "best effort"]
"""What a sink promises for each row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableKind:
    """Common declaration of a connector's sources, sinks and lookup tables."""

    options: type[Options]
    """The WITH options of such a table."""
    check: Callable[[Table], str | None] = lambda table: None
    """Returns an error in the table as a whole, or None. Called once the columns are known."""
    place: Callable[[Options], str | None] = lambda options: None
    """URI by which other systems know the data that a table with these options reads or writes; None if there is
    none."""
    reads: Callable[[Options], Sequence[Path]] = lambda options: ()
    """Files and directories of the driver's disk that tasks read. On a cluster, workers get copies of the files."""
    redirect: Callable[[Options, str], Options] | None = None
    """Returns options that write to another target under a prefix, or for a source, commit positions to another group.
    Raises ValueError with a reason if that is impossible. Without it, sinks are refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceKind(TableKind):
    """Declaration of a connector's source."""

    open: Callable[[Table], Source]
    starts: Callable[[Options], frozenset[StartWord]] = lambda options: EARLIEST_ONLY
    """Start positions that a source with these options supports."""
    declared_start: Callable[[Options], StartWord] = lambda options: "earliest"
    """Start position of a source with these options, unless the run sets another."""
    is_all_there: Callable[[Options], bool] = lambda options: False
    """Whether all rows of a source with these options exist when it begins, so that its epochs may be large."""
    is_by_clock: Callable[[Options], bool] = lambda options: False
    """Whether a source with these options generates rows by the clock, so that they cannot be read again later."""
    spark_read: Callable[[Table], SparkRead | None] = lambda table: None
    """How to read the table with a data source of Spark, if requested; our source plans the epochs all the same."""
    receive: Callable[[Table], Receiver] | None = None
    """Opens the receiver of a table whose messages cannot be read twice. They go through an intake log, which `open`
    reads."""
    limits: tuple[str, ...] = ()
    """Promises about the rows that are read, with their exceptions: sentences for the reference page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkKind(TableKind):
    """Declaration of a connector's sink."""

    open: Callable[[Table, SinkContext], Sink]
    guarantee: Guarantee = "best effort"
    takes_back: bool = True
    """Whether an exactly-once sink can remove an epoch again, after a restore or a change of the query."""
    limits: tuple[str, ...] = ()
    """Conditions and exceptions of the guarantee: sentences for the reference page."""
    needs_event_time: Callable[[Options], bool] = lambda options: False
    """Whether a sink with these options needs the event time, as an additional last column `_timestamp`."""
    wakes_after: Callable[[Options], timedelta | None] = lambda options: None
    """Longest silence of the input before a sink with these options needs an epoch without rows."""
    target_names: Callable[[Options], Sequence[str]] = lambda options: ()
    """Targets that a sink with these options must have for itself, by `delivery.target_names`; empty if several
    pipelines may write them."""
    only_shows: bool = False
    """Whether its rows are only displayed, so that changelog rows are shown as such in every format."""
    may_refuse_rows: bool = False
    """Whether its target can refuse a single row, so that `bad_data` applies to the sink."""
    records_stand_alone: bool = False
    """Whether readers decode each written record by itself, so that later records may have another schema."""
    new_columns: Callable[[Table], str | None] = lambda table: None
    """Describes the effect of adding columns to a sink; None if all its rows must have the same columns."""
    ask_for_columns: Callable[[Table], str | None] = lambda table: None
    """Asks the schema registry of a sink whether its records may have the table's columns from now on, and changes
    nothing. Returns the answer as text, or None if there is no registry. Raises an EngineError if they may not, or
    there is no answer."""
    drops_all: bool = False
    """Whether it drops all rows, so that they need not leave Spark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupKind(TableKind):
    """Declaration of a connector's lookup table."""

    open: Callable[[Table], Lookup]


@dataclass(frozen=True, slots=True, kw_only=True)
class Connector:
    """Declaration of a connector. With one kind of table, `type` need not be given."""

    name: str
    summary: str
    """One sentence for the reference page."""
    source: SourceKind | None = None
    sink: SinkKind | None = None
    lookup: LookupKind | None = None
    connection: type[Options] | None = None
    """Options that identify another system and the login, in all kinds of tables. The form for a connection has them,
    the form for its tables does not. CREATE CONNECTION accepts every option that all kinds share."""
    carries: frozenset[RecordKind] = frozenset()
    """Kinds of records that it reads and writes; empty if the connector has its own schema or needs none."""
    carries_changes: bool = True
    """Whether its records can be changelog rows."""
    default_format: str | None = None
    schema: Schema | None = None
    """Columns of a table that declares none, for connectors with their own schema."""
    metadata: Mapping[str, Field] = field(default_factory=dict)
    """Keys of `METADATA FROM 'key'`, and the field of each."""
    event_time: str | None = None
    """Metadata key of the event time, for a table that declares none; None means the time of reading."""
    probe: Callable[[Options], str] | None = None
    """Checks that the other system accepts a login with these options, or those of a table, and returns a description.
    Raises an EngineError otherwise."""
    hidden: bool = False

    @property
    def kinds(self) -> Mapping[Direction, TableKind]:
        """Return the kinds of tables that it has."""
        kinds: dict[Direction, TableKind | None] = {"source": self.source, "sink": self.sink, "lookup": self.lookup}
        return {direction: kind for direction, kind in kinds.items() if kind is not None}

    @property
    def options(self) -> Mapping[Direction, type[Options]]:
        """Return the options of each kind of table that it has."""
        return {direction: kind.options for direction, kind in self.kinds.items()}

    @property
    def formats(self) -> frozenset[str]:
        """Return the formats whose records it carries."""
        fitting = (form for form in FORMATS if form.records in self.carries)
        return frozenset(form.name for form in fitting if self.carries_changes or not form.carries_changes)
