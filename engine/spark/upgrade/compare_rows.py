"""Compare the rows that two runs wrote to a sink, as multisets, on disk.

    old    (ann, 7) 1    (bob, 2) 1    (bob, 2) -1   (bob, 3) 1
    new    (ann, 8) 1                                (bob, 3) 1
    weight of each row in new minus its weight in old:
           (ann, 7) -1: only in old    (ann, 8) 1: only in new    all others 0: equal

A row that was replaced counts only in its final version. A retraction of an earlier row in only one of the two runs is
a difference, too: the row remains in the other run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from engine.changes.row_difference import DifferentRow, SinkDifference
from engine.connectors.rehearsal import WEIGHT, column
from engine.schema import Field, Schema
from engine.types import is_number


@dataclass(frozen=True, slots=True)
class KeptTable:
    """Rows that a run wrote to a sink, as Parquet files in a directory. Without rows there is no directory."""

    schema: Schema
    directory: Path


def compare_tables(
    spark: SparkSession, sink: str, old: KeptTable, new: KeptTable, scratch: Path, examples: int
) -> SinkDifference:
    """Compare the rows that two runs have saved of a sink. Differences are written to the new folder `scratch`, and
    this many examples are returned."""
    shared = [(field, other) for field in old.schema if (other := new.schema.find(field.name)) is not None]
    common = [(field, other) for field, other in shared if _are_comparable(field, other)]
    old_rows = _rows(spark, old, [field for field, _ in common])
    new_rows = _rows(spark, new, [other for _, other in common])
    result = SinkDifference(
        sink,
        0 if old_rows is None else old_rows.count(),
        0 if new_rows is None else new_rows.count(),
        columns=tuple(field.name for field, _ in common),
        added_columns=tuple(field.name for field in new.schema if old.schema.find(field.name) is None),
        removed_columns=tuple(field.name for field in old.schema if new.schema.find(field.name) is None),
        incomparable_columns=tuple(field.name for field, other in shared if not _are_comparable(field, other)),
    )
    sides = [] if old_rows is None else [old_rows.withColumn(WEIGHT, -F.col(WEIGHT))]
    sides += [] if new_rows is None else [new_rows]
    return _with_differences(spark, result, sides, scratch, examples) if sides else result


def _are_comparable(old: Field, new: Field) -> bool:
    return old.type == new.type or (is_number(old.type) and is_number(new.type))


def _rows(spark: SparkSession, table: KeptTable, fields: Sequence[Field]) -> DataFrame | None:
    """Return the rows with some of the columns, numbered, and their weights; None if there are no rows."""
    if not table.directory.is_dir():
        return None
    places = [table.schema.fields.index(field) for field in fields]
    chosen = [F.col(column(place)).alias(column(number)) for number, place in enumerate(places)]
    return spark.read.parquet(str(table.directory)).select(*chosen, WEIGHT)


def _with_differences(
    spark: SparkSession, result: SinkDifference, sides: Sequence[DataFrame], scratch: Path, examples: int
) -> SinkDifference:
    keys = [column(number) for number in range(len(result.columns))]
    together = sides[0] if len(sides) == 1 else sides[0].unionAll(sides[1])
    different = together.groupBy(*keys).agg(F.sum(WEIGHT).alias(WEIGHT)).where(f"{WEIGHT} <> 0")
    different.write.parquet(str(scratch))
    written = spark.read.schema(different.schema).parquet(str(scratch))
    counts = written.agg(
        F.coalesce(F.sum(F.when(F.col(WEIGHT) < 0, -F.col(WEIGHT))), F.lit(0)).alias("old"),
        F.coalesce(F.sum(F.when(F.col(WEIGHT) > 0, F.col(WEIGHT))), F.lit(0)).alias("new"),
    ).collect()[0]
    named = [F.col(key).alias(name) for key, name in zip(keys, result.columns, strict=True)]
    row = F.to_json(F.struct(*named), {"ignoreNullFields": "false"}) if named else F.lit("{}")
    first = written.orderBy(*keys, WEIGHT).limit(examples).select(row.alias("row"), WEIGHT).collect()
    shown = tuple(DifferentRow(str(found["row"]), found[WEIGHT] > 0, abs(found[WEIGHT])) for found in first)
    return replace(result, only_old=counts["old"], only_new=counts["new"], examples=shown)
