"""What an epoch's entry in Spark's offset log says about the output that follows."""

import json
from pathlib import Path

import pytest

from engine.spark.read.offset_log import Settled, planned_for, read_ends, read_settled
from engine.spark.read.planner import Offset
from engine.spark.read.watermarks import END_OF_TIME


def plan(checkpoint: Path, windows: int, *sources: Offset | None) -> None:
    """The log's entry of epoch 3; `windows` is Spark's own watermark, in microseconds."""
    lines = ["-" if offset is None else json.dumps(offset.to_json()) for offset in sources]
    (checkpoint / "offsets").mkdir()
    about = json.dumps({"batchWatermarkMs": windows // 1000})
    (checkpoint / "offsets" / "3").write_text("\n".join(["v1", about, *lines]))


def source(watermark: int | None, *, is_end: bool = False) -> Offset:
    return Offset("t", {}, {}, watermark=watermark, is_end=is_end)


@pytest.mark.parametrize(
    ("sources", "watermark", "is_last"),
    [
        ([source(5), source(3)], 3, False),
        ([source(5), source(None)], None, False),
        ([source(5), None], None, False),
        ([source(5), source(None, is_end=True)], 5, False),
        ([source(5, is_end=True), source(None, is_end=True)], END_OF_TIME, True),
    ],
)
def test_without_windows_an_epoch_settles_what_its_slowest_source_promises(
    sources: list[Offset | None], watermark: int | None, is_last: bool, tmp_path: Path
) -> None:
    plan(tmp_path, 0, *sources)

    assert read_settled(tmp_path, 3, closes_windows=False) == Settled(watermark, is_last)


@pytest.mark.parametrize(("windows", "is_last"), [(9_000, False), (END_OF_TIME, True)])
def test_epoch_with_windows_settles_those_that_it_closes(windows: int, is_last: bool, tmp_path: Path) -> None:
    plan(tmp_path, windows, source(8_000, is_end=True))

    assert read_settled(tmp_path, 3, closes_windows=True) == Settled(windows, is_last)


def test_a_table_that_is_not_planned_anew_stands_where_it_stood(tmp_path: Path) -> None:
    still, moving = (
        Offset("still", {"p": 5}, {}, moved={"p": 1}, sequence=7),
        Offset("moving", {"p": 1}, {}, sequence=2),
    )
    plan(tmp_path, 0, still, moving)
    later = Offset("moving", {"p": 4}, {}, moved={"p": 1}, sequence=3)
    lines = (json.dumps(offset.to_json()) for offset in (still, later))
    (tmp_path / "offsets" / "4").write_text("\n".join(["v1", "{}", *lines]))

    assert planned_for(tmp_path, 4, read_ends(tmp_path, 4)) == [later]
    assert planned_for(tmp_path, 3, read_ends(tmp_path, 3)) == [still, moving]
