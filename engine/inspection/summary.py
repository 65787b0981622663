"""Summarise a state or a savepoint in figures: `arroyo state show`.

All figures are of the newest committed epoch. Unknown ones are None, and `unknown` has the reason by field name.
Nothing is written, locked or repaired, and a run may be active.
"""

from __future__ import annotations

import errno
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from engine.changes.verdict import StateFigures
from engine.checkpoints import spark_log
from engine.checkpoints.layout import StatePaths, read_json
from engine.checkpoints.lineage import Lineage, read_lineage
from engine.checkpoints.manifest import read_manifest
from engine.checkpoints.running_query import RunningQuery, compile_running, query_of_savepoint, query_of_state
from engine.checkpoints.savepoints import committed_watermark
from engine.checkpoints.spark_log import PlannedEpoch
from engine.checkpoints.state_files import state_files
from engine.checkpoints.state_pointer import read_pointer
from engine.checkpoints.whole_state import files_of_partitions
from engine.compile import Program
from engine.delivery.file_ledger import newest_ledger, read_ledger
from engine.errors import EngineError, NoStateError, UnreadableStateError, message_of
from engine.inspection.bytes_read import NotAsWrittenError
from engine.inspection.epochs import StateListing, is_savepoint
from engine.inspection.find_in_sinks import tables_written
from engine.inspection.retry_reads import read_again
from engine.inspection.store import read_store
from engine.plan.state.operators import Operator
from engine.udf.declared import UdfFile


def summary_to_json(summary: StateSummary) -> dict[str, object]:
    """Return a summary; unknown values are null, and `unknown` next to them has the reasons."""
    shown = asdict(summary)
    shown["directory"] = str(summary.directory)
    shown["parents"] = [list(parent) for parent in summary.parents]
    for operator, figures in zip(summary.operators, shown["operators"], strict=True):
        figures["skew"] = operator.skew
    return shown


def listing_to_json(listing: StateListing) -> dict[str, object]:
    """Return a listing, with whether each epoch can be restored."""
    shown = asdict(listing)
    shown["directory"] = str(listing.directory)
    for epoch, fields in zip(listing.epochs, shown["epochs"], strict=True):
        fields["is_restorable"] = epoch.is_restorable
    return shown


COUNTED_BYTES = 8 << 20
_TOO_MUCH = "there is more state than is counted unasked"
_IN_BUCKET = "the state is in a bucket, and is not downloaded for this: see `arroyo state rows`"
"""Size of a state up to which its rows are counted by default: about a second of work, also for requests for a plan."""

Unknown = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SourceFigures:
    """A place of the plan that reads a table: its position by partition, and its watermark in microseconds."""

    number: int
    table: str | None
    positions: object
    watermark: int | None
    unknown: Unknown = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PartitionFigures:
    """A partition of an operator's state: the size of its files, and its rows."""

    number: int
    bytes: int
    rows: int | None


@dataclass(frozen=True, slots=True)
class OperatorFigures:
    """A stateful operator: Spark's number and name, our id, and the size of its state."""

    number: int
    id: str | None
    kind: str | None
    spark_name: str | None
    bytes: int
    rows: int | None
    partitions: tuple[PartitionFigures, ...]
    unknown: Unknown = field(default_factory=dict)

    @property
    def skew(self) -> float | None:
        """Return the largest partition's size relative to the average; None if the state is empty."""
        return max(part.bytes for part in self.partitions) * len(self.partitions) / self.bytes if self.bytes else None


@dataclass(frozen=True, slots=True)
class SinkFigures:
    """A sink: the newest epoch in its ledger with lineage and generation, and the number of refused rows."""

    name: str
    lineage: str | None = None
    epoch: int | None = None
    generation: int | None = None
    rows: int | None = None
    refused: int | None = None
    unknown: Unknown = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StateSummary:
    """A state or a savepoint. `begun` is an epoch that is planned and not committed; `watermark` is that of committed
    output, and `at` the time of the commit or savepoint, both in microseconds."""

    directory: Path
    name: str | None
    version: int | None
    fingerprint: str | None
    parallelism: int | None
    lineage: str | None
    parents: tuple[tuple[str, int], ...]
    epoch: int | None
    begun: int | None
    at: int | None
    watermark: int | None
    sources: tuple[SourceFigures, ...]
    operators: tuple[OperatorFigures, ...]
    sinks: tuple[SinkFigures, ...]
    unknown: Unknown = field(default_factory=dict)


