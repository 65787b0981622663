"""Python workers of Spark begin with what they need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


def test_a_worker_has_imported_what_it_needs_and_need_not_look_through_it_for_garbage(spark: SparkSession) -> None:
    def tell(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import gc
        import sys

        are_loaded = {"engine.spark.source", "engine.updating.aggregate"} <= sys.modules.keys()
        collected = gc.get_count()[0] + sum(len(gc.get_objects(generation)) for generation in range(3))

        import pyarrow as pa

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"known": [are_loaded], "few": [collected < gc.get_freeze_count() / 2]})

    assert spark.range(1).mapInArrow(tell, "known boolean, few boolean").collect() == [(True, True)]
