"""Of several sinks that have rows of one operator, one that gets another query goes on with a copy of its state."""

from __future__ import annotations

import pytest

from engine.changes.compare import compare
from engine.changes.show import show
from engine.changes.verdict import Change, StateFigures
from engine.compile import Program
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
def test_a_sink_that_gets_another_query_goes_on_with_a_copy_of_the_state_that_it_had_its_rows_from(query: str) -> None:
    before, after = program(script(query, "k", "k")), program(script(query, "k", "k + 1"))
    (old,), (going_on, new) = before.operators, after.operators

    plan = compare(before, after)

    assert changes(plan) == [Change.STATE_KEPT, Change.STATE_KEPT]
    assert plan.kept == {going_on.number: old.number, new.number: old.number}
    assert reason(plan) == f"; second has had its rows from {old.id} so far, and goes on with a copy of that state"
    assert [verdict.name for verdict in plan.verdicts if verdict.subject == "operator"] == [old.id, new.id]
    assert changes(plan, "sink") == [Change.SAME, Change.RESTART]
    assert plan.loses_nothing


@pytest.mark.parametrize("query", UPDATING.values(), ids=UPDATING)
def test_a_copy_can_begin_with_nothing_where_somebody_says_so(query: str) -> None:
    before, after = program(script(query, "k", "k")), program(script(query, "k", "k + 1"))
    (old,), (_, new) = before.operators, after.operators

    plan = compare(before, after, reset=[new.id])

    assert changes(plan) == [Change.STATE_KEPT, Change.STATE_DROPPED]
    assert f"second has had its rows from {old.id} so far, whose state goes on without it" in reason(plan)
    assert new.number not in plan.kept
    assert not plan.is_refused
    assert not plan.loses_nothing


def test_a_copy_of_several_operators_is_one_of_all_of_them() -> None:
    query = "SELECT user, {} AS c FROM (SELECT c AS user, count(*) AS k FROM (" + UPDATING["aggregate"].format("k")
    query = query.replace("SELECT c AS user", "SELECT CAST(c AS TEXT) AS user") + ") GROUP BY c)"
    before, after = program(script(query, "k", "k")), program(script(query, "k", "k + 1"))

    plan = compare(before, after)

    assert plan.kept == {0: 0, 1: 1, 2: 0, 3: 1}
    assert {*plan.sources.items()} == {(0, 0), (1, 0)}


def test_copies_of_the_same_rows_go_to_the_operators_that_they_are_below() -> None:
    below = "SELECT user, count(*) AS k FROM clicks GROUP BY user"
    counted = f"SELECT CAST(k AS TEXT) AS user, {{}} AS c FROM (SELECT k, count(*) AS c FROM ({below}) GROUP BY k)"
    summed = f"SELECT user, {{}} AS c FROM (SELECT user, sum(k) AS c FROM ({below}) GROUP BY user)"

    def both(sink: str, queries: tuple[str, str], value: str) -> str:
        return "".join(f"INSERT INTO {sink} {query.format(value)};\n" for query in queries)

    first = both("first", (counted, summed), "c")
    before = program(SINKS + first + both("second", (counted, summed), "c"))
    after = program(SINKS + first + both("second", (summed, counted), "c + 1"))

    plan = compare(before, after)

    assert plan.kept == {0: 0, 1: 1, 2: 2, 3: 3, 4: 2, 5: 3, 6: 0, 7: 1}
    assert plan.loses_nothing


def test_another_condition_is_told_to_the_sink_of_the_copy_alone() -> None:
    query = UPDATING["aggregate"]
    before, after = script(query, "k", "k"), script(query, "k", "k")

    plan = compare(program(before), program(f"{after[:-1]} WHERE k > 3;"))

    assert plan.kept == {0: 0, 1: 0}
    assert [*plan.retold] == [1]
    assert changes(plan, "sink") == [Change.SAME, Change.RESTART]
    assert "are taken back in the first epoch" in "".join(verdict.shown for verdict in plan.verdicts)
    assert plan.loses_nothing


def test_a_copy_that_keeps_other_aggregates_gets_them_as_any_state_does() -> None:
    query = UPDATING["aggregate"]
    other = query.replace("count(*) AS k", "count(*) AS k, sum(n) AS s")
    after = f"{script(query, 'k', 'k').partition('INSERT INTO second')[0]}INSERT INTO second {other.format('k + s')};"

    plan = compare(program(script(query, "k", "k")), program(after))

    assert changes(plan) == [Change.STATE_KEPT, Change.STATE_MIGRATED]
    assert plan.kept == {0: 0, 1: 0}
    assert [*plan.reformed] == [1]


