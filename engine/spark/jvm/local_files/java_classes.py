"""Our Java classes, called from Python: an aggregate, a filter before a sort, the watermark of an epoch, and a writer
of state.

Close windows in the epoch whose offsets move the watermark.

    offset 8     watermark 12:00:05, from the rows of epoch 7
    epoch 8      emits windows that end by 12:00:05; a row of epoch 8 in one of them is late
    Spark alone  would learn 12:00:05 while it reads epoch 8, and emit the windows in epoch 9

The state is not scanned if no window can end between the previous watermark and the new one. See
docs/decisions/windows-close-by-the-plan.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.classic.column import Column as ClassicColumn

from engine.plan.times import Ends
from engine.spark.read.watermarks import END_OF_WINDOWS


def total_of_counts(counts: Column) -> Column:
    """Return the sum of a column of counts; never NULL."""
    context = SparkContext._active_spark_context  # noqa: SLF001 - pyspark has no other way to Java
    assert context is not None
    assert context._jvm is not None  # noqa: SLF001
    return ClassicColumn(context._jvm.arroyo.TotalOfCounts.of(counts._jc))  # noqa: SLF001


def may_lead(start: Column, end: Column, value: Column, places: int, *, descending: bool) -> Column:
    """Whether fewer than this many rows of the same window that are strictly before a row have passed in this task.
    True for a row without a value or a window."""
    context = SparkContext._active_spark_context  # noqa: SLF001 - pyspark has no other way to Java
    assert context is not None
    assert context._jvm is not None  # noqa: SLF001
    columns = [column._jc for column in (start, end, value)]  # noqa: SLF001
    return ClassicColumn(context._jvm.arroyo.Leading.of(*columns, places, descending))  # noqa: SLF001


_TICK = timedelta(microseconds=1)


def close_by_plan(spark: SparkSession, name: str, ends: Iterable[Ends] | None) -> None:
    """Let a running query close its windows by the plan, from its next epoch on. Must be called during one of its
    epochs."""
    (query,) = (query for query in spark.streams.active if query.name == name)
    assert spark._jvm is not None  # noqa: SLF001 - pyspark has no other way to Java
    told = ",".join(f"{end.every // _TICK}+{end.since // _TICK}" for end in ends or ())
    spark._jvm.arroyo.PlannedWatermarks.install(query._jsq, END_OF_WINDOWS // 1000, told)  # noqa: SLF001 - see above


@dataclass(frozen=True, slots=True)
class StateRewriter:
    """Copies the state of an operator of one checkpoint into an operator of another checkpoint. Java does the work."""

    java: Any

    @property
    def has_same_keys(self) -> bool:
        """Whether both states have the same keys, which begin with a window."""
        return bool(self.java.hasSameKeys())

    @property
    def has_wider_keys(self) -> bool:
        """Whether the new keys are the old ones in types that are as wide or wider."""
        return bool(self.java.hasWiderKeys())

    @property
    def columns(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the columns of the old values, and those of the new ones."""
        return _listed(self.java.columnsBefore()), _listed(self.java.columnsAfter())

    @property
    def window_starts(self) -> tuple[int, ...]:
        """Return the starts of the windows seen so far, in microseconds, in order."""
        return tuple(map(int, _listed(self.java.windowStarts())))

    def rewrite(self, partition: int, version: int, state_id: str, origins: Sequence[str]) -> str:
        """Copy the rows of a partition into the new state, each column from its origin; return the id of its version
        1."""
        return str(self.java.rewrite(partition, version, state_id, ",".join(origins)))

    def rewrite_all(self, version: int, state_ids: Sequence[str], origins: Sequence[str]) -> tuple[str, ...]:
        """Copy the rows of all partitions to their partitions of the new state; return the ids of its version 1."""
        return _listed(self.java.rewriteAll(version, ",".join(state_ids), ",".join(origins)))

    def fill(self, partitions: int, origins: Sequence[str]) -> tuple[str, ...]:
        """Write all rows into this many partitions of the new state; return the ids of its version 1."""
        return _listed(self.java.fill(partitions, ",".join(origins)))


def state_rewriter(spark: SparkSession, old: Path, operator: int, new: Path, new_operator: int) -> StateRewriter:
    """Return the writer that copies the state of an operator in checkpoint `old` to an operator in checkpoint `new`."""
    return StateRewriter(_java(spark, _root(old), operator, _root(new), new_operator))


def filler(spark: SparkSession, rows: DataFrame, keys: int, new: Path, new_operator: int) -> StateRewriter:
    """Return the writer that puts rows, whose first `keys` columns are the key, into the state of an operator in
    checkpoint `new`."""
    return StateRewriter(_java(spark, rows._jdf, keys, _root(new), new_operator))  # noqa: SLF001 - see below


def _java(spark: SparkSession, *arguments: object) -> object:
    jvm = spark.sparkContext._jvm  # noqa: SLF001 - pyspark has no other way to Java
    assert jvm is not None
    made: object = jvm.arroyo.StateRewriter(spark._jsparkSession, *arguments)  # noqa: SLF001 - see above
    return made


def _root(checkpoint: Path) -> str:
    return (checkpoint.absolute() / "state").as_uri()


def _listed(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(",")))
