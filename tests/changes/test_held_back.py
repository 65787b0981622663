"""Windows that are open when an aggregate is added may be held back as a whole: a loss, which somebody accepts."""

from __future__ import annotations

import pytest

from engine.changes.show import show
from engine.changes.verdict import Change, Wording, why_not
from engine.errors import UnknownSubjectError
from tests.changes.test_compare import GROUP, HOP, PLAIN, SESSION, TUMBLE, changes, plan, program

WORDING = Wording("--reset", "--accept-loss", "nothing")


def operator(script: str) -> str:
    return program(script).operators[0].id


def further(script: str) -> str:
    return script.replace("sum(n) AS s", "sum(n) AS s, max(n) AS m")


@pytest.mark.parametrize("script", [TUMBLE, HOP])
def test_open_windows_are_held_back_by_choice_and_their_rows_are_a_loss(script: str) -> None:
    name, as_null = operator(script), plan(script, further(script))
    held_back = plan(script, further(script), hold_back=[name])

    assert changes(held_back) == changes(as_null) == [Change.STATE_MIGRATED]
    assert as_null.loses_nothing
    assert not held_back.is_refused
    assert not held_back.loses_nothing
    assert held_back.id != as_null.id
    assert held_back.kept == as_null.kept
    assert [move.held_back for move in held_back.migrated.values()] == [True]
    assert "none of their rows is emitted" in show(held_back)
    assert f"open windows of {name} are suppressed" in show(held_back)
    assert why_not(held_back, as_null.id, "", WORDING) is not None
    assert why_not(held_back, held_back.id, "", WORDING) is None


@pytest.mark.parametrize(
    "above",
    [
        "SELECT w, user, c, s FROM ({}) WHERE m > 3",
        "SELECT w, user, c, s + coalesce(m, 0) AS s FROM ({})",
        "SELECT w, user, c, s + row_number() OVER (PARTITION BY w ORDER BY m) AS s FROM ({})",
    ],
)
def test_new_aggregate_under_a_computation_is_refused_unless_windows_are_suppressed(above: str) -> None:
    select = TUMBLE.removeprefix("INSERT INTO counts ").removesuffix(";\n")
    before = f"INSERT INTO counts SELECT w, user, c, s FROM ({select});"
    after = f"INSERT INTO counts {above.format(further(select))};"
    name = operator(before)

    refused = plan(before, after)
    assert changes(refused) == [Change.REFUSED]
    assert f"unless --hold-back {name} leaves out the windows that are open" in show(refused)
    assert changes(plan(before, after, hold_back=[name])) == [Change.STATE_MIGRATED]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (TUMBLE, TUMBLE + PLAIN),
        (TUMBLE, TUMBLE.replace(", sum(n) AS s", "")),
        (GROUP, GROUP.replace("sum(n)", "sum(n), max(n)")),
        (TUMBLE, TUMBLE.replace("1 minute", "2 minutes")),
    ],
)
def test_windows_without_null_cannot_be_suppressed(before: str, after: str) -> None:
    with pytest.raises(UnknownSubjectError, match="no open windows that would show NULL"):
        plan(before, after, hold_back=[operator(before)])


def test_suppressing_windows_of_an_unknown_operator_is_refused() -> None:
    with pytest.raises(UnknownSubjectError, match="--hold-back nothing"):
        plan(TUMBLE, further(TUMBLE), hold_back=["nothing"])


def test_impossible_migration_is_refused_despite_suppression() -> None:
    assert changes(plan(SESSION, further(SESSION), hold_back=[operator(SESSION)])) == [Change.REFUSED]
