"""What a bucket keeps between epochs: small chunks beside the list of chunks, large ones by number."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.sql import Row

from engine.schema import Field, Schema
from engine.spark.state.buckets import LABELS, BucketProcessor, recent_chunks
from engine.types import BIGINT, TEXT
from engine.updating.accumulators.counts import Measure
from engine.updating.aggregate import AggregateOperator
from engine.updating.aggregate_spec import AggregateSpec
from engine.updating.serialization import BUCKETS, from_bytes
from tests.updating.streams import INSTANT, fold

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

    from engine.updating.bucket_state import BucketWrite, LargeChunk


class Store:
    """The state of a task, in memory."""

    def __init__(self) -> None:
        self.of_bucket: dict[int, tuple[str, bytes]] = {}
        self.large: dict[tuple[int, int], bytes] = {}

    def heads(self, labels: Sequence[int]) -> list[tuple[str, bytes] | None]:
        return [self.of_bucket.get(label) for label in labels]

    def chunks(self, label: int, chunks: Sequence[LargeChunk]) -> list[bytes]:
        return [self.large[label, chunk.number] for chunk in chunks]

    def write(self, writes: Mapping[int, BucketWrite]) -> None:
        for label, write in writes.items():
            self.large |= {(label, chunk.number): content for chunk, (_, content) in write.new_chunks.items()}
            for chunk in write.gone_chunks:
                del self.large[label, chunk.number]
            self.of_bucket[label] = write.listing, write.small


@pytest.mark.parametrize("remembers", [True, False])
def test_much_state_comes_back_as_it_was_left(remembers: bool) -> None:
    spec = AggregateSpec(
        schema=Schema((Field("c0", TEXT), Field("c1", BIGINT))),
        key_count=1,
        measures=(Measure("sum", (BIGINT,), BIGINT),),
        only_appends=True,
        ttl=1 << 50,
    )
    operator, store, chance = AggregateOperator(spec), Store(), Random(5)
    expected: Counter[str] = Counter()
    changes: list[dict[str, object]] = []
    most = 0

    for epoch in range(40):
        keys = [chance.randrange(3000) for _ in range(chance.choice([3, 50, 2000]))]
        rows = pa.table(
            {
                "_id": pa.array(keys, pa.int64()),
                "k0": [f"key {key}" for key in keys],
                "a0_0": pa.array([epoch] * len(keys), pa.int64()),
                "_timestamp": pa.array([epoch] * len(keys), INSTANT),
            }
        )
        expected.update({f"key {key}": epoch * count for key, count in Counter(keys).items()})
        if not remembers:
            recent_chunks.cache_clear()  # as in a process that is new
        processor = BucketProcessor(operator)
        processor.keep_in(store)
        outs: list[Row] = []
        for bucket, payload in operator.pack(rows):
            outs += processor.handleInputRows((LABELS[bucket],), iter([Row(payload=payload)]), None)
        outs += processor.take_steps()
        changes += [change for out in outs for change in from_bytes(out.payload)[0].to_pylist()]
        most = max(most, len(store.large))

    assert fold(changes) == Counter(expected.items())
    assert 1 <= len(store.large) <= most < 10


def test_every_bucket_has_a_label_of_its_own() -> None:
    assert len(set(LABELS)) == BUCKETS


@pytest.mark.parametrize("tasks", [1, 2, 3, 4, 5, 6, 7, 8, 16, 32])
def test_no_task_gets_two_buckets_more_than_another(spark: SparkSession, tasks: int) -> None:
    labels = spark.createDataFrame([(label,) for label in LABELS], "label int")
    dealt = labels.selectExpr(f"pmod(hash(label), {tasks}) AS task").groupBy("task").count().collect()

    counts = [row["count"] for row in dealt]
    assert (sum(counts), len(counts)) == (BUCKETS, tasks)
    assert max(counts) - min(counts) <= 1
