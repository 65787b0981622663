"""Interfaces of a source, a sink and a lookup table. `kinds.py` has the declarations that open them.

They are created wherever they are needed (on the driver, in every task), so everything that they must remember is in
positions, messages and the sink's own directory, never in the object.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

from pydantic import BaseModel, ConfigDict

from engine.delivery.epoch import Epoch as Epoch  # noqa: PLC0414 - sinks speak of it, so it is part of this contract
from engine.delivery.ownership import Owner
from engine.schema import Field, Schema
from engine.values.start_positions import StartPosition

if TYPE_CHECKING:
    import pyarrow as pa

    from engine.formats.base import FormatOptions

Json: TypeAlias = "None | bool | int | float | str | list[Json] | dict[str, Json]"
Position: TypeAlias = Json
"""Read position of a partition. The connector creates it, Spark's offset log stores it, and it is compared with ==."""

Direction = Literal["source", "sink", "lookup"]
Compression: TypeAlias = Literal["none", "gzip", "zstd"]
"""Compression of a file."""
BadData = Literal["fail", "drop", "dead_letter"]
"""What to do with a record that cannot be decoded: fail the run, drop the record, or store it as a dead letter."""
BadDataCheck = Literal["all_columns", "used_columns"]
"""Columns that a record must fit: all declared ones, or those that the script reads."""


class Options(BaseModel):
    """The WITH options of a connector. Unknown options are refused; each option has a description."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, allow_inf_nan=False)

    changeable: ClassVar[frozenset[str]] = frozenset()
    """Fields that may change while a pipeline keeps its state, because they do not determine which rows there are."""
    added: ClassVar[frozenset[str]] = frozenset()
    """Fields that were added later. While they have their default, fingerprints omit them, so older states fit."""


@dataclass(frozen=True, slots=True)
class Cache:
    """Size of the cache of a lookup table in a worker, and how long an entry is valid; None means forever."""

    max_bytes: int
    ttl: timedelta | None


@dataclass(frozen=True, slots=True)
class Table:
    """A declared table, as its connector sees it. `schema` has the columns that are decoded from a record, `metadata`
    the columns that come from around the record with their keys, and `job` the name of the job, once it runs."""

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
    """Columns that a record must fit, if they differ from the columns that are read (`schema`)."""
    idle_time: timedelta | None = timedelta(minutes=5)
    quiet_after: timedelta | None = None
    framing: Literal["newline"] | None = None
    framing_max_length: int | None = None
    primary_key: tuple[str, ...] = ()
    job: str = ""
    cache: Cache | None = None
    dead_letter_directory: Path | None = None
    dead_letter_table: str | None = None
    """Table for records that cannot be decoded or written. Without it, they go to `dead_letter_directory`."""
    intake: Path | None = None
    """Directory of the table's intake log in the state directory, once it runs."""
    start: StartPosition | None = None
    """Requested start position, which overrides the options; only for a table that was not read yet."""


def narrowed(table: Table, schema: Schema) -> Table:
    """Return the table with the columns of `schema` only; a record must fit the others too, if the table says so."""
    if table.bad_data_check == "used_columns" or schema == table.schema:
        return replace(table, schema=schema)
    return replace(table, schema=schema, declared=table.declared or table.schema)


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record that could not be decoded, or a row that could not be written: its origin, the error, and its bytes."""

    origin: str
    error: str
    record: bytes


@dataclass(frozen=True, slots=True)
class Chunk:
    """Decoded rows as one Arrow batch: the table's schema, then its metadata columns. `dropped` counts records that
    could not be decoded, if `bad_data` is not `fail`; `dead_letters` are those of them to store."""

    rows: pa.RecordBatch
    dropped: int = 0
    dead_letters: tuple[DeadLetter, ...] = ()


@dataclass(frozen=True, slots=True)
class Slice:
    """Part of a partition's range that one task reads. The slices of a range, in order, are the whole range."""

    partition: str
    start: Position
    end: Position


class Source(Protocol):
    """Reads one table. Reading the range between two positions always returns the same rows."""

    bounded: bool
    """Whether the input has an end."""

    def partitions(self) -> Sequence[str]:
        """Return the current partitions. Partitions may be added while a job runs, never removed."""

    def start(self, partition: str) -> Position:
        """Return the position before the first row of a partition."""

    def advance(self, at: Mapping[str, Position], max_rows: int | None) -> Mapping[str, Position]:
        """Return where the next epoch may end, for every partition in `at`: the same position when there is nothing
        new, and at most `max_rows` rows further over all partitions together. Never blocks for data."""

    def is_finished(self, partition: str, at: Position) -> bool:
        """Whether no row can ever follow this position."""

    def slices(self, partition: str, start: Position, end: Position, tasks: int) -> Sequence[Slice]:
        """Return the range cut into at most `tasks` pieces that can be read independently; in order."""

    def read(self, task_slice: Slice) -> Iterator[Chunk]:
        """Return the rows of a slice, in order, in chunks of at most 8,192 rows times a small factor."""


@runtime_checkable
class HasMovingStart(Protocol):
    """A source whose partitions do not always begin at the same position. The begin is stored before anything is read,
    so that a replay begins there, too."""

    def begin(self, partitions: Collection[str], *, is_first: bool) -> Mapping[str, Position]:
        """Return the start positions of new partitions; `is_first` when the pipeline has read nothing yet."""


