"""The demonstration's check can fail."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dags_examples.demo_check import check_answers

START = datetime(2026, 1, 1, tzinfo=UTC)
COUNTERS = list(range(7200))


def write(folder: Path, counters: list[int], answered: list[int]) -> list[bool]:
    """Raw events, one a second, and an answer about the first hour worked out from some of them."""
    for name in ("raw", "answers"):
        (folder / name).mkdir()
    times = [START + timedelta(seconds=counter) for counter in counters]
    raw = pa.table({"counter": counters, "ordered_at": pa.array(times, pa.timestamp("us", tz="UTC"))})
    pq.write_table(raw, folder / "raw" / "0.parquet")
    orders = pa.table({"shop": [n % 7 for n in answered], "cents": [n * 37 % 1000 for n in answered]})
    sold = orders.group_by("shop").aggregate([([], "count_all"), ("cents", "sum")])
    pq.write_table(sold.rename_columns(["shop", "orders", "cents"]), folder / "answers" / "2026-01-01-00.parquet")
    return [finding.holds for finding in check_answers(folder)]


def test_a_right_answer_is_found_right(tmp_path: Path) -> None:
    assert write(tmp_path, COUNTERS, COUNTERS[:3600]) == [True, True]


def test_a_row_of_the_next_hour_is_found(tmp_path: Path) -> None:
    assert write(tmp_path, COUNTERS, COUNTERS[:3601]) == [True, False]


def test_a_row_that_is_missing_in_the_answer_is_found(tmp_path: Path) -> None:
    assert write(tmp_path, COUNTERS, COUNTERS[:3599]) == [True, False]


@pytest.mark.parametrize("wrong", [COUNTERS[:100] + COUNTERS[101:], [*COUNTERS, 100]], ids=["lost", "doubled"])
def test_an_event_that_is_lost_or_doubled_is_found(tmp_path: Path, wrong: list[int]) -> None:
    assert not write(tmp_path, wrong, COUNTERS[:3600])[0]
