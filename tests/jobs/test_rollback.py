"""Which state an earlier version goes on from, and which sinks stay ahead of it."""

from __future__ import annotations

import pytest

from engine.errors import NoWayBackError
from engine.jobs.decisions.rollback import SavedState, SinkAhead, WayBack, sinks_ahead, way_back

PLANS = {1: "a", 2: "b", 3: "b", 4: "c"}
SAVED = [SavedState("sp_4", before_version=4, version=3), SavedState("sp_2", before_version=2, version=1)]


@pytest.mark.parametrize(
    ("current", "to", "way"),
    [
        (4, None, WayBack(3, "sp_4")),
        (4, 3, WayBack(3, "sp_4")),
        (4, 2, WayBack(2, "sp_4")),
        (4, 1, WayBack(1, "sp_2")),
        (3, None, WayBack(2, None)),
        (2, None, WayBack(1, "sp_2")),
    ],
)
def test_a_version_goes_on_from_the_state_that_the_next_plan_has_found(
    current: int, to: int | None, way: WayBack
) -> None:
    plans = {number: plan for number, plan in PLANS.items() if number <= current}

    assert way_back(current, to, plans, SAVED) == way


def test_another_rollback_undoes_a_rollback() -> None:
    saved = [SavedState("sp_2", 2, 1), SavedState("sp_3", 3, 2)]

    assert way_back(3, None, {1: "a", 2: "b", 3: "a"}, saved) == WayBack(2, "sp_3")


def test_a_version_that_was_there_twice_has_the_state_of_the_time_that_is_meant() -> None:
    saved = [SavedState("sp_2", 2, 1), SavedState("sp_3", 3, 2), SavedState("sp_4", 4, 3)]

    assert way_back(4, 3, {1: "a", 2: "b", 3: "a", 4: "b"}, saved) == WayBack(3, "sp_4")
    assert way_back(4, 1, {1: "a", 2: "b", 3: "a", 4: "b"}, saved) == WayBack(1, "sp_2")


def test_the_one_before_is_that_which_ran() -> None:
    assert way_back(4, None, {1: "a", 2: "b", 3: "c", 4: "d"}, [SavedState("sp_4", 4, 1)]) == WayBack(1, "sp_4")


def test_a_state_whose_output_was_taken_back_is_not_gone_on_from_but_made_again() -> None:
    plans = {1: "a", 2: "b", 3: "a"}
    saved = [SavedState("sp_2", 2, 1), SavedState("sp_3", 3, 2, is_behind=False)]

    assert way_back(3, None, plans, saved, upgraded=[2]) == WayBack(2, "sp_2", is_redone=True)
    with pytest.raises(NoWayBackError, match="a history that was rolled back"):
        way_back(3, 2, plans, saved, upgraded=[])


def test_a_plan_goes_on_from_its_newest_state_that_is_behind() -> None:
    plans = {1: "a", 2: "b", 3: "a", 4: "b"}
    saved = [
        SavedState("sp_2", 2, 1),
        SavedState("sp_3", 3, 2, is_behind=False),
        SavedState("sp_4", 4, 3, is_behind=False),
    ]

    assert way_back(4, None, plans, saved, upgraded=[2, 4]) == WayBack(3, "sp_2")


@pytest.mark.parametrize("to", [None, 1])
def test_without_a_savepoint_there_is_no_way_back_and_the_others_are_named(to: int | None) -> None:
    with pytest.raises(NoWayBackError, match="version 1 has left no savepoint") as refused:
        way_back(2, to, {1: "a", 2: "b"}, [])

    assert refused.value.hint is not None
    assert "no version can be gone back to" in refused.value.hint


@pytest.mark.parametrize("to", [4, 5])
def test_only_an_earlier_version_can_be_gone_back_to(to: int) -> None:
    with pytest.raises(NoWayBackError, match=f"version {to} is not an earlier version") as refused:
        way_back(4, to, PLANS, SAVED)

    assert refused.value.hint is not None
    assert "version 1, 2, 3" in refused.value.hint


def test_the_first_version_has_none_before_it() -> None:
    with pytest.raises(NoWayBackError, match="before the first"):
        way_back(1, None, {1: "a"}, [])


ROWS = {8: {"topic": 3, "file": 9}, 9: {"topic": 4}}


@pytest.mark.parametrize(
    ("last", "reached", "ahead"),
    [
        (7, 9, [SinkAhead("topic", "kafka", 2, 7)]),
        (6, 9, [SinkAhead("topic", "kafka", 3, None)]),
        (9, 9, []),
        (None, 9, [SinkAhead("topic", "kafka", None, None)]),
        (7, None, [SinkAhead("topic", "kafka", None, None)]),
    ],
)
def test_a_sink_that_cannot_go_back_is_ahead_by_what_came_after(
    last: int | None, reached: int | None, ahead: list[SinkAhead]
) -> None:
    assert sinks_ahead([("topic", "kafka")], last, reached, ROWS) == ahead


def test_lead_of_a_sink_is_described_in_words() -> None:
    assert str(SinkAhead("topic", "kafka", 1, 7)) == "topic (kafka) is 1 epoch (7 rows) ahead and cannot be taken back"