def test_rows_that_come_to_a_copy_must_be_those_that_it_has_had() -> None:
    query = UPDATING["aggregate"]
    head, _, tail = script(query, "k", "k").rpartition("FROM clicks")
    before, after = program(script(query, "k", "k")), program(f"{head}FROM clicks WHERE n > 3{tail}")
    new = after.operators[1]

    refused, accepted = compare(before, after), compare(before, after, keep_state=[new.id])

    assert changes(refused) == [Change.STATE_KEPT, Change.REFUSED]
    assert f"--keep-state {new.id}" in reason(refused)
    assert changes(accepted) == [Change.STATE_KEPT, Change.STATE_KEPT]
    assert accepted.kept == {0: 0, 1: 0}


def test_new_branch_of_a_sink_starts_empty() -> None:
    query = UPDATING["aggregate"]

    plan = compare(program(script(query, "k", "k")), program(script(query, "k", "k + 1", ("first", "first"))))

    assert changes(plan) == [Change.STATE_KEPT, Change.STATE_NEW]
    assert plan.kept == {0: 0}


def test_other_keys_of_one_sink_are_refused() -> None:
    query = UPDATING["aggregate"]
    other = query.replace("GROUP BY user", "GROUP BY user, page")
    after = f"{script(query, 'k', 'k').partition('INSERT INTO second')[0]}INSERT INTO second {other.format('k')};"

    plan = compare(program(script(query, "k", "k")), program(after))

    assert changes(plan) == [Change.STATE_KEPT, Change.REFUSED]
    assert "second has had its rows from updating-aggregate-" in reason(plan)
    assert "--reset" in reason(plan)


@pytest.mark.parametrize("query", WINDOWS.values(), ids=WINDOWS)
def test_windows_that_several_sinks_have_the_rows_of_are_kept_once(query: str) -> None:
    sinks = ("one", "two")
    before, after = program(script(query, "k", "k", sinks)), program(script(query, "k", "k + 1", sinks))

    plan = compare(before, after)

    assert changes(plan) == [Change.STATE_KEPT]
    assert changes(plan, "sink") == [Change.SAME, Change.RESTART]
    assert plan.loses_nothing


def test_windows_of_one_sink_that_are_filtered_in_front_are_a_copy_whose_rows_have_changed() -> None:
    query, sinks = WINDOWS["tumble"], ("one", "two")
    old = script(query, "k", "k", sinks)
    head, _, tail = old.rpartition("FROM clicks")

    plan = compare(program(old), program(f"{head}FROM clicks WHERE n > 3{tail}"))

    assert changes(plan) == [Change.STATE_KEPT, Change.REFUSED]
    assert "two has had its rows from tumble-" in reason(plan)
    assert "its input rows have changed" in reason(plan)


@pytest.mark.parametrize("query", UPDATING.values(), ids=UPDATING)
def test_a_further_sink_may_begin_with_nothing(query: str) -> None:
    before = program(f"{SINKS}INSERT INTO first {query.format('k')};")

    plan = compare(before, program(script(query, "k", "k + 1")))

    assert changes(plan) == [Change.STATE_KEPT, Change.STATE_NEW]
    assert plan.loses_nothing


@pytest.mark.parametrize("reset", [False, True])
def test_a_copy_has_as_many_rows_and_bytes_as_the_state_that_it_is_of(reset: bool) -> None:
    query = UPDATING["aggregate"]
    before, after = program(script(query, "k", "k")), program(script(query, "k", "k + 1"))
    (old,), (_, new) = before.operators, after.operators

    plan = compare(before, after, reset=[new.id] * reset)
    shown = plan.with_figures({old.id: StateFigures(12, 345)})

    operators = [verdict for verdict in shown.verdicts if verdict.subject == "operator"]
    assert [(verdict.rows, verdict.bytes) for verdict in operators] == [(12, 345), (12, 345)]
    assert show(shown).count("12 rows in 345 bytes of state") == 2
    assert shown.id == plan.id


def three(second: str) -> str:
    """Two sinks with the rows of one count, and a third with those of a sum of the same rows by the same key."""
    table = f"CREATE TABLE third (user TEXT, c BIGINT) {KAFKA.format('third', 'debezium_json')};"
    summed = "INSERT INTO third SELECT user, sum(n) AS c FROM clicks GROUP BY user;"
    return f"{table}{script(UPDATING['aggregate'], 'k', second)}{summed}"


