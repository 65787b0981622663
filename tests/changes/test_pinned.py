"""Operators that a hint has pinned are compared by their names, whatever they mean."""

from __future__ import annotations

import pytest

from engine.changes.verdict import Change
from tests.changes.test_compare import ALL, GROUP, HOP, PLAIN, SESSION, TUMBLE, changes, plan, reason
from tests.plan.test_hints import hinted


@pytest.mark.parametrize("script", ALL.values(), ids=ALL)
def test_a_hint_that_comes_or_goes_or_changes_is_nothing(script: str) -> None:
    for before, after in (
        (script, hinted(script)),
        (hinted(script), script),
        (hinted(script), hinted(script, "others_")),
    ):
        same = plan(before, after)
        assert same.is_same
        assert same.kept == {0: 0}
        assert "it is called" in reason(same)


@pytest.mark.parametrize("script", ALL.values(), ids=ALL)
def test_a_hint_that_comes_with_another_change_keeps_the_state(script: str) -> None:
    further = plan(script, hinted(script) + PLAIN)

    assert changes(further) == [Change.STATE_KEPT]
    assert further.loses_nothing
    assert "it is called visits in the new script" in reason(further)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (TUMBLE, TUMBLE.replace("1 minute", "5 minutes"), "instead of tumble(INTERVAL '1 minute') by user of clicks"),
        (TUMBLE, TUMBLE.replace(" user,", " page,"), "it is tumble(INTERVAL '1 minute') by page of clicks instead of"),
        (TUMBLE, HOP, "it is hop("),
        (TUMBLE, SESSION, "it is session("),
        (GROUP, GROUP.replace("user", "page"), "it is GROUP by page of clicks instead of GROUP by user of clicks"),
        (GROUP, GROUP.replace("clicks", "orders").replace("sum(n)", "sum(price)"), "of orders instead of"),
        (
            TUMBLE,
            TUMBLE.replace("FROM clicks", "FROM (SELECT upper(user) AS user, n FROM clicks)"),
            "of rows that are made in another way",
        ),
    ],
)
def test_an_operator_of_the_same_name_that_means_something_else_is_refused_as_a_change_of_it(
    before: str, after: str, words: str
) -> None:
    new = after.replace("SELECT", "SELECT /*+ id(visits) */", 1)
    refused = plan(hinted(before), new)

    assert changes(refused) == [Change.REFUSED]
    assert words in reason(refused)
    assert "--reset visits gives up its state" in reason(refused)
    assert refused.kept == {}
    assert plan(hinted(before), new, keep_state=["visits"]).is_refused


def test_its_state_can_be_given_up_by_its_name() -> None:
    lost = plan(hinted(TUMBLE), hinted(TUMBLE.replace("1 minute", "5 minutes")), reset=["visits"])

    assert changes(lost) == [Change.STATE_DROPPED]
    assert not lost.is_refused
    assert not lost.loses_nothing
    assert lost.kept == {}


def test_a_filter_in_front_and_another_aggregate_are_judged_as_without_a_name() -> None:
    filtered = hinted(TUMBLE.replace("FROM clicks", "FROM clicks WHERE n > 3"))
    assert "its input rows have changed" in reason(plan(hinted(TUMBLE), filtered))
    assert changes(plan(hinted(TUMBLE), filtered, keep_state=["visits"])) == [Change.STATE_KEPT]

    further = hinted(TUMBLE.replace("sum(n)", "sum(n), max(n)"))
    assert changes(plan(hinted(TUMBLE), further)) == [Change.STATE_MIGRATED]


def test_names_that_are_changed_about_are_not_taken_for_what_they_mean() -> None:
    before = hinted(TUMBLE, "a") + hinted(HOP, "b")
    after = hinted(TUMBLE, "b") + hinted(HOP, "a")

    assert plan(before, after).is_same
    assert changes(plan(before, after + PLAIN)) == [Change.REFUSED, Change.REFUSED]


def test_an_operator_whose_name_another_one_has_begins_anew() -> None:
    moved = plan(hinted(TUMBLE), TUMBLE + hinted(HOP))

    assert changes(moved) == [Change.STATE_NEW, Change.REFUSED]
    assert moved.kept == {}
