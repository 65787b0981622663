"""Close windows in the epoch whose offsets move the watermark.

    offset 8     watermark 12:00:05, from the rows of epoch 7
    epoch 8      emits windows that end by 12:00:05; a row of epoch 8 in one of them is late
    Spark alone  would learn 12:00:05 while it reads epoch 8, and emit the windows in epoch 9

The state is not scanned if no window can end between the previous watermark and the new one. See
docs/decisions/windows-close-by-the-plan.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from pyspark.sql import SparkSession

from engine.plan.times import Ends
from engine.spark.read.watermarks import END_OF_WINDOWS

_TICK = timedelta(microseconds=1)


def close_by_plan(spark: SparkSession, name: str, ends: Iterable[Ends] | None) -> None:
    """Let a running query close its windows by the plan, from its next epoch on. Must be called during one of its
    epochs."""
    (query,) = (query for query in spark.streams.active if query.name == name)
    assert spark._jvm is not None  # noqa: SLF001 - pyspark has no other way to Java
    told = ",".join(f"{end.every // _TICK}+{end.since // _TICK}" for end in ends or ())
    spark._jvm.arroyo.PlannedWatermarks.install(query._jsq, END_OF_WINDOWS // 1000, told)  # noqa: SLF001 - see above
