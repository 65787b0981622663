"""Of several sinks that have rows of one operator, one that gets another query does not begin with nothing unsaid."""

from __future__ import annotations

import pytest

from engine.changes.compare import compare
from engine.changes.verdict import Change
from tests.changes.test_compare import KAFKA, changes, program, reason

SINKS = "".join(
    f"CREATE TABLE {name} (user TEXT, c BIGINT) {KAFKA.format(name, form)};\n"
    for name, form in (("first", "debezium_json"), ("second", "debezium_json"), ("one", "json"), ("two", "json"))
)
UPDATING = {
    "aggregate": "SELECT user, {} AS c FROM (SELECT user, count(*) AS k FROM clicks GROUP BY user)",
    "join": "SELECT user, {} AS c FROM (SELECT l.user, r.price AS k FROM clicks l JOIN orders r ON l.user = r.user)",
    "ranking": (
        "SELECT user, {} AS c FROM (SELECT user, n AS k, row_number() OVER (PARTITION BY user ORDER BY n DESC) AS p "
        "FROM clicks) WHERE p <= 3"
    ),
}
WINDOWS = {
    kind: f"SELECT user, {{}} AS c FROM (SELECT {kind}('1 minute') AS w, user, count(*) AS k FROM clicks GROUP BY 1, 2)"
    for kind in ("tumble", "session")
}


def script(query: str, first: str, second: str, sinks: tuple[str, str] = ("first", "second")) -> str:
    inserts = (f"INSERT INTO {name} {query.format(value)};" for name, value in zip(sinks, (first, second), strict=True))
    return SINKS + "\n".join(inserts)


@pytest.mark.parametrize("query", UPDATING.values(), ids=UPDATING)
def test_what_gives_one_sink_its_rows_anew_is_refused_unless_somebody_lets_it_begin_with_nothing(query: str) -> None:
    before, after = program(script(query, "k", "k")), program(script(query, "k", "k + 1"))
    (going_on,), (_, new) = before.operators, after.operators

    refused, named = compare(before, after), compare(before, after, reset=[new.id])

    assert changes(refused) == [Change.STATE_KEPT, Change.REFUSED]
    assert f"second has had its rows from {going_on.id} so far, whose state goes on without it" in reason(refused)
    assert f"--reset {new.id}" in reason(refused)
    assert changes(named) == [Change.STATE_KEPT, Change.STATE_NEW]
    assert not named.is_refused
    assert not named.loses_nothing


@pytest.mark.parametrize("query", WINDOWS.values(), ids=WINDOWS)
def test_windows_that_several_sinks_have_the_rows_of_are_kept_once(query: str) -> None:
    sinks = ("one", "two")
    before, after = program(script(query, "k", "k", sinks)), program(script(query, "k", "k + 1", sinks))

    plan = compare(before, after)

    assert changes(plan) == [Change.STATE_KEPT]
    assert changes(plan, "sink") == [Change.SAME, Change.RESTART]
    assert plan.loses_nothing


def test_windows_of_one_sink_that_are_filtered_in_front_are_others_and_refused() -> None:
    query, sinks = WINDOWS["tumble"], ("one", "two")
    old = script(query, "k", "k", sinks)
    head, _, tail = old.rpartition("FROM clicks")

    plan = compare(program(old), program(f"{head}FROM clicks WHERE n > 3{tail}"))

    assert sorted(changes(plan)) == [Change.REFUSED, Change.STATE_KEPT]
    assert "two has had its rows from tumble-" in reason(plan)


@pytest.mark.parametrize("query", UPDATING.values(), ids=UPDATING)
def test_a_further_sink_may_begin_with_nothing(query: str) -> None:
    before = program(f"{SINKS}INSERT INTO first {query.format('k')};")

    plan = compare(before, program(script(query, "k", "k + 1")))

    assert changes(plan) == [Change.STATE_KEPT, Change.STATE_NEW]
    assert plan.loses_nothing