def summarize_state(
    state: Path, *, counts_all: bool = False, udfs: Sequence[UdfFile] = (), connections: str = ""
) -> StateSummary:
    """Summarise a state directory. Rows of more than COUNTED_BYTES are counted only with `counts_all`. `udfs` and
    `connections` are for states that do not record the functions and connections of their scripts."""
    paths = StatePaths(state)
    if not paths.pipeline.exists() and not paths.checkpoint.is_dir():
        raise NoStateError(
            f"{state} holds no state of a pipeline", hint="name the directory that a run was given as --state-dir"
        )
    program = _program(lambda: query_of_state(state), udfs, connections)
    version = {"version": "only a control plane numbers the versions of a pipeline"}
    return read_again(paths, lambda: _summarize(paths, None, program, counts_all, version))


def summarize_savepoint(
    savepoint: Path, *, counts_all: bool = False, udfs: Sequence[UdfFile] = (), connections: str = ""
) -> StateSummary:
    """Summarise a savepoint."""
    manifest = read_manifest(savepoint)
    program = _program(lambda: query_in(savepoint), udfs, connections)
    version = {} if manifest.origin.version is not None else {"version": "the savepoint does not say it"}
    paths = StatePaths(savepoint)
    return read_again(paths, lambda: _summarize(paths, manifest.origin.version, program, counts_all, version))


def query_in(directory: Path) -> RunningQuery:
    """Return the query of a state directory or a savepoint. Savepoints of earlier versions name it only as a state
    does."""
    if is_savepoint(directory) and read_manifest(directory).sql is not None:
        return query_of_savepoint(directory)
    return query_of_state(directory)


def operator_figures(directory: Path, program: Program) -> Mapping[str, StateFigures]:
    """Return the size of each operator's state, by operator id, in a state or savepoint of a program. Return nothing if
    it cannot be read: a plan is complete without it."""
    paths = StatePaths(directory)

    def read() -> Mapping[str, StateFigures]:
        epoch = spark_log.newest_commit(paths.checkpoint)
        operators = () if epoch is None else tuple(_operators(paths.checkpoint, epoch, program, counts_all=False))
        return {
            operator.id: StateFigures(operator.rows, operator.bytes)
            for operator in operators
            if operator.id is not None
        }

    try:
        return read_again(paths, read)
    except (EngineError, OSError, ValueError, KeyError, IndexError, TypeError, zipfile.BadZipFile):
        return {}


def _program(query: Callable[[], RunningQuery], udfs: Sequence[UdfFile], connections: str) -> Program | str:
    """Return the program of the state, or why its script does not say it."""
    try:
        return compile_running(query(), udfs=udfs, connections=connections)
    except EngineError as error:
        return error.message


def _summarize(
    paths: StatePaths, version: int | None, program: Program | str, counts_all: bool, unknown: Unknown
) -> StateSummary:
    recorded = _recorded(paths)
    lineage = _lineage(paths)
    unknown = dict(unknown) | {} if lineage else {**unknown, "lineage": f"{paths.lineage.name} cannot be read"}
    epoch = spark_log.newest_commit(paths.checkpoint)
    plans = spark_log.numbers(paths.checkpoint / "offsets")
    begun = plans[-1] if plans and plans[-1] != epoch else None
    planned = _planned(paths.checkpoint, epoch if epoch is not None else begun)
    if epoch is None:
        unknown |= {"watermark": "no epoch is committed", "at": "no epoch is committed"}
    elif planned is None:
        unknown |= {"watermark": f"offsets/{epoch} cannot be read", "parallelism": f"offsets/{epoch} cannot be read"}
    watermark = None if epoch is None or planned is None else committed_watermark(paths.checkpoint, epoch)
    if watermark is None:
        unknown.setdefault("watermark", "none was promised by the end of that epoch")
    operators = () if epoch is None else tuple(_operators(paths.checkpoint, epoch, program, counts_all=counts_all))
    return StateSummary(
        directory=paths.root,
        name=str(recorded["name"]) if "name" in recorded else None,
        version=version,
        fingerprint=str(recorded["fingerprint"]) if "fingerprint" in recorded else None,
        parallelism=planned.parallelism if planned and operators else _whole(recorded.get("parallelism")),
        lineage=lineage.id if lineage else None,
        parents=lineage.parents if lineage else (),
        epoch=epoch,
        begun=begun,
        at=None if epoch is None else (paths.checkpoint / "commits" / str(epoch)).stat().st_mtime_ns // 1000,
        watermark=watermark,
        sources=tuple(_sources(planned)) if planned else (),
        operators=operators,
        sinks=tuple(_sinks(paths.sinks, program)),
        unknown=unknown,
    )


def _recorded(paths: StatePaths) -> Mapping[str, object]:
    try:
        return read_json(paths.pipeline) or {}
    except UnreadableStateError:
        return {}


def _lineage(paths: StatePaths) -> Lineage | None:
    try:
        return read_lineage(paths.lineage)
    except UnreadableStateError:
        return None


def _planned(checkpoint: Path, epoch: int | None) -> PlannedEpoch | None:
    try:
        return None if epoch is None else spark_log.read_planned(checkpoint, epoch)
    except UnreadableStateError:
        return None


