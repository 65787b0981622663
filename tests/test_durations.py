from __future__ import annotations

from datetime import timedelta

import pytest

from engine.errors import DurationError
from engine.values.durations import read_duration, read_months


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5 seconds", timedelta(seconds=5)),
        ("1 minute 30 seconds", timedelta(seconds=90)),
        ("2 HOURS", timedelta(hours=2)),
        ("1 day, 2 hours", timedelta(hours=26)),
        ("1.5h", timedelta(minutes=90)),
        ("10m", timedelta(minutes=10)),
        ("250 ms", timedelta(milliseconds=250)),
        ("-1 second", timedelta(seconds=-1)),
        ("1 week", timedelta(days=7)),
        ("01:02:03.5", timedelta(hours=1, minutes=2, seconds=3.5)),
    ],
)
def test_a_length_of_time_is_read(text: str, expected: timedelta) -> None:
    assert read_duration(text) == expected


@pytest.mark.parametrize(
    "text", ["1 month", "2 years", "1 quarter", "5", "", " ", "five seconds", "5 parsecs", "1 second x"]
)
def test_intervals_without_a_fixed_length_are_refused(text: str) -> None:
    with pytest.raises(DurationError):
        read_duration(text)


def test_months_are_refused_with_the_reason() -> None:
    with pytest.raises(DurationError, match="no fixed length") as refused:
        read_duration("1 month")

    assert refused.value.code == "sql.bad_duration"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 month", (1, timedelta(0))),
        ("1 year 2 mons", (14, timedelta(0))),
        ("-2 years, 3 days 1.5 hours", (-24, timedelta(days=3, hours=1.5))),
        ("1 QUARTER", (3, timedelta(0))),
        ("1.5 months", None),
        ("1 month x", None),
        ("10 minutes", None),
        ("5m", None),
        ("1 yearn", None),
    ],
)
def test_months_are_distinguished_from_what_has_a_length(text: str, expected: tuple[int, timedelta] | None) -> None:
    assert read_months(text) == expected
