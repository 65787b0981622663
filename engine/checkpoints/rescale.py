"""Repartition a state for another number of tasks, on a copy, which then replaces the original.

The state has 4 partitions, epoch 41 is committed and 42 is planned; the new number is 8:

    copy of 41       offsets 41, commits 41, state in 4 partitions; the plan of 42 is removed
    Spark            repartitions the copy as epoch 42: offsets 42, commits 42, state in 8 partitions
    offsets 43       the plan, added again under the next number, with the same range
    lineage          a new one from epoch 41 on, since a sink may have written that range as epoch 42 already
    swap             the copy replaces the state

Without a planned epoch the lineage stays the same, and sinks only see that one number is missing
(docs/decisions/states-are-swapped-whole.md).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from engine.checkpoints import spark_log
from engine.checkpoints.forms import tell_later
from engine.checkpoints.layout import StatePaths, read_json, write_json, write_text
from engine.checkpoints.lineage import new_id, read_lineage, write_lineage
from engine.checkpoints.manifest import has_state
from engine.checkpoints.savepoints import copy_epoch
from engine.checkpoints.state_moves import bring_state_home
from engine.checkpoints.swap import StatePoint, begin_swap, commit_swap, finish_swap
from engine.delivery.faults import reach

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def needs_spark(state: Path, parallelism: int) -> bool:
    """Whether there is state, and it is laid out for another number of tasks."""
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
    """Let the next run use this many tasks. A crash leaves the state unchanged. The pipeline must not be running. Spark
    is opened only if there is state to repartition."""
    paths = StatePaths(state)
    finish_swap(paths)
    if needs_spark(state, parallelism):
        bring_state_home(paths)  # Spark reads schemas by the paths that it has written down
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
    # Spark needs its state coordinator for this, which is only created when the queries are requested;
    # without it the attempt fails and leaves an unfinished epoch behind.
    _ = spark.streams.active
    spark._streamingCheckpointManager.repartition(str(copy), parallelism)  # noqa: SLF001 - it has no public name yet
    tell_later(copy, epoch)
    reach(StatePoint.WHILE_BUILDING)
    if planned is not None:
        # A sink may have the epoch already, so it must cover the same range again. Spark's layout took its number.
        write_text(copy / "offsets" / str(epoch + 2), planned.cut_into(parallelism).text())
        lineage = read_lineage(staging / paths.lineage.name).forked_at(epoch, new_lineage())
        write_lineage(staging / paths.lineage.name, lineage)
    write_json(
        staging / paths.pipeline.name, {**(read_json(staging / paths.pipeline.name) or {}), "parallelism": parallelism}
    )
    commit_swap(paths)


def _take_out_the_next(copy: Path, epoch: int) -> spark_log.PlannedEpoch | None:
    """Remove the plan of the next epoch from the copy: Spark refuses to repartition a state with an uncommitted
    epoch."""
    plan = copy / "offsets" / str(epoch + 1)
    if not plan.exists():
        return None
    planned = spark_log.read_planned(copy, epoch + 1)
    plan.unlink()
    return planned
