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

        import pyarrow as pa

        needed = [sys.modules.get(name) for name in ("engine.spark.read.source", "engine.updating.aggregate")]
        looked_through = {id(each) for each in gc.get_objects()}
        are_left_out = not any(id(module) in looked_through for module in needed)
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"imported": [None not in needed], "left_out": [are_left_out]})

    assert spark.range(1).mapInArrow(tell, "imported boolean, left_out boolean").collect() == [(True, True)]
