"""Texts in a plain pattern are read as fast as Arrow can, and as the slow way reads them."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from engine.arrow.functions import FUNCTION_KERNELS
from engine.functions.parsers.strftime import can_read, is_format, read_instant, write_instant
from engine.functions.parsers.time_patterns import in_strftime

ROUGH = (
    *("2024-02-30", "2023-02-29", "2024-2-3", "2024- 2-3", " 2024-02-03", "2024-02-03 ", "2024-02-03 x", "12024-02-03"),
    *("-2024-02-03", "", "0001-01-01", "9999-12-31", "2024-00-10", "2024-13-01", "２０２４-01-01", "2024-02-03T00:00"),
)


def slowly(text: str | None, pattern: str) -> datetime | None:
    """What the slow way reads, or None."""
    try:
        return None if text is None else read_instant(text, pattern)
    except ValueError:
        return None


@pytest.mark.parametrize("pattern", ["%Y-%m-%d", "%F", "%F %T", "%d.%m.%Y %H:%M", "%Y%m%d", "%H:%M", "%Y-%m-%d%.f"])
def test_both_ways_read_the_same(pattern: str) -> None:
    chance = random.Random(7)
    written = [
        write_instant(datetime(1900, 1, 1, tzinfo=UTC) + timedelta(seconds=chance.randrange(6 * 10**9)), pattern)
        for _ in range(200)
    ]
    broken = ["".join(chance.choice([mark, chance.choice("0123456789 -:.")]) for mark in text) for text in written]
    texts = [*ROUGH, *written, *broken, None]

    instants = FUNCTION_KERNELS["to_timestamp"](pa.array(texts), pa.array([pattern] * len(texts)))

    assert instants.to_pylist() == [slowly(text, pattern) for text in texts]
    assert instants.type == pa.timestamp("us", "UTC")


def test_written_time_is_read_back() -> None:
    chance = random.Random(8)
    for pattern in (
        "%+",
        "%c %.f",
        "%D %r %6f",
        "%G-W%V-%u %T%.3f",
        "%Y %j %k:%M:%S %f",
        "%s%.9f",
        "%a, %e %B %Y %l %p %z",
    ):
        at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=chance.randrange(3 * 10**15))
        assert is_format(pattern)
        text = write_instant(at, pattern)
        assert write_instant(read_instant(text, pattern), pattern) == text


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("2024-05-17", "%Q"),
        ("2024 2024-05-17", "%Y %F"),
        ("2024-05-17 25", "%F %H"),
        ("2024-05-17 13 PM", "%F %I %p"),
        ("2024-05-17 12 Mars/Crater", "%F %H %Z"),
        ("12:00", "%R"),
        ("05-17", "%m-%d"),
        ("99999-05-17", "%F"),
        ("Thu 2024-05-17", "%a %F"),
    ],
)
def test_text_that_does_not_match_the_format_is_refused(text: str, pattern: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_instant(text, pattern)


def test_a_pattern_of_java_is_refused_with_its_own_spelling() -> None:
    patterns = {
        "yyyy-MM-dd HH:mm": "%Y-%m-%d %H:%M",
        "yyyy-MM-dd'T'HH:mm:ss.SSS": "%Y-%m-%dT%H:%M:%S.%3f",
        "dd/MM/yyyy": "%d/%m/%Y",
        "h:mm a": "%-I:%M %p",
        "yyyy-mm-dd hh24:mi": "%Y-%m-%d %H:%M",
        "yyyymmdd": "%Y%m%d",
        "yyyy-QQ": None,
    }

    for pattern, spelled in patterns.items():
        assert not is_format(pattern), pattern
        assert not can_read(pattern), pattern
        assert in_strftime(pattern) == spelled


def test_a_pattern_of_postgres_keeps_its_plain_text() -> None:
    at = datetime(2024, 3, 10, 14, 5, 9, tzinfo=UTC)

    assert write_instant(at, "HH24h MI") == "14h 05"
    assert write_instant(at, 'YYYY-MM-DD"T"HH24:MI:SSZ') == "2024-03-10T14:05:09Z"


def test_a_pattern_without_a_field_is_refused() -> None:
    assert not is_format("day")
    assert not can_read("2024")
