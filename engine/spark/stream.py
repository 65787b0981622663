"""The stream part of a program as one frame of Spark's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from engine.compile import Program
from engine.plan.reads import read_by
from engine.plan.tree import EVENT_TIME, walk
from engine.spark.epoch import EpochPart, tag
from engine.spark.kernels import register_kernels
from engine.spark.lower import stream_lowering
from engine.spark.lower.rows import open_table, quoted
from engine.spark.source import BARE, WITH_TIME, WITH_WATERMARK, ScanSpec, format_name, source_class
from engine.spark.udfs import register_udfs


@dataclass(frozen=True, slots=True)
class Limits:
    """How wide and how long an epoch may be."""

    tasks: int
    max_epoch_rows: int | None


def stream_part(
    spark: SparkSession, program: Program, epoch: EpochPart, notes: Path, limits: Limits, job: str = ""
) -> DataFrame:
    """One frame with the rows of every branch. A table that several branches read is one source to Spark."""
    register_kernels(spark, (*program.parts.branches, *program.parts.writes))
    tables = open_tables(spark, program, epoch, notes, limits, job)
    register_udfs(spark, program.udfs)
    lowering = stream_lowering(tables, program.tables, program.udfs)
    frames = [
        lowering.lower(branch).select(*map(quoted, schema.names))
        for branch, schema in zip(program.parts.branches, epoch.branch_schemas, strict=True)
    ]
    return frames[0] if len(frames) == 1 else tag(frames, epoch.branch_schemas)


def open_tables(
    spark: SparkSession, program: Program, epoch: EpochPart, notes: Path, limits: Limits, job: str = ""
) -> Mapping[str, DataFrame]:
    """The source tables of a program by name, each opened once."""
    branches = [node for branch in program.parts.branches for node in walk(branch)]
    reads_time = epoch.carries_time or any(EVENT_TIME in read_by(node) for node in branches)
    looks_at_time = reads_time or program.parts.is_updating
    hidden = WITH_WATERMARK if program.parts.closes_windows else WITH_TIME if looks_at_time else BARE
    directories = {name: notes / format_name(name) for name in program.scans}
    tables: dict[str, DataFrame] = {}
    for name, scan in program.scans.items():
        others = tuple(path for other, path in directories.items() if other != name)
        table, own = replace(program.tables[name], job=job), directories[name]
        spec = ScanSpec(table, scan, own, others, limits.tasks, limits.max_epoch_rows, hidden, epoch.wakes_after)
        spark.dataSource.register(source_class(spec))
        raw = spark.readStream.format(format_name(name)).load()
        tables[name] = open_table(raw)
    return tables