def test_a_copy_is_not_called_as_another_operator_of_the_old_script() -> None:
    before, after = program(three("k")), program(three("k + 1"))
    _, summed = before.operators
    _, new, _ = after.operators
    assert new.id == summed.id

    plan, reset = compare(before, after), compare(before, after, reset=[summed.id])

    names = [verdict.name for verdict in plan.verdicts if verdict.subject == "operator"]
    assert names == [before.operators[0].id, f"{new.id}-new", summed.id]
    assert plan.loses_nothing
    assert changes(reset) == [Change.STATE_KEPT, Change.STATE_KEPT, Change.STATE_DROPPED]
    shown = plan.with_figures({before.operators[0].id: StateFigures(2, 20), summed.id: StateFigures(3, 30)})
    assert [verdict.rows for verdict in shown.verdicts if verdict.subject == "operator"] == [2, 2, 3]
    begun = compare(before, after, reset=[f"{new.id}-new"])
    assert changes(begun) == [Change.STATE_KEPT, Change.STATE_DROPPED, Change.STATE_KEPT]


def named(query: str) -> str:
    """With a name for what it keeps."""
    head, _, tail = query.rpartition("SELECT")
    return f"{head}SELECT /*+ id(visits) */{tail}"


def shared(query: str, sinks: tuple[str, str] = ("first", "second")) -> Program:
    """Two sinks with the rows of one operator, which is called `visits`."""
    first, second = sinks
    return program(f"{SINKS}INSERT INTO {first} {named(query).format('k')};INSERT INTO {second} {query.format('k')};")


@pytest.mark.parametrize("query", UPDATING.values(), ids=UPDATING)
@pytest.mark.parametrize("keeps_it", ["first", "second"])
def test_a_hint_that_only_one_of_the_sinks_keeps_is_no_reason_to_begin_anew(query: str, keeps_it: str) -> None:
    first, second = (named(query), query) if keeps_it == "first" else (query, named(query))
    before = shared(query)
    after = program(f"{SINKS}INSERT INTO first {first.format('k')};INSERT INTO second {second.format('k + 1')};")
    copy = next(operator for operator in after.operators if operator.id != "visits")

    plan = compare(before, after)

    assert plan.kept == {0: 0, 1: 0}
    assert {verdict.name for verdict in plan.verdicts if verdict.subject == "operator"} == {"visits", copy.id}
    assert f"{copy.sinks[0]} has had its rows from visits so far, and goes on with a copy of that state" in reason(plan)
    assert plan.loses_nothing
    assert changes(compare(before, after, reset=["visits"])) == (
        [Change.STATE_DROPPED, Change.STATE_KEPT] if keeps_it == "first" else [Change.STATE_KEPT, Change.STATE_DROPPED]
    )


def test_a_window_whose_hint_only_one_of_the_sinks_keeps_goes_on_with_another_aggregate() -> None:
    query = WINDOWS["tumble"]
    other = query.replace("count(*) AS k", "count(*) AS k, max(n) AS m").format("k + m")
    before = shared(query, ("one", "two"))

    plan = compare(before, program(f"{SINKS}INSERT INTO one {named(query).format('k')};INSERT INTO two {other};"))

    assert changes(plan) == [Change.STATE_KEPT, Change.STATE_MIGRATED]
    assert plan.loses_nothing


def test_a_name_that_means_something_else_by_now_takes_no_state_from_a_sink_that_keeps_its_query() -> None:
    query = UPDATING["aggregate"]
    other = named(query).replace("GROUP BY user", "GROUP BY user, page")
    before = shared(query)
    after = program(f"{SINKS}INSERT INTO first {query.format('k')};INSERT INTO second {other.format('k')};")

    plan = compare(before, after)

    assert changes(plan) == [Change.STATE_KEPT, Change.REFUSED]
    assert "it is GROUP by user, page of clicks instead of GROUP by user of clicks" in reason(plan)
    assert changes(compare(before, after, reset=["visits"])) == [Change.STATE_KEPT, Change.STATE_DROPPED]


def test_a_view_with_a_name_whose_readers_part_keeps_the_name_for_both() -> None:
    view = f"CREATE VIEW v AS {named(UPDATING['aggregate']).format('k')};INSERT INTO first SELECT user, c FROM v;"
    before, after = (program(f"{SINKS}{view}INSERT INTO second SELECT user, {c} FROM v;") for c in ("c", "c + 1"))

    plan = compare(before, after)

    assert plan.kept == {0: 0, 1: 0}
    assert [operator.pin for operator in after.operators] == ["visits", "visits"]
    assert plan.loses_nothing
