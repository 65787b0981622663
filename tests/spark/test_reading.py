"""From the chunks of a slice to Spark's rows and the note about them, without Spark."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from engine.compile import compile_script
from engine.connectors.base import Chunk, Slice
from engine.errors import OutOfRangeError
from engine.plan.placement.fuse import fused_tables
from engine.spark.read import notes
from engine.spark.read.planner import PlanSpec
from engine.spark.read.reading import SliceReading, heartbeat
from engine.spark.read.scan_spec import WITH_WATERMARK, AssignedSlice, EpochMoment, ScanSpec
from engine.values.instants import FAR_FUTURE, from_micros

SQL = """
CREATE TABLE clicks (at TIMESTAMP NOT NULL, who TEXT, n BIGINT)
WITH (connector = 'single_file', path = '/clicks.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT who, max(length(who)) FROM clicks WHERE n % 2 = 0 GROUP BY who, session(INTERVAL '1 minute');
"""
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


def spec(folder: Path, *, is_fused: bool) -> ScanSpec:
    program = replace(compile_script(SQL), is_fused=is_fused)
    fused = fused_tables(program.running_parts.branches).get("clicks")
    plan = PlanSpec("clicks", folder)
    return ScanSpec(program.tables["clicks"], program.scans["clicks"], plan, WITH_WATERMARK, fused)


def chunk(*numbers: int | None) -> Chunk:
    times = [NOON + timedelta(seconds=second) for second in range(len(numbers))]
    rows = {
        "at": pa.array(times, pa.timestamp("us", "UTC")),
        "who": pa.array(["a"] * len(numbers)),
        "n": pa.array(numbers, pa.int64()),
    }
    return Chunk(pa.record_batch(rows), dropped=1)


def read(folder: Path, *chunks: Chunk, is_fused: bool) -> tuple[list[pa.RecordBatch | None], notes.ReaderNote]:
    reading = SliceReading(
        spec(folder, is_fused=is_fused), AssignedSlice(Slice("p", 0, 9), 0, 9), EpochMoment(1_000_000, 5)
    )
    taken = [reading.take(chunk) for chunk in chunks]
    reading.close()
    return taken, notes.collect(folder, "p", 1, 9)[0]


def test_spark_has_only_the_rows_and_columns_that_are_wanted(tmp_path: Path) -> None:
    (rows, *others), _ = read(tmp_path, chunk(1, 2, None, 4, 5), chunk(1, 3), is_fused=True)

    assert others == [None]
    assert rows is not None
    assert rows.schema.names == ["who", "_timestamp", "_heartbeat", "_wm"]
    assert rows.column("_timestamp").to_pylist() == [NOON + timedelta(seconds=second) for second in (1, 3)]


def test_the_note_is_about_all_rows(tmp_path: Path) -> None:
    chunks = (chunk(1, 2, None, 4, 5), chunk(1, 3))
    _, plain = read(tmp_path / "plain", *chunks, is_fused=False)
    _, fused = read(tmp_path / "fused", *chunks, is_fused=True)

    assert fused == plain
    assert (plain.rows, plain.dropped) == (7, 2)
    assert plain.candidate is not None


def test_the_heartbeat_is_there_with_fewer_columns(tmp_path: Path) -> None:
    beat = heartbeat(spec(tmp_path, is_fused=True), 7_000_000)

    assert beat.schema.names == ["who", "_timestamp", "_heartbeat", "_wm"]
    assert beat.column("_heartbeat").to_pylist() == [True]


def test_rows_outside_of_the_range_of_history_are_left_out_and_count_all_the_same(tmp_path: Path) -> None:
    noon = int(NOON.timestamp()) * 1_000_000
    moment = EpochMoment(0, 5, since=noon + 1_000_000, until=noon + 3_000_000)
    reading = SliceReading(spec(tmp_path, is_fused=False), AssignedSlice(Slice("p", 0, 9), 0, 9), moment)

    rows = reading.take(chunk(0, 1, 2, 3, 4))
    reading.close()

    assert rows is not None
    assert rows.column("n").to_pylist() == [1, 2]
    assert reading.take(chunk(0)) is None
    assert notes.collect(tmp_path, "p", 1, 9)[0].rows == 5


def _chunk_of(micros: int) -> Chunk:
    times = pa.array([micros], pa.timestamp("us", "UTC"))
    return Chunk(pa.record_batch({"at": times, "who": pa.array(["a"]), "n": pa.array([2], pa.int64())}))


@pytest.mark.parametrize("micros", [253_402_300_800_000_000, -62_135_596_800_000_001, 1 << 61])
def test_an_event_time_that_no_watermark_can_follow_is_refused(tmp_path: Path, micros: int) -> None:
    with pytest.raises(OutOfRangeError, match=f"a row of clicks has an event time {micros} .* years 1 to 9999"):
        read(tmp_path, _chunk_of(micros), is_fused=False)


def test_rows_never_give_the_watermark_of_an_input_that_has_ended(tmp_path: Path) -> None:
    _, note = read(tmp_path, _chunk_of(253_402_300_799_999_999), is_fused=False)

    assert note.candidate is not None
    assert from_micros(note.candidate) == FAR_FUTURE - timedelta(seconds=1)


def test_the_note_has_the_largest_value_that_is_not_ahead_of_the_clock(tmp_path: Path) -> None:
    noon = int(NOON.timestamp()) * 1_000_000
    second = 1_000_000
    for planned, largest in ((noon + 60 * second, noon + 3 * second), (noon, noon), (noon - 5 * second, None)):
        reading = SliceReading(
            spec(tmp_path, is_fused=False), AssignedSlice(Slice("p", 0, 9), 0, 9), EpochMoment(0, planned)
        )
        reading.take(chunk(0, 1, 2, 3, 4))
        reading.take(chunk(0, 1))
        reading.close()

        found = notes.collect(tmp_path, "p", 1, 9)[0]
        assert (found.candidate, found.largest) == (noon - second, largest), "the delay is a second"
