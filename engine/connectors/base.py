"""What a connector is: its options, how its table is read, how it is written.

A connector is a value in `engine.connectors.CONNECTORS`. It makes a `Source` or a `Sink` from a `Table`.
Both are made afresh wherever they are needed (on the driver, in every task), so whatever they must remember
lives in positions, messages and the sink's own directory, never in the object.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

from pydantic import BaseModel, ConfigDict

from engine.delivery.epoch import Epoch as Epoch  # noqa: PLC0414 - sinks speak of it, so it is part of this contract
from engine.delivery.ownership import Owner
from engine.formats import FORMATS
from engine.schema import Field, Schema
from engine.values.start_positions import EARLIEST_ONLY, StartPosition, StartWord

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from engine.formats.base import FormatOptions, RecordKind

Json: TypeAlias = "None | bool | int | float | str | list[Json] | dict[str, Json]"
Position: TypeAlias = Json
"""How far a partition has been read. Made by the connector, kept in Spark's offset log, compared with ==."""

Direction = Literal["source", "sink", "lookup"]
Compression: TypeAlias = Literal["none", "gzip", "zstd"]
"""How a file may be compressed."""
BadData = Literal["fail", "drop", "dead_letter"]
"""What a record that cannot be decoded does: end the run, go, or go and be kept beside."""
BadDataCheck = Literal["all_columns", "used_columns"]
"""Which columns a record must fit: all that its table declares, or those that a script reads."""


class Options(BaseModel):
    """The WITH options of one connector. Unknown ones are refused; each has a description."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    changeable: ClassVar[frozenset[str]] = frozenset()
    """The fields that may change under a pipeline's state, since they do not say which rows there are."""


@dataclass(frozen=True, slots=True)
class Cache:
    """How much of a lookup table a worker may remember, and for how long it believes it; None is for ever."""

    max_bytes: int
    ttl: timedelta | None


@dataclass(frozen=True, slots=True)
class Table:
    """A declared table as its connector sees it. `schema` holds the columns that are decoded from a
    record; `metadata` the columns filled from around it, with the key each one is filled from; `job` is who runs it,
    once it runs."""

    name: str
    connector: str
    direction: Direction
    options: Options
    schema: Schema
    format: FormatOptions | None = None
    metadata: tuple[tuple[str, str], ...] = ()
    bad_data: BadData = "fail"
    bad_data_check: BadDataCheck = "all_columns"
    declared: Schema | None = None
    """The columns that a record must fit; None if these are those of `schema`, which are read."""
    idle_time: timedelta | None = timedelta(minutes=5)
    quiet_after: timedelta | None = None
    framing: Literal["newline"] | None = None
    framing_max_length: int | None = None
    primary_key: tuple[str, ...] = ()
    job: str = ""
    cache: Cache | None = None
    dead_letter_directory: Path | None = None
    dead_letter_table: str | None = None
    """The table that takes what cannot be decoded or written; else it is `dead_letter_directory`."""
    start: StartPosition | None = None
    """Where it begins that was not read yet, instead of where its options say."""


def narrowed(table: Table, schema: Schema) -> Table:
    """Return the table with the columns of `schema` only; a record must fit the others too, if the table says so."""
    if table.bad_data_check == "used_columns" or schema == table.schema:
        return replace(table, schema=schema)
    return replace(table, schema=schema, declared=table.declared or table.schema)


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record that could not be decoded, or a row that could not be written: where it was found, what is wrong, and
    its bytes."""

    origin: str
    error: str
    record: bytes


@dataclass(frozen=True, slots=True)
class Chunk:
    """Decoded rows: the table's schema, then its metadata columns, as one Arrow batch. `dropped` counts the
    records left out because they could not be decoded and `bad_data` is not `fail`; `dead_letters` are those of them
    that are to be kept."""

    rows: pa.RecordBatch
    dropped: int = 0
    dead_letters: tuple[DeadLetter, ...] = ()


@dataclass(frozen=True, slots=True)
class Slice:
    """A piece of one partition's range that one task reads. The slices of a range, in order, are the range."""

    partition: str
    start: Position
    end: Position


