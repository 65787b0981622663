"""Updating operators inside Spark: epoch by epoch, the folded changes are the batch answer."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from engine.compile import compile_script
from engine.spark.epoch import EpochPart
from engine.spark.lower import stream_lowering
from engine.spark.lower.rows import HIDDEN, quoted
from engine.spark.run import RunSpec
from engine.spark.stream import Limits, open_tables
from engine.updating.changelog import fold
from tests.streams.play import Row, Step, at, play, write_script

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TABLES = """
CREATE TABLE events (ts TIMESTAMP NOT NULL, key TEXT, number BIGINT, WATERMARK FOR ts)
WITH (connector = 'scripted', path = '{script}');
CREATE TABLE nowhere WITH (connector = 'blackhole');
"""
EPOCHS: Sequence[Sequence[tuple[str | None, int | None]]] = [
    [("a", 1), ("a", 2), ("b", 3), (None, 4), (None, None)],
    [("a", 1), ("c", 7)],
    [(None, 5), ("b", None), ("c", 7), ("d", 1)],
]


def script(folder: Path) -> Path:
    steps = []
    for number, rows in enumerate(EPOCHS):
        events: list[Row] = [{"ts": at(number), "key": key, "number": value} for key, value in rows]
        steps.append(Step(timedelta(minutes=number), {"p": events}))
    write_script(folder / "script.json", steps)
    return folder / "script.json"


def changes(spark: SparkSession, folder: Path, query: str, tasks: int = 1) -> list[list[Mapping[str, object]]]:
    """The changes of each epoch that has any."""
    program = compile_script(TABLES.format(script=script(folder)) + f"INSERT INTO nowhere {query};")
    tables = open_tables(spark, program, EpochPart(program.parts, [], {}), folder / "notes", Limits(tasks, None))
    frame = stream_lowering(tables, program.tables).lower(program.parts.branches[0])
    wanted = [*program.parts.branches[0].schema.names, *(name for name in HIDDEN if name in frame.columns)]
    seen: list[list[Mapping[str, object]]] = []

    def take(rows: DataFrame, _: int) -> None:
        seen.append([row.asDict() for row in rows.collect()])

    stream = frame.select(*map(quoted, wanted)).writeStream.foreachBatch(take).outputMode("append")
    running = stream.option("checkpointLocation", str(folder / "checkpoint")).start()
    try:
        while not running.recentProgress or running.recentProgress[-1].numInputRows or not seen:
            if not running.awaitTermination(0.1) and _is_over(running.lastProgress):
                break
    finally:
        running.stop()
    return [epoch for epoch in seen if epoch]


def _is_over(progress: object) -> bool:
    ends = json.loads(progress.json)["sources"] if progress is not None else []  # type: ignore[attr-defined]
    offsets = [json.loads(end["endOffset"]) if isinstance(end["endOffset"], str) else end["endOffset"] for end in ends]
    return bool(offsets) and all(offset["end"] for offset in offsets)


def test_an_aggregate_gives_the_batch_answer(spark: SparkSession, tmp_path: Path) -> None:
    seen = changes(spark, tmp_path, "SELECT key, count(*) AS n, sum(number) AS s FROM events GROUP BY key")

    expected = {("a", 3, 4): 1, ("b", 2, 3): 1, (None, 3, 9): 1, ("c", 2, 14): 1, ("d", 1, 1): 1}
    assert fold(change for epoch in seen for change in epoch) == Counter(expected)
    assert len(seen) == len(EPOCHS)
    assert [len(epoch) for epoch in seen] == [3, 3, 7]


def test_aggregates_can_be_stacked(spark: SparkSession, tmp_path: Path) -> None:
    query = """
      SELECT n, count(*) AS keys, max(s) AS most FROM (
        SELECT key, count(*) AS n, sum(number) AS s FROM events GROUP BY key HAVING count(*) > 1
      ) GROUP BY n
    """

    seen = changes(spark, tmp_path, query)

    assert fold(change for epoch in seen for change in epoch) == Counter({(3, 2, 9): 1, (2, 2, 14): 1})


def test_a_run_with_nothing_but_updating_operators_ends_with_its_input(spark: SparkSession, tmp_path: Path) -> None:
    sql = TABLES.format(script=script(tmp_path)) + "INSERT INTO nowhere SELECT key, count(*) FROM events GROUP BY key;"

    outcome, seen = play(spark, RunSpec("events", sql, tmp_path / "state"))

    assert outcome == "finished"
    assert [report.rows_in for report in seen if report.rows_in] == [len(rows) for rows in EPOCHS]
    assert seen[-1].is_last
