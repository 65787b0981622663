"""From a stack that a sampler has seen to what was being done: which part of a query the time belongs to.

    decode_narrow.py:convert < reading.py:read < worker.py:main         decode
    RocksDB.get < StateStoreRestoreExec... < Executor$TaskRunner.run    state
    Analyzer.execute < MicroBatchExecution.runBatch                     planning

The innermost call that says anything decides: a row that a join looks up is state, whoever asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

STAGES = ("decode", "partial aggregates", "crossing", "shuffle", "state", "aggregates and joins", "planning", "sink")
ELSE = "else"
COMPILERS = "Java's compilers"
COLLECTOR = "Java's collector"

_PYTHON = (
    (r"engine/formats/|engine/connectors/", "decode"),
    (r"engine/updating/|bucket_store|engine/spark/state/buckets|watermarked_buckets", "state"),
    (r"engine/delivery/|write_segments", "sink"),
    (r"engine/arrow/|whole_tasks|map_in_arrow|engine/spark/read/reading|engine/functions/", "partial aggregates"),
    (
        r"engine/spark/read/planner|planned_epoch|offset_log|engine/plan/|engine/spark/run/stream|engine/spark/run/epoch",
        "planning",
    ),
    (r"pyspark/|py4j/|socketserver|/socket\.py", "crossing"),
    (r"engine/spark/", "planning"),
)
_IN_TASKS = (
    (r"janino|CodeGenerator\b", "planning"),
    (r"rocksdb|\.streaming\.state\.|StateStore|StatefulOperator", "state"),
    (r"\.shuffle\.|ShuffleExchange|\.storage\.|LZ4|\.io\.Compression", "shuffle"),
    (r"\.execution\.python\.|arrow\.|ColumnarToRow|\.api\.python\.", "crossing"),
    (r"WriteToDataSource|DataWritingSpark|\.noop\.|FileFormatWriter", "sink"),
    (
        r"ggregat|HashedRelation|\.joins\.|SortExec|UnsafeExternalSorter|BytesToBytesMap|Generated",
        "aggregates and joins",
    ),
)
"""What tasks do. All that Java does outside of them is planning and launching."""
_TASK = re.compile(r"Executor\$TaskRunner|PythonRunner")
_STATE = re.compile(r"rocksdb|\.streaming\.state\.")
_WAITS = re.compile(r"(manager|worker) \(pyspark/daemon|readinto \(socket|poll \(pyspark|(select|accept|wait) \(")


def of_python(frames: Sequence[str]) -> str | None:
    """The stage of a Python stack, innermost call first; None for one that waits."""
    return None if not frames or _WAITS.match(frames[0]) else _first(frames, _PYTHON)


def of_java(frames: Sequence[str]) -> str:
    """The stage of a Java stack, innermost call first."""
    if any(map(_TASK.search, frames)):
        return _first(frames, _IN_TASKS)
    return "state" if any(map(_STATE.search, frames)) else "planning" if frames else ELSE


def of_thread(name: str) -> str | None:
    """What a Java thread does that no stack is seen of, by the name that the kernel has for it."""
    if re.match(r"C[12] Compiler", name):
        return COMPILERS
    if re.match(r"GC |G1 |VM Thread|VM Periodic", name):
        return COLLECTOR
    return None


def _first(frames: Iterable[str], rules: Sequence[tuple[str, str]]) -> str:
    for frame in frames:
        for pattern, stage in rules:
            if re.search(pattern, frame):
                return stage
    return ELSE