class Source(Protocol):
    """Reads one table. What lies between two positions never changes, however often it is read."""

    bounded: bool
    """Whether the input ends by itself."""

    def partitions(self) -> Sequence[str]:
        """The partitions there are now. Partitions may be added while a job runs, never taken away."""

    def start(self, partition: str) -> Position:
        """The position before the first row of a partition."""

    def advance(self, at: Mapping[str, Position], max_rows: int | None) -> Mapping[str, Position]:
        """Return where the next epoch may end, for every partition in `at`: the same position when there is nothing
        new, and at most `max_rows` rows further over all partitions together. Never blocks for data."""

    def is_finished(self, partition: str, at: Position) -> bool:
        """Whether no row can ever follow this position."""

    def slices(self, partition: str, start: Position, end: Position, tasks: int) -> Sequence[Slice]:
        """The range cut into at most `tasks` pieces that can be read independently; in order."""

    def read(self, task_slice: Slice) -> Iterator[Chunk]:
        """The rows of a slice, in order, in chunks of at most 8,192 rows times a small factor."""


@runtime_checkable
class HasMovingStart(Protocol):
    """A source whose partitions do not begin at the same position every time they are asked for. Where they begin is
    written down before anything is read, so that a replay begins there too."""

    def begin(self, partitions: Collection[str], *, is_first: bool) -> Mapping[str, Position]:
        """Return the start positions of new partitions; `is_first` when the pipeline has read nothing yet."""


@runtime_checkable
class HasEnd(Protocol):
    """A source that can say where it ends now, so that its history can be read up to there."""

    def ends_now(self, at: Mapping[str, Position], stop: Mapping[str, int]) -> Mapping[str, Position]:
        """Return the current ends of the partitions that begin at `at`, or the offsets that `stop` names."""

    def earlier(self, first: Position, second: Position) -> Position:
        """The one of two positions of a partition that comes first. Where they cannot be compared, since what the first
        was in is gone, the second."""


@runtime_checkable
class CommitListener(Protocol):
    """A source that tells others how far it was read."""

    def acknowledge(self, at: Mapping[str, Position]) -> None:
        """An epoch that ended there is committed. Said late or never at times; nothing that is read depends on it."""


@runtime_checkable
class HasBacklog(Protocol):
    """A source that can say how much it has not read."""

    def waiting(self, at: Mapping[str, Position]) -> Mapping[str, int]:
        """Return how many rows of each partition follow those positions, as of the last look at the source."""


@runtime_checkable
class KnowsEnd(Protocol):
    """A source that can say whether a partition is read to its end, where more may come later."""

    def is_at_end(self, partition: str, at: Position) -> bool:
        """Whether nothing came after this position when the source was last looked at, neither rows nor a file that is
        still being written. False where that is not known."""


@runtime_checkable
class HasPatience(Protocol):
    """A source that may need long to find where an epoch ends: it asks another system, or reads files for it."""

    @property
    def patience(self) -> timedelta:
        """For how long that is no sign of sickness: a system that is away is named within that time."""


LONGEST_SEARCH = timedelta(minutes=5)
"""How long a source may read files to find where an epoch ends: a compressed one is read from its beginning."""


@runtime_checkable
class HasClock(Protocol):
    """A source with a clock of its own, which says when its partitions are idle."""

    def now(self) -> datetime:
        """The time by that clock."""


class SparkRead(Protocol):
    """How Spark reads slices of a table by a source of its own, which has the rows of a slice in one task, in order."""

    @property
    def option(self) -> str:
        """The option of the table that asks for it, which is our own reader when it is left out."""

    @property
    def format(self) -> str:
        """The name of Spark's source."""

    @property
    def probe(self) -> Mapping[str, str]:
        """Options with which Spark can say whether it has that source, without reading anything."""

    @property
    def partition(self) -> str:
        """The expression, over its columns, that is the name of a row's partition."""

    @property
    def columns(self) -> Sequence[str]:
        """The columns that `chunk` wants of it."""

    def options_of(self, slices: Sequence[Slice]) -> Mapping[str, str]:
        """The options with which it reads those slices, of different partitions."""

    def chunk(self, partition: str, rows: pa.RecordBatch) -> Chunk:
        """The rows of the table in some rows of Spark's, all of one partition."""


