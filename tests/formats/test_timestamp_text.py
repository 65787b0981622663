"""Timestamps as text, as ISO 8601 has it, also where a year has not four digits."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa

from engine.formats.timestamps import ARROW_TIMESTAMP, read_timestamp, to_text
from engine.values.instants import to_micros

LAST = to_micros(datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC))
FIRST = to_micros(datetime(1, 1, 1, tzinfo=UTC))
MINUTE = 60_000_000


def text_of(*micros: int | None) -> list[str | None]:
    texts: list[str | None] = to_text(pa.array(micros, pa.int64()).cast(ARROW_TIMESTAMP)).to_pylist()
    return texts


def test_years_of_more_than_four_digits_have_a_sign() -> None:
    texts = text_of(LAST + 1, LAST, None, 1_500_000)

    assert texts == ["+10000-01-01T00:00:00", "9999-12-31T23:59:59.999999", None, "1970-01-01T00:00:01.500"]


def test_years_before_the_first_are_counted_from_zero() -> None:
    assert text_of(FIRST, FIRST - MINUTE) == ["0001-01-01T00:00:00", "0000-12-31T23:59:00"]


def test_a_text_of_another_year_is_no_timestamp() -> None:
    assert [read_timestamp(text) for text in ("+10000-01-01T00:00:00", "10000-01-01", "0000-12-31")] == [None] * 3
