"""`DataFrame.mapInArrow` without its import of pandas, which Spark would only use to check its version."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

if TYPE_CHECKING:
    import pyarrow as pa


def map_in_arrow(
    rows: DataFrame, function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], schema: StructType | str
) -> DataFrame:
    """Apply the function to the rows of each task."""
    mapped = UserDefinedFunction(function, schema, evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
    columns = mapped(*(rows[name] for name in rows.columns))
    return DataFrame(rows._jdf.mapInArrow(columns._jc, False, None), rows.sparkSession)  # noqa: SLF001 - Spark has no other way