@dataclass(frozen=True, slots=True)
class LookupResult:
    """What a lookup has found: rows of the table's schema and metadata, and of each row the position of its key among
    those that were asked for. A key without a row is not there; no key is there twice."""

    rows: pa.RecordBatch
    keys: pa.Array


class Lookup(Protocol):
    """Finds rows of one table by its primary key. One worker process opens it once and uses it for many tasks."""

    is_local: bool
    """Whether it holds all rows itself, so that remembering what it has found would be of no use."""

    def refresh(self) -> None:
        """See what has changed. Called once when a task begins, before its first `fetch`."""

    def fetch(self, keys: pa.Array) -> LookupResult:
        """The rows of these keys; they are of the key column's type, all different, and none is NULL."""

    def close(self) -> None:
        """Let go of connections and memory; it is not used afterwards."""


class SegmentWriter(Protocol):
    """Takes a task's rows of one epoch. Nothing that it writes is visible before the sink's commit."""

    def write(self, rows: pa.RecordBatch) -> None:
        """Take some rows; the batch has the table's schema."""

    def close(self) -> bytes:
        """Make what was written durable and say what it is, in a message for `Sink.commit`."""


class Sink(Protocol):
    """Writes one table, exactly once unless its connector says otherwise."""

    def open(self, epoch: Epoch, task: int) -> SegmentWriter:
        """A writer for one task of an epoch. Runs in a worker process."""

    def commit(self, epoch: Epoch, messages: Sequence[bytes]) -> None:
        """Take the epoch, wholly, once: read the ledger, decide, write, record. Runs on the driver. Called again
        with the same epoch after a crash, it does nothing when the ledger has it already. `messages` are in
        the order of the tasks. Called for every epoch, also when it has no rows."""


@runtime_checkable
class HasProbe(Protocol):
    """A sink that can tell whether it could take an epoch."""

    def probe(self) -> None:
        """Fail as `commit` would where the target is away or cannot be written. Leaves nothing behind."""


@runtime_checkable
class HoldsRows(Protocol):
    """A sink whose readers do not see all rows of the epochs that it has taken."""

    def holds_from(self, epoch: Epoch) -> Sequence[int | None]:
        """For each thing that cannot be read after a committed epoch, the event time in microseconds that none of its
        rows is older than, late ones aside; None where that is not known."""


@dataclass(frozen=True, slots=True)
class SinkContext:
    """Where a sink of a job keeps its own files: segments, ledger. The directory exists; nobody else uses it."""

    directory: Path
    job: str = ""
    owner: Owner | None = None
    """Whose the targets are to be; with None nobody asks."""


