"""What is asked of Spark's reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import pytest

from engine.spark.run.reports import read_fresh


@dataclass
class Report:
    """One of Spark's, which notes that its text was asked for."""

    number: int
    asked: list[str]

    def batchId(self) -> int:  # noqa: N802 - Spark's name
        """Its epoch."""
        self.asked.append(f"number of {self.number}")
        return self.number

    def json(self) -> str:
        """Its text."""
        self.asked.append(f"text of {self.number}")
        return f'{{"batchId": {self.number}}}'


@dataclass
class Query:
    """A query with reports; itself and what Java knows of it."""

    reports: list[Report]

    @property
    def _jsq(self) -> Query:
        return self

    def lastProgress(self) -> Report | None:  # noqa: N802 - Spark's name
        """The newest, if there is one."""
        return self.reports[-1] if self.reports else None

    def recentProgress(self) -> list[Report]:  # noqa: N802 - Spark's name
        """All that are kept."""
        return self.reports


@pytest.mark.parametrize(
    ("kept", "newest", "asked"),
    [
        ([], -1, []),
        ([0], -1, ["number of 0", "number of 0", "text of 0"]),
        ([5, 6, 7, 8], 8, ["number of 8"]),
        (
            [4, 5, 6, 7, 8],
            6,
            ["number of 8", "number of 8", "text of 8", "number of 7", "text of 7", "number of 6"],
        ),
    ],
)
def test_only_what_was_not_read_becomes_text(kept: list[int], newest: int, asked: list[str]) -> None:
    questions: list[str] = []
    query = Query([Report(number, questions) for number in kept])

    fresh = read_fresh(cast("Any", query), newest)

    assert [content["batchId"] for content in fresh] == [number for number in kept if number > newest]
    assert questions == asked
