"""Upgrades of OVER by event time: what keeps its state, and what is refused."""

from __future__ import annotations

import pytest

from engine.changes.compare import compare
from engine.changes.verdict import Change
from engine.compile import Program, compile_script

pytestmark = pytest.mark.unit

SCRIPT = """
SET updating_ttl = '{ttl}';
CREATE TABLE events (at TIMESTAMP NOT NULL, k TEXT, n {number}) WITH (connector = 'single_file', path = '/in.json',
    format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '/out.json', format = 'json', type = 'sink');
INSERT INTO out SELECT k, {call} + {more} AS a FROM (SELECT * FROM events WHERE n > {least}) {behind};
"""
BASE = {
    "ttl": "1 day",
    "number": "INT",
    "call": "sum(n) OVER (PARTITION BY k ORDER BY at ROWS 3 PRECEDING)",
    "more": "0",
    "least": "0",
    "behind": "",
}


def program(**parts: str) -> Program:
    return compile_script(SCRIPT.format(**{**BASE, **parts}))


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, Change.SAME),
        ({"more": "1"}, Change.STATE_KEPT),
        ({"behind": "WHERE k <> 'x'"}, Change.REFUSED),
        ({"ttl": "2 days"}, Change.STATE_KEPT),
        ({"least": "5"}, Change.REFUSED),
        ({"number": "BIGINT"}, Change.REFUSED),
        ({"call": "sum(n) OVER (PARTITION BY k ORDER BY at ROWS 4 PRECEDING)"}, Change.REFUSED),
        ({"call": "max(n) OVER (PARTITION BY k ORDER BY at ROWS 3 PRECEDING)"}, Change.REFUSED),
        ({"call": "sum(n) OVER (PARTITION BY upper(k) ORDER BY at ROWS 3 PRECEDING)"}, Change.REFUSED),
        ({"call": "sum(n) OVER (PARTITION BY k ORDER BY at, n ROWS 3 PRECEDING)"}, Change.REFUSED),
    ],
    ids=str,
)
def test_a_change_keeps_the_state_or_is_refused(change: dict[str, str], verdict: Change) -> None:
    plan = compare(program(), program(**change))

    operators = [found.change for found in plan.verdicts if found.subject == "operator"]
    assert verdict in operators
    assert plan.is_refused == (verdict is Change.REFUSED)


def test_a_reset_gives_up_the_state() -> None:
    before, after = program(), program(call="sum(n) OVER (PARTITION BY k ORDER BY at ROWS 4 PRECEDING)")

    assert not compare(before, after, reset={operator.id for operator in before.operators}).is_refused


def test_the_name_of_the_operator_says_what_it_is() -> None:
    (operator,) = program().operators

    assert operator.kind == "over"
    assert operator.id.startswith("over-")
