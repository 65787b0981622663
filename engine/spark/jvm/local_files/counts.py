"""Aggregate that sums counts. Its state has the same form as Spark's `count`."""

from __future__ import annotations

from pyspark import SparkContext
from pyspark.sql import Column
from pyspark.sql.classic.column import Column as ClassicColumn


def total_of_counts(counts: Column) -> Column:
    """Return the sum of a column of counts; never NULL."""
    context = SparkContext._active_spark_context  # noqa: SLF001 - pyspark has no other way to Java
    assert context is not None
    assert context._jvm is not None  # noqa: SLF001
    return ClassicColumn(context._jvm.arroyo.TotalOfCounts.of(counts._jc))  # noqa: SLF001
