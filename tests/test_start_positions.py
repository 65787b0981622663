"""Start positions as people write them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engine.errors import SettingError
from engine.values.start_positions import read_start, read_starts, to_millis_up

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "earliest",
        "latest",
        "group",
        "savepoint",
        "timestamp:2026-01-01T00:00:00Z",
        'offsets:{"0": 12, "1": 7}',
    ],
)
def test_a_position_reads_back_as_it_was_written(text: str) -> None:
    assert str(read_start(text)) == text


def test_an_instant_is_in_utc_unless_it_says_otherwise() -> None:
    assert read_start("timestamp:2026-01-01T12:00:00").instant == NOON
    assert str(read_start("timestamp:2026-01-01T14:00:00+02:00")) == "timestamp:2026-01-01T12:00:00Z"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "latest:",
        "timestamp",
        "timestamp:20260101",
        "timestamp:yesterday",
        "offsets:",
        "offsets:{}",
        "offsets:[1]",
        'offsets:{"0": -1}',
        'offsets:{"0": true}',
        'offsets:{"0": 1.5}',
    ],
)
def test_invalid_start_position_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"start position|instant|offsets"):
        read_start(text)


def test_every_table_has_a_position_of_its_own() -> None:
    starts = read_starts(["a=earliest", 'b = offsets:{"x=y/0": 1}'], "--start-from")

    assert {name: str(start) for name, start in starts.items()} == {"a": "earliest", "b": 'offsets:{"x=y/0": 1}'}
    for wrong in (["a"], ["=latest"], ["a=latest", "a=earliest"], ["a=soon"]):
        with pytest.raises(SettingError):
            read_starts(wrong, "--start-from")


def test_a_part_of_a_millisecond_is_one() -> None:
    assert to_millis_up(NOON.replace(microsecond=1)) == to_millis_up(NOON) + 1
    assert to_millis_up(NOON) == int(NOON.timestamp() * 1000)
