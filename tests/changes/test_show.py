"""A plan is shown as a table, as JSON and as Markdown, and its id stands for all that is shown."""

from __future__ import annotations

import json
from dataclasses import replace

from engine.changes.show import show
from engine.changes.verdict import Change, StateFigures, UpgradePlan, Verdict

KEPT = Verdict("operator", "tumble-7cae092f", Change.STATE_KEPT)
NEW = Verdict("sink", "late|rows", Change.STATE_NEW, "it is not written yet", "it has the rows from the change on")
LOST = Verdict("source", "orders", Change.STATE_DROPPED, "the new script does not read it", "gone", loses=True)
REFUSED = Verdict("operator", "session-1f0b77aa", Change.REFUSED, "what it keeps has changed (+ max(n))")
PLAN = UpgradePlan("f1", "f2", (KEPT, NEW), {0: 1})


def test_a_terminal_has_a_table_with_the_reasons_below() -> None:
    assert show(PLAN).splitlines() == [
        "          NAME             CHANGE",
        "operator  tumble-7cae092f  STATE_KEPT",
        "sink      late|rows        STATE_NEW",
        "    it is not written yet",
        "    it has the rows from the change on",
        "",
        f"plan {PLAN.id}: nothing is lost",
    ]


def test_a_program_has_all_of_it() -> None:
    content = json.loads(show(replace(PLAN, verdicts=(KEPT, LOST)), "json"))

    assert content["loses_nothing"] is False
    assert content["is_refused"] is False
    assert content["summary"] == "what orders has kept is given up"
    assert content["verdicts"][1] == {
        "subject": "source",
        "name": "orders",
        "change": "STATE_DROPPED",
        "reason": "the new script does not read it",
        "shown": "gone",
        "loses": True,
        "rows": None,
        "bytes": None,
    }


def test_a_comment_has_a_table_in_which_nothing_is_markup() -> None:
    lines = show(replace(PLAN, verdicts=(NEW, REFUSED)), "markdown").splitlines()

    assert "refused because of session-1f0b77aa" in lines[0]
    assert lines[-2] == (
        r"| sink | late\|rows | STATE\_NEW | it is not written yet<br>it has the rows from the change on |"
    )
    assert lines[-1].count("|") == 5


def test_the_id_of_a_plan_covers_every_word_of_it() -> None:
    others = [
        replace(PLAN, before="f0"),
        replace(PLAN, after="f3"),
        replace(PLAN, kept={0: 0}),
        replace(PLAN, verdicts=(NEW, KEPT)),
        replace(PLAN, verdicts=(KEPT, replace(NEW, shown="it has all rows"))),
        replace(PLAN, verdicts=(KEPT, replace(NEW, loses=True))),
    ]

    assert replace(PLAN, verdicts=(KEPT, replace(NEW))).id == PLAN.id
    assert len({PLAN.id, *(other.id for other in others)}) == len(others) + 1


def test_a_plan_without_changes_says_so() -> None:
    assert show(UpgradePlan("f", "f", (Verdict("source", "a", Change.SAME),), {})).endswith(": nothing changes\n")


def test_amount_of_state_is_shown_but_not_part_of_the_plan_id() -> None:
    twin = Verdict("operator", "tumble-5f5f5f5f", Change.STATE_DROPPED, loses=True)
    plan = replace(PLAN, verdicts=(KEPT, twin, Verdict("operator", "hop-1", Change.STATE_NEW), NEW))
    figures = {"tumble-7cae092f": StateFigures(1204, 86311), "tumble-5f5f5f5f": StateFigures(None, 5)}

    shown = plan.with_figures({**figures, "hop-1": StateFigures(1, 1), "late|rows": StateFigures(1, 1)})

    assert shown.id == plan.id
    lines = show(shown).splitlines()
    assert lines[2] == "    1,204 rows in 86,311 bytes of state"
    assert lines[4] == "    an unknown number of rows in 5 bytes of state"
    assert [verdict.rows for verdict in shown.verdicts] == [1204, None, None, None]
    assert [verdict["bytes"] for verdict in json.loads(show(shown, "json"))["verdicts"]] == [86311, 5, None, None]
    assert "1,204 rows in 86,311 bytes of state" in show(shown, "markdown")
