"""The plan of a stream is resolved when it is defined, and not once more in each epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def is_marked(spark: SparkSession, plan: Any) -> bool:
    """Whether the rules of the analysis mark a plan, which none does but ours: Spark does that when all are through."""
    return bool(spark._jsparkSession.sessionState().analyzer().execute(plan).analyzed())


@pytest.mark.parametrize("in_epoch", [True, False])
def test_only_what_is_resolved_and_of_an_epoch_is_marked(spark: SparkSession, *, in_epoch: bool) -> None:
    frame: Any = spark.range(3).selectExpr("id + 1 AS next")
    java: Any = spark._jvm
    logical = java.org.apache.spark.sql.catalyst.plans.logical
    key = java.org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution.BATCH_ID_KEY()
    resolved = frame._jdf.queryExecution().analyzed()
    unresolved = frame._jdf.queryExecution().logical()
    spark.sparkContext.setLocalProperty(key, "7" if in_epoch else None)
    try:
        assert is_marked(spark, logical.Project(resolved.projectList(), resolved.child())) is in_epoch
        assert not is_marked(spark, logical.Project(unresolved.projectList(), unresolved.child()))
    finally:
        spark.sparkContext.setLocalProperty(key, None)