def _sources(planned: PlannedEpoch) -> Iterator[SourceFigures]:
    for number, (content, watermark) in enumerate(zip(planned.contents, planned.source_watermarks, strict=True)):
        unknown = {} if watermark is not None else {"watermark": "it has none yet"}
        if "table" in content:
            yield SourceFigures(number, str(content["table"]), content.get("at"), watermark, unknown)
        elif content:
            why = "the table is read by a source of Spark's, which does not name it"
            yield SourceFigures(number, None, content, watermark, {"table": why, **unknown})
        else:
            why = "nothing of it was planned yet"
            yield SourceFigures(number, None, None, watermark, {"table": why, "positions": why, **unknown})


def _operators(checkpoint: Path, epoch: int, program: Program | str, *, counts_all: bool) -> Iterator[OperatorFigures]:
    files: dict[int, dict[int, list[Path]]] = {}
    for partition, paths in files_of_partitions(checkpoint, epoch).items():
        files.setdefault(partition.operator, {})[partition.number] = [checkpoint / path for path in paths]
    listed = state_files(checkpoint).sizes()
    needed = {path for parts in files.values() for some in parts.values() for path in some}
    sizes = {path: _size_of(checkpoint, path, listed) for path in needed}
    is_local = read_pointer(checkpoint) is None
    may_count = is_local and (counts_all or sum(sizes.values()) <= COUNTED_BYTES)
    not_counted = _TOO_MUCH if is_local else _IN_BUCKET
    names = spark_names(checkpoint)
    known = {operator.number: operator for operator in program.operators} if isinstance(program, Program) else {}
    for number, parts in sorted(files.items()):
        partitions, why = [], ""
        for part, paths in sorted(parts.items()):
            rows, fault = _count(paths) if may_count else (None, not_counted)
            why = why or fault
            partitions.append(PartitionFigures(part, sum(map(sizes.__getitem__, paths)), rows))
        yield _operator(number, known.get(number), program, names.get(number), partitions, why)


def _size_of(checkpoint: Path, path: Path, listed: Mapping[Path, int]) -> int:
    try:
        return listed[path.relative_to(checkpoint)]
    except KeyError:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from None


def _operator(
    number: int,
    operator: Operator | None,
    program: Program | str,
    spark_name: str | None,
    partitions: Sequence[PartitionFigures],
    why: str,
) -> OperatorFigures:
    unknown = {} if not why else {"rows": why}
    if operator is None:
        unknown["id"] = program if isinstance(program, str) else "the script has no operator of that number"
    if spark_name is None:
        unknown["spark_name"] = "the checkpoint does not say it"
    rows = [part.rows for part in partitions]
    return OperatorFigures(
        number=number,
        id=operator.id if operator else None,
        kind=operator.kind if operator else None,
        spark_name=spark_name,
        bytes=sum(part.bytes for part in partitions),
        rows=None if None in rows else sum(row for row in rows if row is not None),
        partitions=tuple(partitions),
        unknown=unknown,
    )


def spark_names(checkpoint: Path) -> Mapping[int, str]:
    """Return Spark's names of the stateful operators, by number; unreadable ones are left out."""
    folders = [path for path in (checkpoint / "state").glob("*") if path.name.isdigit()]
    names: dict[int, str] = {}
    for folder in folders:
        name = spark_log.operator_name(folder)
        names |= {} if name is None else {int(folder.name): name}
    return names


def _count(files: Sequence[Path]) -> tuple[int | None, str]:
    """Return the rows of a partition, or why they are not known."""
    try:
        return read_store(files).rows, ""
    except NotAsWrittenError as error:
        return None, f"a file of it {message_of(error)}"


def _sinks(folder: Path, program: Program | str) -> Iterator[SinkFigures]:
    tables = {} if isinstance(program, str) else dict(tables_written(program))
    directories = sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    for directory in directories:
        name, _, digest = directory.name.rpartition("_")
        yield _sink(directory, tables.pop(digest, name))
    why = "it keeps nothing here: its ledger, if any, is in its target"
    if not folder.is_dir():
        why = "ledgers stay with the pipeline: there is none in a savepoint"
    for table in tables.values():
        yield SinkFigures(table, unknown={"epoch": why})


def _sink(directory: Path, name: str) -> SinkFigures:
    try:
        ledger = read_ledger(directory)
    except EngineError as error:
        return SinkFigures(name, unknown={"epoch": error.message})
    if not ledger:
        has_file = newest_ledger(directory) is not None
        why = "its ledger is empty" if has_file else "it has taken nothing, or keeps its ledger in its target"
        return SinkFigures(name, unknown={"epoch": why})
    newest = ledger[-1]
    return SinkFigures(name, newest.lineage, newest.epoch, newest.generation, newest.rows, newest.refused)


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) else None
