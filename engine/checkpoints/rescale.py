"""Laying a state out for another number of tasks: on a copy, which then takes the place of the original."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from engine.checkpoints import spark_log
from engine.checkpoints.contents import has_state
from engine.checkpoints.layout import StatePaths, read_json, write_json, write_text
from engine.checkpoints.lineage import new_id, read_lineage, write_lineage
from engine.checkpoints.savepoints import copy_epoch
from engine.checkpoints.swap import begin_swap, commit_swap, finish_swap

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def needs_spark(state: Path, parallelism: int) -> bool:
    """Whether there is state that lies otherwise now."""
    paths = StatePaths(state)
    epoch = spark_log.newest_commit(paths.checkpoint)
    if epoch is None or not has_state(paths.checkpoint):
        return False
    return spark_log.read_planned(paths.checkpoint, epoch).parallelism != parallelism


def repartition(
    state: Path,
    parallelism: int,
    open_spark: Callable[[], SparkSession],
    *,
    new_lineage: Callable[[], str] = new_id,
) -> None:
    """The next run has so many tasks. Nothing changes when it is killed in the middle. The pipeline must not be
    running. Spark is only asked for when there is state to lay out anew."""
    paths = StatePaths(state)
    finish_swap(paths)
    if needs_spark(state, parallelism):
        _lay_out(paths, parallelism, open_spark(), new_lineage)
        return
    pipeline = read_json(paths.pipeline)
    if pipeline is not None and pipeline.get("parallelism") != parallelism:
        write_json(paths.pipeline, {**pipeline, "parallelism": parallelism})


def _lay_out(paths: StatePaths, parallelism: int, spark: SparkSession, new_lineage: Callable[[], str]) -> None:
    epoch = max(spark_log.numbers(paths.checkpoint / "commits"))
    staging = begin_swap(paths)
    copy_epoch(paths, staging, epoch)
    copy = staging / paths.checkpoint.name
    planned = _take_out_the_next(copy, epoch)
    # Spark needs its state coordinator for this, which only comes into being when somebody asks for the queries;
    # without it the attempt fails and leaves an unfinished epoch behind.
    _ = spark.streams.active
    spark._streamingCheckpointManager.repartition(str(copy), parallelism)  # noqa: SLF001 - it has no public name yet
    if planned is not None:
        # It may have been acted upon already, so it must cover the same range again. Repartitioning took its number.
        write_text(copy / "offsets" / str(epoch + 2), planned.cut_into(parallelism).text())
        lineage = read_lineage(staging / paths.lineage.name).forked_at(epoch, new_lineage())
        write_lineage(staging / paths.lineage.name, lineage)
    write_json(
        staging / paths.pipeline.name, {**(read_json(staging / paths.pipeline.name) or {}), "parallelism": parallelism}
    )
    commit_swap(paths)


def _take_out_the_next(copy: Path, epoch: int) -> spark_log.PlannedEpoch | None:
    """Spark lays out nothing while an epoch is planned and not committed."""
    plan = copy / "offsets" / str(epoch + 1)
    if not plan.exists():
        return None
    planned = spark_log.read_planned(copy, epoch + 1)
    plan.unlink()
    return planned
