"""What a bucket keeps between epochs: small chunks beside the list of chunks, large ones by number."""

from __future__ import annotations

from collections import Counter
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql import Row

from engine.schema import Field, Schema
from engine.spark.buckets import LABELS, BucketProcessor, recent_chunks
from engine.types import BIGINT, TEXT
from engine.updating.accumulators.base import Measure
from engine.updating.aggregate import AggregateOperator
from engine.updating.aggregate_spec import AggregateSpec
from engine.updating.serialization import BUCKETS, from_bytes
from tests.updating.streams import INSTANT, fold

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class OneValue:
    """State of one value."""

    value: tuple[Any, ...] | None = None

    def get(self) -> tuple[Any, ...] | None:
        return self.value

    def update(self, value: tuple[Any, ...]) -> None:
        self.value = value


class Numbered(dict[Any, Any]):
    """State of values by number."""

    def getValue(self, key: Any) -> Any:  # noqa: N802 - Spark's name
        return self.get(key)

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802 - Spark's name
        self[key] = value

    def removeKey(self, key: Any) -> None:  # noqa: N802 - Spark's name
        del self[key]


class State:
    """The state of one bucket, in memory."""

    def __init__(self) -> None:
        self.value, self.numbered = OneValue(), Numbered()
        self._statefulProcessorApiClient = SimpleNamespace(set_handle_state=lambda _: None)  # Spark's name

    def getValueState(self, *_: str) -> OneValue:  # noqa: N802 - Spark's name
        return self.value

    def getMapState(self, *_: str) -> Numbered:  # noqa: N802 - Spark's name
        return self.numbered


@pytest.mark.parametrize("remembers", [True, False])
def test_much_state_comes_back_as_it_was_left(remembers: bool) -> None:
    spec = AggregateSpec(
        schema=Schema((Field("c0", TEXT), Field("c1", BIGINT))),
        key_count=1,
        measures=(Measure("sum", (BIGINT,), BIGINT),),
        only_appends=True,
        ttl=1 << 50,
    )
    operator, state, chance = AggregateOperator(spec), State(), Random(5)
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
        processor.init(state)
        payloads = [Row(payload=payload) for _, payload in operator.pack(rows)]
        for out in processor.handleInputRows(0, iter(payloads), None):
            changes += from_bytes(out.payload)[0].to_pylist()
        most = max(most, len(state.numbered))

    assert fold(changes) == Counter(expected.items())
    assert 1 <= len(state.numbered) <= most < 10


def test_every_bucket_has_a_label_of_its_own() -> None:
    assert len(set(LABELS)) == BUCKETS


@pytest.mark.parametrize("tasks", [1, 2, 3, 4, 5, 6, 7, 8, 16, 32])
def test_no_task_gets_two_buckets_more_than_another(spark: SparkSession, tasks: int) -> None:
    labels = spark.createDataFrame([(label,) for label in LABELS], "label int")
    dealt = labels.selectExpr(f"pmod(hash(label), {tasks}) AS task").groupBy("task").count().collect()

    counts = [row["count"] for row in dealt]
    assert (sum(counts), len(counts)) == (BUCKETS, tasks)
    assert max(counts) - min(counts) <= 1
