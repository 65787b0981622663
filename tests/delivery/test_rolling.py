"""When an open file becomes final."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from engine.delivery.rolling import Moment, OpenFile, RollingPolicy, grow, is_due, runs_of_small_segments
from engine.delivery.segments import Segment

SECOND = 1_000_000


def segment(size: int = 10, partition: str = "", until: int | None = None) -> Segment:
    return Segment(f"s{size}", 1, size, "", partition, until)


FILE = OpenFile("hour", since=100 * SECOND, last=160 * SECOND, segments=(segment(300, "hour", 7), segment(200, "hour")))


@pytest.mark.parametrize(
    ("policy", "moment", "is_final"),
    [
        (RollingPolicy(), Moment(0), True),
        (RollingPolicy(file_size=501), Moment(0), False),
        (RollingPolicy(file_size=500), Moment(0), True),
        (RollingPolicy(interval=timedelta(seconds=100)), Moment(199 * SECOND), False),
        (RollingPolicy(interval=timedelta(seconds=100)), Moment(200 * SECOND), True),
        (RollingPolicy(inactivity=timedelta(seconds=60)), Moment(219 * SECOND), False),
        (RollingPolicy(inactivity=timedelta(seconds=60)), Moment(220 * SECOND), True),
        (RollingPolicy(at_watermark=True), Moment(0, watermark=6), False),
        (RollingPolicy(at_watermark=True), Moment(0, watermark=None), False),
        (RollingPolicy(at_watermark=True), Moment(0, watermark=7), True),
        (RollingPolicy(file_size=501), Moment(0, watermark=7), False),
        (RollingPolicy(file_size=501), Moment(0, is_last=True), True),
        (RollingPolicy(file_size=501, interval=timedelta(seconds=1)), Moment(200 * SECOND), True),
    ],
)
def test_the_first_thing_that_comes_true_makes_a_file_final(
    policy: RollingPolicy, moment: Moment, is_final: bool
) -> None:
    assert is_due(FILE, policy, moment) == is_final


def test_a_file_without_an_end_in_time_is_not_closed_by_the_watermark() -> None:
    file = OpenFile("", 0, 0, (segment(),))

    assert not is_due(file, RollingPolicy(at_watermark=True), Moment(0, watermark=10**18))


@pytest.mark.parametrize(
    ("oldest", "watermark_before", "holds_from"),
    [((5, 3), 2, 3), ((5, 3), 4, 4), ((5, None), 2, 2), ((5, 3), None, 3), ((None,), None, None), ((), 7, 7)],
)
def test_an_open_file_holds_back_what_is_not_older_than_its_oldest_row(
    oldest: tuple[int | None, ...], watermark_before: int | None, holds_from: int | None
) -> None:
    segments = tuple(replace(segment(), oldest=time) for time in oldest)

    assert OpenFile("", 0, 0, segments, watermark_before).holds_from == holds_from


def test_a_file_remembers_the_watermark_from_before_it_was_opened() -> None:
    [first] = grow([], [segment()], now=9, watermark_before=70)
    [grown] = grow([first], [segment()], now=10, watermark_before=80)

    assert (grown.watermark_before, grown.last) == (70, 10)


def test_segments_go_behind_those_that_their_file_has() -> None:
    grown = grow([OpenFile("a", 1, 1, (segment(1, "a"),))], [segment(2, "b"), segment(3, "a"), segment(4, "b")], now=9)

    assert grown == [
        OpenFile("a", 1, 9, (segment(1, "a"), segment(3, "a"))),
        OpenFile("b", 9, 9, (segment(2, "b"), segment(4, "b"))),
    ]


def test_many_small_segments_of_one_level_are_a_crowd() -> None:
    small, large = segment(10), segment(10**8)
    higher = replace(small, level=1)

    def found(*segments: Segment) -> list[tuple[int, int]]:
        return runs_of_small_segments(OpenFile("", 0, 0, segments))

    assert found(*[small] * 15) == []
    assert found(*[small] * 16) == [(0, 16)]
    assert found(*[large] * 99) == []
    assert found(*[higher] * 16, large, *[small] * 20, higher) == [(0, 16), (17, 37)]
    assert found(*[higher] * 8, *[small] * 8) == []
    assert found() == []
