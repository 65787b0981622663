"""The demonstration's check can fail."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dags_examples.demo_check import check_reports

START = datetime(2026, 1, 1, tzinfo=UTC)
HOURS = 3


def order(number: int) -> dict[str, object]:
    """One a minute."""
    at = (START + number * timedelta(minutes=1)).isoformat()
    return {"at": at, "shop": number % 2, "cents": number * 37 % 1000}


def report(numbers: range, *, has_largest: bool) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for shop in (0, 1):
        cents = [number * 37 % 1000 for number in numbers if number % 2 == shop]
        largest = max(cents) if has_largest else None
        rows.append({"shop": shop, "orders": len(cents), "cents": sum(cents), "largest": largest})
    return rows


def play(folder: Path, reports: list[list[dict[str, object]]]) -> list[bool]:
    """Whether each hour is found right, then whether all are there, and the new column."""
    for name in ("orders", "reports"):
        (folder / name).mkdir()
    (folder / "orders" / "all.json").write_text("".join(json.dumps(order(n)) + "\n" for n in range(HOURS * 60)))
    for hour, rows in enumerate(reports):
        (folder / "reports" / f"2026-01-01T{hour:02}.json").write_text(json.dumps(rows))
    return [finding.holds for finding in check_reports(folder)]


def right(*, last_has_largest: bool = True) -> list[list[dict[str, object]]]:
    return [
        report(range(hour * 60, hour * 60 + 60), has_largest=hour == HOURS - 1 and last_has_largest)
        for hour in range(HOURS)
    ]


def test_right_reports_are_found_right(tmp_path: Path) -> None:
    assert play(tmp_path, right()) == [True] * 5


@pytest.mark.parametrize("numbers", [range(61), range(59), range(1, 60)])
def test_a_row_too_many_or_too_few_is_found(tmp_path: Path, numbers: range) -> None:
    assert play(tmp_path, [report(numbers, has_largest=False), *right()[1:]]) == [False, True, True, True, True]


def test_a_report_that_is_missing_is_found(tmp_path: Path) -> None:
    assert play(tmp_path, right()[:2]) == [True, True, False, False]


def test_a_column_that_is_missing_is_found(tmp_path: Path) -> None:
    assert play(tmp_path, right(last_has_largest=False)) == [True, True, True, True, False]


def test_a_wrong_largest_is_found(tmp_path: Path) -> None:
    reports = right()
    reports[-1][0]["largest"] = 1

    assert play(tmp_path, reports)[HOURS - 1] is False
