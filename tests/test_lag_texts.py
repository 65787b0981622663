"""Lags as people read them, the same on every screen."""

from __future__ import annotations

import pytest

from engine.values.durations import spell_lag


@pytest.mark.parametrize(
    ("micros", "text"),
    [
        (None, None),
        (0, "0 ms"),
        (999_400, "999 ms"),
        (1_250_000, "1.2 s"),
        (90_000_000, "1 min 30 s"),
        (7_200_000_000, "2 h"),
        (28_447_353_800_000, "329 d 6 h"),
        (-66_318_000_000, "18 h 25 min ahead"),
    ],
)
def test_a_lag_is_spelled_in_its_largest_unit_and_the_next(micros: int | None, text: str | None) -> None:
    assert spell_lag(micros) == text
