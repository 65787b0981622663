"""Read the rows of a window's state with Spark, from a copy, so that the state itself is not written."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from engine.checkpoints.layout import StatePaths
from engine.checkpoints.savepoints import copy_epoch
from engine.errors import UnreadableStateError
from engine.inspection.retry_reads import read_again
from engine.inspection.rows import KeptRow, committed_epoch, names_of_window
from engine.plan.state.operators import Operator

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

_TICK = timedelta(microseconds=1)


def rows_of_window(
    paths: StatePaths, operator: Operator, open_spark: Callable[[Path], SparkSession]
) -> Iterator[KeptRow]:
    """Yield the rows of a window in the newest committed epoch, partition by partition; `open_spark` gets a folder for
    its logs."""
    with _copied(paths) as (copy, epoch):
        spark = open_spark(copy / "logs")
        # Its state coordinator is only created when the queries are requested.
        _ = spark.streams.active
        reader = spark.read.format("statestore").options(operatorId=operator.number, batchId=epoch)
        try:
            for row in reader.load(str(copy / "checkpoint")).toLocalIterator():
                yield KeptRow(row["partition_id"], "windows", dict(_columns(operator, row)))
        except (Py4JError, PySparkException) as error:
            raise UnreadableStateError(
                f"Spark cannot read what {operator.id} keeps in {paths.root}",
                hint="see with `arroyo state doctor` what is wrong",
            ) from error


def rows_of_window_by_itself(paths: StatePaths, operator: Operator) -> Iterator[KeptRow]:
    """Yield the rows of a window with a Spark session of its own, which ends after the last row."""
    from engine.spark.jvm.session import close_session, open_session  # noqa: PLC0415 - it imports Spark

    opened: list[SparkSession] = []

    def open_spark(logs: Path) -> SparkSession:
        opened.append(
            open_session(app_name="arroyo state", log_dir=logs, master="local[1]", quick=True, makes_archive=False)
        )
        return opened[0]

    try:
        yield from rows_of_window(paths, operator, open_spark)
    finally:
        for spark in opened:
            close_session(spark)


@contextmanager
def _copied(paths: StatePaths) -> Iterator[tuple[Path, int]]:
    with tempfile.TemporaryDirectory(prefix="arroyo-state-") as folder:

        def copy() -> tuple[Path, int]:
            epoch = committed_epoch(paths)
            target = Path(folder) / str(epoch)
            copy_epoch(paths, target, epoch)
            return target, epoch

        yield read_again(paths, copy)


def _columns(operator: Operator, row: Row) -> Iterator[tuple[str, object]]:
    """Yield the columns of a row. Aggregates may have equal names, and are identified by their positions."""
    key = row["key"].asDict()
    keys = {name: _in_utc(value) for name, value in key.items() if name.startswith("_key")}
    values: list[tuple[str, object]] = []
    window = key.get("_window")
    for name, value in zip(row["value"].__fields__, row["value"], strict=True):
        if name == "session_window":
            # Spark's gap is the smallest step shorter than ours (`lower/windowed.py`)
            window = {"start": value["start"], "end": value["end"] + _TICK}
        elif name not in keys:
            values.append((name, _in_utc(value)))
    if window is not None:
        yield "window.start", _in_utc(window["start"])
        yield "window.end", _in_utc(window["end"])
    called_keys, called = names_of_window(operator, list(keys), [name for name, _ in values])
    yield from zip(called_keys, keys.values(), strict=True)
    yield from zip(called, (value for _, value in values), strict=True)


def _in_utc(value: object) -> object:
    """Convert an instant to UTC: Spark returns it without a zone, in that of this machine."""
    return value.astimezone(UTC) if isinstance(value, datetime) else value
