"""Build the stream part of a program as one Spark DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from engine.compile import Program
from engine.plan.placement.fuse import fused_tables
from engine.plan.placement.reads import read_by
from engine.plan.tree import EVENT_TIME, walk
from engine.spark.lower import stream_lowering
from engine.spark.lower.rows import open_table, quoted
from engine.spark.read.history import History
from engine.spark.read.planner import Offset, PlanSpec
from engine.spark.read.scan_spec import BARE, WITH_TIME, WITH_WATERMARK, ScanSpec, format_name, safe_name
from engine.spark.read.slices_read_by_spark import stream_slices, tables_of
from engine.spark.read.source import Reader, source_class, streamed
from engine.spark.run.epoch import EpochPart
from engine.spark.run.map_only import WholeTasks
from engine.spark.tagged_frames import tag
from engine.spark.workers.register_functions import register_kernels, register_udfs


@dataclass(frozen=True, slots=True)
class EpochLimits:
    """Limits and settings of a run's epochs."""

    tasks: int
    max_epoch_rows: int | None
    pulses: Path | None = None
    """Directory of the planners' liveness files."""
    linger: timedelta = timedelta(0)
    """Pause of planners between two polls of idle sources."""
    histories: Mapping[str, History] = field(default_factory=dict)
    """Backfill ranges of tables that were not read yet."""
    tells_sources: bool = True
    """Whether to commit read positions to the sources."""
    meets: Mapping[str, Offset] = field(default_factory=dict)
    """Positions at which tables stop (see `spark/read/meeting.py`)."""
    intake: Path | None = None
    """Directory of the intake logs."""
    is_one_jvm: bool = True
    """Whether all tasks run in the JVM of the driver, and so use its disk."""


@dataclass(frozen=True, slots=True)
class StreamPart:
    """The stream part of a program: the streaming DataFrame, and the function that makes the rows of every branch of an
    epoch. If source tasks execute the `whole` branch, they make the rows themselves."""

    frame: DataFrame
    released: Callable[[DataFrame], DataFrame]
    whole: WholeTasks | None = None


def stream_part(
    spark: SparkSession, program: Program, epoch: EpochPart, notes: Path, limits: EpochLimits, job: str = ""
) -> StreamPart:
    """Return the stream part, ready to be started. For Spark, a table that several branches read is one source."""
    register_functions(spark, program)
    specs = scan_specs(program, epoch, notes, limits, job)
    if any(spec.spark_read for spec in specs.values()):
        return StreamPart(
            stream_slices(spark, specs), lambda rows: lowered(program, epoch, tables_of(spark, specs, rows))
        )
    if (branch := program.whole) is not None:
        whole = WholeTasks(specs[branch.table], branch)
        return StreamPart(whole.stream(spark), lambda rows: rows, whole)
    return StreamPart(lowered(program, epoch, open_tables(spark, specs)), lambda rows: rows)


def register_functions(spark: SparkSession, program: Program) -> None:
    """Register every function of ours and of the user's that a program calls."""
    register_kernels(spark, (*program.parts.branches, *program.parts.writes))
    register_udfs(spark, program.udfs)


def lowered(program: Program, epoch: EpochPart, tables: Mapping[str, DataFrame]) -> DataFrame:
    """Return the branches of the stream part as one frame, over the tables."""
    lowering = stream_lowering(tables, program.tables, program.udfs)
    frames = [
        lowering.lower(branch).select(*map(quoted, schema.names))
        for branch, schema in zip(program.running_parts.branches, epoch.branch_schemas, strict=True)
    ]
    return frames[0] if len(frames) == 1 else tag(frames, epoch.branch_schemas)


def open_tables(
    spark: SparkSession, specs: Mapping[str, ScanSpec], reader: type[Reader] = Reader
) -> Mapping[str, DataFrame]:
    """Return the source tables, each opened once; the `reader` plans and reads them."""
    for spec in specs.values():
        spark.dataSource.register(source_class(spec, reader))
    return {name: open_table(streamed(spark, name)) for name in specs}


def scan_specs(
    program: Program, epoch: EpochPart, notes: Path, limits: EpochLimits, job: str = ""
) -> Mapping[str, ScanSpec]:
    """Return the scan of each source table of a program, by name."""
    hidden = WITH_WATERMARK if program.parts.closes_windows else WITH_TIME if _reads_time(program, epoch) else BARE
    directories = {name: notes / format_name(name) for name in program.scans}
    fused = fused_tables(program.running_parts.branches)
    specs: dict[str, ScanSpec] = {}
    for name, scan in program.scans.items():
        other_notes = tuple(directory for table, directory in directories.items() if table != name)
        pulse = limits.pulses and limits.pulses / format_name(name)
        plan = PlanSpec(
            name,
            directories[name],
            other_notes,
            limits.tasks,
            limits.max_epoch_rows,
            epoch.wakes_after,
            pulse,
            limits.linger,
            None if (start := program.tables[name].start) is None else str(start),
            limits.histories.get(name),
            limits.meets.get(name),
            may_be_unread=limits.is_one_jvm,
        )
        intake = limits.intake and limits.intake / safe_name(name)
        table = replace(program.tables[name], job=job, intake=intake)
        spec = ScanSpec(table, scan, plan, hidden, fused.get(name), limits.tells_sources)
        # where Spark is the reader, no task of ours runs for a slice without rows
        specs[name] = replace(spec, plan=replace(plan, checks_notes=spec.spark_read is None))
    return specs


def _reads_time(program: Program, epoch: EpochPart) -> bool:
    """Whether an expression reads the event time of rows."""
    nodes = (node for branch in program.parts.branches for node in walk(branch))
    return epoch.carries_time or program.parts.is_updating or any(EVENT_TIME in read_by(node) for node in nodes)
