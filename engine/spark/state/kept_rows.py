"""Read the state rows of one operator, ours or Spark's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.checkpoints.layout import StatePaths
from engine.checkpoints.running_query import compile_running
from engine.checkpoints.state_mirror import with_local_state
from engine.inspection.rows import is_kept_by_spark, operator_named, rows_of_buckets, shown_rows
from engine.inspection.summary import query_in
from engine.udf.declared import UdfFile


def kept_rows(
    directory: Path,
    name: str,
    conditions: Sequence[str],
    limit: int,
    *,
    udfs: Sequence[UdfFile],
    connections: str,
) -> list[dict[str, object]]:
    """Return the first rows that meet these conditions in the state of the operator with that id, in a state or a
    savepoint, as plain values. Nothing is written there; Spark is started only if nothing else can read them."""
    program = compile_running(query_in(directory), udfs=udfs, connections=connections)
    operator = operator_named(program, name)
    with with_local_state(directory) as local:
        paths = StatePaths(local)
        if not is_kept_by_spark(operator):
            return shown_rows(rows_of_buckets(paths, operator), conditions, limit)
        from engine.spark.state.state_rows import rows_of_window_by_itself  # noqa: PLC0415 - only this needs Spark

        return shown_rows(rows_of_window_by_itself(paths, operator), conditions, limit)
