from __future__ import annotations

import pytest

from tests.soak.growth import Growth, Sample, growths

MEMORY = ("server: memory", "MiB")


def test_the_end_is_compared_with_the_time_when_all_had_settled() -> None:
    samples = [Sample(minute * 60.0, {MEMORY: 500.0 if minute < 20 else 1000.0 + minute}) for minute in range(121)]
    assert growths(samples, 30 * 60.0, 10 * 60.0) == [Growth(*MEMORY, 1030.0, 1115.0)]


@pytest.mark.parametrize(
    ("unit", "then", "now", "is_too_much"),
    [
        ("MiB", 1000.0, 1029.0, False),
        ("MiB", 1000.0, 1031.0, True),
        ("MiB", 1.0, 2.9, False),
        ("MiB", 1.0, 3.1, True),
        ("files", 20.0, 28.0, False),
        ("files", 20.0, 29.0, True),
        ("threads", 900.0, 850.0, False),
    ],
)
def test_three_per_cent_and_some_slack_are_no_leak(unit: str, then: float, now: float, is_too_much: bool) -> None:
    assert Growth("it", unit, then, now).is_too_much is is_too_much
