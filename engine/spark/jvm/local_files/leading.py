"""Drop rows that cannot be among the first rows of their window, before the window is sorted."""

from __future__ import annotations

from pyspark import SparkContext
from pyspark.sql import Column
from pyspark.sql.classic.column import Column as ClassicColumn


def may_lead(start: Column, end: Column, value: Column, places: int, *, descending: bool) -> Column:
    """Whether fewer than so many rows of the same window have passed in this task that are strictly before a row. True
    for a row that has no value, or no window."""
    context = SparkContext._active_spark_context  # noqa: SLF001 - pyspark has no other way to Java
    assert context is not None
    assert context._jvm is not None  # noqa: SLF001
    columns = [column._jc for column in (start, end, value)]  # noqa: SLF001
    return ClassicColumn(context._jvm.arroyo.Leading.of(*columns, places, descending))  # noqa: SLF001
