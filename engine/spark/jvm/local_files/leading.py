"""Drop rows that cannot be among the first rows of their window, before the window is sorted."""

from __future__ import annotations

from pyspark import SparkContext
from pyspark.sql import Column
from pyspark.sql.classic.column import Column as ClassicColumn


def may_lead(start: Column, end: Column, value: Column, places: int, *, descending: bool) -> Column:
    """Whether fewer than this many rows of the same window that are strictly before a row have passed in this task.
    True for a row without a value or a window."""
    context = SparkContext._active_spark_context  # noqa: SLF001 - pyspark has no other way to Java
    assert context is not None
    assert context._jvm is not None  # noqa: SLF001
    columns = [column._jc for column in (start, end, value)]  # noqa: SLF001
    return ClassicColumn(context._jvm.arroyo.Leading.of(*columns, places, descending))  # noqa: SLF001