@runtime_checkable
class HasEnd(Protocol):
    """A source that knows its current end, so that a backfill can read its history."""

    def ends_now(self, at: Mapping[str, Position], stop: Mapping[str, int]) -> Mapping[str, Position]:
        """Return the current ends of the partitions that begin at `at`, or the offsets that `stop` names."""

    def earlier(self, first: Position, second: Position) -> Position:
        """Return the earlier of two positions of a partition. If they cannot be compared, since the object of the first
        is gone, return the second."""


@runtime_checkable
class CommitListener(Protocol):
    """A source that publishes read positions to another system."""

    def acknowledge(self, at: Mapping[str, Position]) -> None:
        """Tell the source that an epoch that ended there is committed. The call may come late or never; no read depends
        on it. A partition that no epoch has begun to read is missing in `at`: after a restart, the first call may name
        none."""


@runtime_checkable
class HasBacklog(Protocol):
    """A source that knows how many rows it has not read."""

    def waiting(self, at: Mapping[str, Position]) -> Mapping[str, int]:
        """Return how many rows of each partition follow those positions, as of the last look at the source."""


@runtime_checkable
class KnowsEnd(Protocol):
    """A source that knows whether a partition is read to its end, even if more rows may come."""

    def is_at_end(self, partition: str, at: Position) -> bool:
        """Whether nothing followed this position at the last poll of the source, neither rows nor a file in progress.
        False if that is unknown."""


@runtime_checkable
class HasPatience(Protocol):
    """A source that may need long to find the end of an epoch, because it asks another system or reads files."""

    @property
    def patience(self) -> timedelta:
        """Return how long a read may be silent without a fault: an unreachable system is reported within that time."""


LONGEST_SEARCH = timedelta(minutes=5)
"""Longest time in which a source may read files to find the end of an epoch: a compressed file is read from its
beginning."""


@runtime_checkable
class HasClock(Protocol):
    """A source with a clock of its own, which determines when its partitions are idle."""

    def now(self) -> datetime:
        """Return the time by that clock."""


class SparkRead(Protocol):
    """Options for reading slices of a table with a data source of Spark, which returns the rows of a slice in one task,
    in order."""

    @property
    def option(self) -> str:
        """Return the option of the table that selects this reader; ours is the default."""

    @property
    def format(self) -> str:
        """Return the name of Spark's source."""

    @property
    def probe(self) -> Mapping[str, str]:
        """Return options with which Spark can tell whether it has that source, without reading anything."""

    @property
    def partition(self) -> str:
        """Return the expression over its columns that gives the name of a row's partition."""

    @property
    def columns(self) -> Sequence[str]:
        """Return the columns that `chunk` needs."""

    def options_of(self, slices: Sequence[Slice]) -> Mapping[str, str]:
        """Return the options with which it reads those slices, of different partitions."""

    def chunk(self, partition: str, rows: pa.RecordBatch) -> Chunk:
        """Return the rows of the table in some rows of Spark's, all of one partition."""


@dataclass(frozen=True, slots=True)
class LookupResult:
    """Result of a lookup: rows with the table's schema and metadata, and for each row the index of its key in the
    request. A key without a row is absent; no key occurs twice."""

    rows: pa.RecordBatch
    keys: pa.Array


class Lookup(Protocol):
    """Finds rows of one table by primary key. A worker process opens it once and uses it for many tasks."""

    is_local: bool
    """Whether it holds all rows in memory, so that a cache would be useless."""

    def refresh(self) -> None:
        """Refresh the data. Called once when a task begins, before its first `fetch`."""

    def fetch(self, keys: pa.Array) -> LookupResult:
        """Return the rows of these keys; they are of the key column's type, all different, and none is NULL."""

    def close(self) -> None:
        """Release connections and memory; the lookup is not used afterwards."""


class SegmentWriter(Protocol):
    """Writes a task's rows of one epoch. Nothing is visible before the sink commits."""

    def write(self, rows: pa.RecordBatch) -> None:
        """Take some rows; the batch has the table's schema."""

    def close(self) -> bytes:
        """Make the written rows durable and describe them in a message for `Sink.commit`."""


class Sink(Protocol):
    """Writes one table, exactly once unless its connector declares another guarantee."""

    def open(self, epoch: Epoch, task: int) -> SegmentWriter:
        """Return a writer for one task of an epoch. Runs in a worker process."""

    def commit(self, epoch: Epoch, messages: Sequence[bytes]) -> None:
        """Take the epoch, completely, once: read the ledger, decide, write, record. Runs on the driver. Called again
        with the same epoch after a crash, it does nothing if the ledger has the epoch. `messages` are in the order of
        the tasks. Called for every epoch, also for one without rows."""


@runtime_checkable
class HasProbe(Protocol):
    """A sink that can check whether it could write an epoch."""

    def probe(self) -> None:
        """Raise the error of `commit` if the target is unreachable or cannot be written. Leaves nothing behind."""


@runtime_checkable
class HoldsRows(Protocol):
    """A sink whose readers do not yet see all rows of its committed epochs."""

    def holds_from(self, epoch: Epoch) -> Sequence[int | None]:
        """Return, for each part that is unreadable after a committed epoch, the event time in microseconds before which
        it has no rows, except late ones; None if that is unknown."""


@dataclass(frozen=True, slots=True)
class SinkContext:
    """Directory of a sink's own files (segments, ledger) within a job. It exists, and nothing else uses it."""

    directory: Path
    job: str = ""
    owner: Owner | None = None
    """Owner that the targets are claimed for; with None ownership is not checked."""


def row_schema(table: Table, metadata: Mapping[str, Field]) -> Schema:
    """Return the columns of a table's rows: the decoded ones, then the metadata columns."""
    filled = (replace(metadata[key], name=name) for name, key in table.metadata)
    return Schema((*table.schema, *filled))
