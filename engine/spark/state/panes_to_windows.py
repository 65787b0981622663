"""Convert window state from panes to Spark's form: one row per window and key instead of one per pane and key.

    hop(2 s, 10 s), count(*)      by pane             (12:00:00, a) 2, (12:00:02, a) 1      closed up to 12:00:04
    count(*), avg(price)          by window           ([11:59:56, 12:00:06), a) 3, ?
                                                      ([11:59:58, 12:00:08), a) 3, ?   and so on

The row of a window is what it would emit if no more input came. The rows pass through files, one per partition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from engine.checkpoints import spark_log
from engine.checkpoints.whole_state import files_of_partitions
from engine.errors import UnreadableStateError, message_of
from engine.inspection.bytes_read import NotAsWrittenError
from engine.inspection.store import read_store
from engine.plan.nodes import WindowAggregate
from engine.schema import arrow_schema
from engine.spark.lower.paned import pane_spec
from engine.updating.panes import PaneSpec, open_windows


def rows_of_windows(
    spark: SparkSession, checkpoint: Path, number: int, node: WindowAggregate, columns: Sequence[str], folder: Path
) -> DataFrame:
    """Return the rows of the open windows of an operator in a checkpoint: the window and the keys, then its aggregates,
    named by `columns`. They are in the folder, which is new."""
    epoch = spark_log.newest_commit(checkpoint)
    assert epoch is not None
    spec = pane_spec(node)
    folder.mkdir(parents=True)
    for partition, files in files_of_partitions(checkpoint, epoch).items():
        if partition.operator == number:
            tables = _tables(spec, [checkpoint / file for file in files])
            _write(folder / f"{partition.number}.parquet", arrow_schema(spec.schema), tables)
    names, keys = spec.schema.names, len(node.keys)
    aggregates = names[keys + 1 : keys + 1 + len(columns)]
    called = [F.col(name).alias(column) for name, column in zip(aggregates, columns, strict=True)]
    # a path is no pattern, whatever is in it
    rows = spark.read.option("__globPaths__", "false").parquet(f"file:{folder.absolute()}")
    return rows.select(names[keys], *names[:keys], *called)


def _tables(spec: PaneSpec, files: Sequence[Path]) -> Iterator[pa.Table]:
    try:
        for state in read_store(files).states_of_buckets():
            yield open_windows(spec, state)
    except NotAsWrittenError as error:
        raise UnreadableStateError(
            f"the state holds a file that {message_of(error)}", hint="see with `arroyo state doctor` what is wrong"
        ) from error


def _write(path: Path, schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
    with pq.ParquetWriter(path, schema) as writer:
        for table in tables:
            writer.write_table(table)