@dataclass(frozen=True, slots=True)
class Connector:
    """What rows come from or go to, and how."""

    name: str
    summary: str
    """One sentence for the reference page."""
    options: Mapping[Direction, type[Options]]
    """The directions it has, and the options of each. With one direction, `type` need not be given."""
    connection: type[Options] | None = None
    """Those options of all directions that say where another system is and who asks it: what a form for a connection
    asks for, and one for its tables does not. CREATE CONNECTION may hold whatever all directions have."""
    carries: frozenset[RecordKind] = frozenset()
    """The records that it reads and writes; none when the connector brings its own schema or needs none."""
    carries_changes: bool = True
    """Whether it carries records that say what is done to a row, too."""
    default_format: str | None = None
    schema: Schema | None = None
    """The columns of a table that is declared without any, for connectors that bring their own."""
    metadata: Mapping[str, Field] = field(default_factory=dict)
    """What `METADATA FROM 'key'` may name: key to the field it is."""
    event_time: str | None = None
    """The metadata key that is the event time of a table that names none; None is when a row is read."""
    probe: Callable[[Options], str] | None = None
    """Asks the other system whether it lets somebody in with these options, or those of a table; what it says, in
    words. Raises an EngineError where it does not."""
    check: Callable[[Table], str | None] = lambda table: None
    """What is wrong with a table as a whole, in words, or None; called when its columns are known."""
    needs_event_time: Callable[[Options], bool] = lambda options: False
    """Whether a sink with these options wants the event time, as one more column `_timestamp` behind the table's."""
    wakes_after: Callable[[Options], timedelta | None] = lambda options: None
    """How long the input may be silent before a sink with these options wants an epoch all the same."""
    target_names: Callable[[Options], Sequence[str]] = lambda options: ()
    """The places that a sink with these options must have to itself, by `delivery.target_names`; none where many may
    write beside each other."""
    place: Callable[[Options], str | None] = lambda options: None
    """The URI by which others know the place that a table with these options reads or writes; None where there is
    none."""
    redirect: Callable[[Options, str], Options] | None = None
    """The options of a table that writes elsewhere under a prefix, or of a source, which tells elsewhere how far it has
    read; ValueError, with what is wrong, where these have no such place. Without it, sinks are refused."""
    open_source: Callable[[Table], Source] | None = None
    starts: Callable[[Options], frozenset[StartWord]] = lambda options: EARLIEST_ONLY
    """Where a source with these options can begin."""
    declared_start: Callable[[Options], StartWord] = lambda options: "earliest"
    """Where a source with these options begins when its run says nothing."""
    is_all_there: Callable[[Options], bool] = lambda options: False
    """Whether all rows of a source with these options are there when it begins, so that its epochs may be large."""
    is_by_clock: Callable[[Options], bool] = lambda options: False
    """Whether a source with these options makes its rows by the clock, so that nobody can read them again later."""
    spark_read: Callable[[Table], SparkRead | None] = lambda table: None
    """How Spark reads the table by a source of its own, where it is to; the source plans the epochs all the same."""
    open_sink: Callable[[Table, SinkContext], Sink] | None = None
    open_lookup: Callable[[Table], Lookup] | None = None
    guarantee: Literal["exactly-once", "at-least-once", "best effort"] = "best effort"
    """What holds of every row that its sink writes."""
    takes_back: bool = True
    """Whether an exactly-once sink can take back an epoch that another query or a restore puts in question."""
    limits: tuple[str, ...] = ()
    """What its sink cannot promise, or only under a condition: sentences for the reference page."""
    hidden: bool = False
    only_shows: bool = False
    """Whether its rows are for people to look at, who see changes as changes whatever the format."""
    may_refuse_rows: bool = False
    """Whether what its sink writes to can refuse a single row, so that `bad_data` has a meaning there."""
    records_stand_alone: bool = False
    """Whether each record that its sink writes is read by itself, so that those that come later may look different."""
    new_columns: Callable[[Table], str | None] = lambda table: None
    """What becomes of columns that a sink gets beside those that it has written already, in words; None where all that
    it writes has to have the same columns."""
    ask_for_columns: Callable[[Table], str | None] = lambda table: None
    """Asks whoever keeps the schema of a sink's records whether they may have the columns of the table from now on, and
    changes nothing: the answer in words, None where nobody has to be asked. Raises an EngineError where it is no, or
    where there is none."""
    drops_all: bool = False
    """Whether rows for it need not even leave Spark."""

    @property
    def formats(self) -> frozenset[str]:
        """The formats whose records it carries."""
        fitting = (form for form in FORMATS if form.records in self.carries)
        return frozenset(form.name for form in fitting if self.carries_changes or not form.carries_changes)


def row_schema(table: Table, metadata: Mapping[str, Field]) -> Schema:
    """The columns of a table's rows: those that are decoded, then those filled from around the record."""
    filled = (replace(metadata[key], name=name) for name, key in table.metadata)
    return Schema((*table.schema, *filled))
