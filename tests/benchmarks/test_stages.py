"""Which part of a query a sampled stack belongs to."""

from __future__ import annotations

import pytest

from benchmarks.nexmark.stages import ELSE, STAGES, of_java, of_python, of_thread

TASK = "org.apache.spark.executor.Executor$TaskRunner.run"
SQL = "org.apache.spark.sql"


@pytest.mark.parametrize(
    ("frames", "stage"),
    [
        (["cast (pyarrow/compute.py:1)", "decode (engine/formats/json/decode_narrow.py:5)"], "decode"),
        (["take (engine/arrow/evaluate.py:1)", "rows (engine/spark/run/map_only.py:8)"], "partial aggregates"),
        (["merge (engine/updating/chunks.py:1)", "main (pyspark/worker.py:9)"], "state"),
        (["dump (pyspark/serializers.py:1)"], "crossing"),
        (["plan (engine/spark/read/planner.py:1)"], "planning"),
        (["run (somewhere.py:1)"], ELSE),
        (["manager (pyspark/daemon.py:1)", "<module> (engine/spark/workers/daemon.py:2)"], None),
        ([], None),
    ],
)
def test_the_innermost_call_of_python_that_says_anything_decides(frames: list[str], stage: str | None) -> None:
    assert of_python(frames) == stage
    assert stage in {*STAGES, ELSE, None}


@pytest.mark.parametrize(
    ("frames", "stage"),
    [
        (["org.rocksdb.RocksDB.get", f"{SQL}.execution.streaming.state.RocksDB.get", TASK], "state"),
        (["org.rocksdb.RocksDB.compactRange"], "state"),
        ([f"{SQL}.catalyst.plans.logical.Aggregate.output", f"{SQL}.execution.QueryExecution.analyzed"], "planning"),
        ([f"{SQL}.execution.aggregate.HashAggregateExec.next", TASK], "aggregates and joins"),
        (["org.apache.spark.shuffle.sort.UnsafeShuffleWriter.write", TASK], "shuffle"),
        ([f"{SQL}.execution.python.PythonArrowOutput.read", TASK], "crossing"),
        (["org.codehaus.janino.Parser.parse", TASK], "planning"),
        (["java.util.Arrays.fill", TASK], ELSE),
        ([], ELSE),
    ],
)
def test_cpu_of_the_jvm_outside_of_tasks_counts_as_planning(frames: list[str], stage: str) -> None:
    assert of_java(frames) == stage
    assert stage in {*STAGES, ELSE}


def test_threads_of_java_itself_are_told_by_their_names() -> None:
    names = ("C2 CompilerThre", "C1 CompilerThre", "GC Thread#0", "VM Thread", "Executor task l")

    assert [of_thread(name) for name in names] == [*["Java's compilers"] * 2, *["Java's collector"] * 2, None]
