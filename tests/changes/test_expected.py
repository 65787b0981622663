"""What is to be expected of a change: measured, or unknown, and no part of what is accepted."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from engine.changes.show import show, with_expected
from engine.changes.verdict import WITHOUT_A_CONTROL_PLANE, Expected, of_restart, of_upgrade
from tests.changes.test_compare import GROUP, PLAIN, TUMBLE, plan

FOUR, SIX, ONE = (timedelta(seconds=seconds) for seconds in (4, 6, 1))


@pytest.mark.parametrize(
    ("expected", "line"),
    [
        (
            of_upgrade([FOUR, SIX], [ONE, ONE], ONE, ()),
            "about 6 s, the epoch in hand and a start, as the last 2 upgrades took",
        ),
        (of_upgrade([SIX], [], None, ()), "about 6 s, the epoch in hand and a start, as the last upgrade took"),
        (
            of_upgrade([], [FOUR, SIX], ONE, ()),
            "unknown, a start has taken 5 s, "
            "and how long its savepoint and the new state take has not been measured yet",
        ),
        (of_upgrade([], [], ONE, ()), "unknown, no start of it has been measured yet"),
        (of_restart([FOUR], ONE, ()), "about 5 s, the epoch in hand and a start, as the last start took"),
        (of_restart([], ONE, ()), "unknown, no start of it has been measured yet"),
        (WITHOUT_A_CONTROL_PLANE, "unknown, only a control plane notes how long starts take"),
    ],
)
def test_a_pause_is_what_was_measured_or_unknown(expected: Expected, line: str) -> None:
    assert expected.lines()[0] == f"expected pause: {line}"


def test_all_forms_say_the_same_of_it_and_the_id_says_nothing() -> None:
    changed = plan(TUMBLE, TUMBLE + PLAIN)
    expected = Expected(SIX, "as it took", ("g_1 of daily <monday>", "g_2 of daily tuesday"))

    text = with_expected(show(changed), expected, "text")
    assert text.endswith(
        f"plan {changed.id}: nothing is lost\n"
        "expected pause: about 6 s, as it took\n"
        "gate certificates voided: g_1 of daily <monday>, g_2 of daily tuesday\n"
    )
    assert "voided: g\\_1 of daily \\<monday\\>, g\\_2 of" in with_expected(
        show(changed, "markdown"), expected, "markdown"
    )
    content = json.loads(with_expected(show(changed, "json"), expected, "json"))
    assert content.pop("expected") == {
        "pause_micros": 6_000_000,
        "pause": "as it took",
        "voided": ["g_1 of daily <monday>", "g_2 of daily tuesday"],
    }
    assert content == json.loads(show(changed, "json"))
    unknown = json.loads(with_expected(show(changed, "json"), WITHOUT_A_CONTROL_PLANE, "json"))["expected"]
    assert (unknown["pause_micros"], unknown["voided"]) == (None, None)


def test_sinks_get_rows_again_of_a_source_that_begins_anew_and_of_no_other() -> None:
    both = GROUP + "INSERT INTO others SELECT user, price FROM orders;\n"
    further = both.replace("user, price", "user, price, price * 2 AS twice")

    assert plan(both, further, reset=["orders"]).repeated == ("others",)
    assert plan(both, further).repeated == ()
    assert plan(both, GROUP, reset=["orders"]).repeated == ()
    assert plan(GROUP, GROUP.replace("user", "page"), reset=["updating-aggregate-a53c895a"]).repeated == ()
