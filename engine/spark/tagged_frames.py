"""Combine several DataFrames into one and split it again, so that Spark runs one query for all branches and sinks.

frame 0 (n)      (1), (2)                 _sink  s0    s1
frame 1 (a, b)   (x, 7)                   0      {1}   NULL
                                          0      {2}   NULL
                                          1      NULL  {x, 7}
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from engine.schema import Schema
from engine.spark.lower.rows import quoted
from engine.spark.spark_types import spark_schema

TAG = "_sink"


def tag(frames: Sequence[DataFrame], schemas: Sequence[Schema]) -> DataFrame:
    """Combine several frames into one: the number of the frame, and a nullable struct for each with its columns."""
    tagged = []
    for number, frame in enumerate(frames):
        structs = [
            (
                F.struct(*(quoted(name) for name in schema.names))
                if index == number
                else F.lit(None).cast(spark_schema(schema))
            ).alias(f"s{index}")
            for index, schema in enumerate(schemas)
        ]
        tagged.append(frame.select(F.lit(number).alias(TAG), *structs))
    return reduce(DataFrame.union, tagged)


def untag(frame: DataFrame, count: int) -> list[DataFrame]:
    """Split the combined frame into the original ones. A single one was never combined."""
    if count == 1:
        return [frame]
    return [frame.filter(F.col(TAG) == number).select(f"s{number}.*") for number in range(count)]


def with_numbered_columns(frame: DataFrame) -> DataFrame:
    """Return the frame with numbered columns, except for the tag: pyspark cannot pass on every name that users
    choose."""
    names = frame.columns
    return frame.toDF(*(name if name == TAG else f"c{index}" for index, name in enumerate(names)))
