"""Aggregations whose aggregates change: how their state goes on, and what is refused since it hides what is unknown."""

from __future__ import annotations

import pytest

from engine.changes.verdict import Change, Migration, UpgradePlan, Verdict
from tests.changes.test_compare import DISTINCT, GROUP, HOP, SESSION, TUMBLE, UDAF, changes, plan

WIDE = """INSERT INTO counts SELECT w, user, {columns}
FROM (SELECT tumble('1 minute') AS w, user, {calls} FROM clicks GROUP BY 1, 2){behind};\n"""


def operator(plan: UpgradePlan) -> Verdict:
    (verdict,) = (verdict for verdict in plan.verdicts if verdict.subject == "operator")
    return verdict


@pytest.mark.parametrize("script", [TUMBLE, HOP])
def test_a_new_aggregate_is_null_while_windows_are_open_that_have_begun_without_it(script: str) -> None:
    plan_of_change = plan(script, script.replace("count(*) AS c", "max(n) AS m, count(*) AS c"))

    assert operator(plan_of_change).change is Change.STATE_MIGRATED
    assert operator(plan_of_change).reason == "what it keeps has changed (+ max(n))"
    assert "windows that are open show NULL for max(n), which is right from the next" in operator(plan_of_change).shown
    assert plan_of_change.kept == {0: 0}
    assert plan_of_change.migrated == {
        0: Migration(0, (None, 0, 1), ("null", "0", "1"), ("count", "sum"), ("max", "count", "sum"))
    }
    assert plan_of_change.sources == {0: 0}
    assert plan_of_change.loses_nothing


@pytest.mark.parametrize(
    ("old", "new", "aggregates", "origins"),
    [
        (", sum(n) AS s", "", (0,), ("0",)),
        ("count(*) AS c, sum(n) AS s", "sum(n) AS s, count(*) AS c", (1, 0), ("1", "0")),
        ("count(*) AS c, sum(n) AS s", "avg(n) AS a, sum(n) AS s", (None, 1), ("zero", "zero", "1")),
    ],
)
def test_aggregates_go_and_change_places(
    old: str, new: str, aggregates: tuple[int | None, ...], origins: tuple[str, ...]
) -> None:
    (migration,) = plan(TUMBLE, TUMBLE.replace(old, new)).migrated.values()

    assert (migration.aggregates, migration.origins) == (aggregates, origins)


def test_a_sum_of_decimals_has_two_columns_unless_a_bigint_holds_it() -> None:
    sums = "sum(CAST(n AS DECIMAL(20, 2))) AS s, sum(CAST(n AS DECIMAL(8, 2))) AS t"

    (migration,) = plan(
        TUMBLE, TUMBLE.replace("count(*) AS c, sum(n) AS s", f"{sums}, count(*) AS c")
    ).migrated.values()

    assert migration.origins == ("zero", "true", "null", "0")
    assert migration.columns_after == ("sum", "isEmpty", "sum", "count")


def test_the_plan_is_another_one_where_it_is_done_in_another_way() -> None:
    one, other = (plan(TUMBLE, TUMBLE.replace("sum(n)", f"{name}(n)")) for name in ("min", "max"))

    assert one.id != other.id


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("sum(n) AS s", "sum(n) AS s, array_agg(n) AS m", "array_agg(n) cannot be moved yet"),
        ("sum(n) AS s", "sum(n) AS s, count(1) AS m", "two of its aggregates are the same in a state"),
        ("GROUP BY 1, 2", "GROUP BY 1, 2 HAVING max(n) > 3", "a condition reads its new"),
        ("sum(n) AS s", "coalesce(max(n), 0) AS s", "something else is made of its new"),
        ("sum(n) AS s", "CASE WHEN max(n) > 5 THEN 'high' ELSE 'low' END AS s", "something else is made of its new"),
    ],
)
def test_computation_with_an_unknown_value_is_refused(old: str, new: str, words: str) -> None:
    refused = plan(TUMBLE, TUMBLE.replace(old, new))

    assert operator(refused).change is Change.REFUSED
    assert words in operator(refused).reason
    assert refused.migrated == {}


@pytest.mark.parametrize(
    ("before", "after", "behind", "words"),
    [
        ("c", "c", "", "only where all aggregates of the window are read, in its order"),
        ("c", "m, c", "", "only where all aggregates of the window are read, in its order"),
        ("c", "c, m + 1 AS m", "", ""),
        ("c", "c, CAST(m AS TEXT) AS m", "", ""),
    ],
)
def test_migration_depends_on_the_operators_above_a_window(before: str, after: str, behind: str, words: str) -> None:
    old = WIDE.format(columns=before, calls="count(*) AS c", behind="")
    new = WIDE.format(columns=after, calls="count(*) AS c, max(n) AS m", behind=behind)

    verdict = operator(plan(old, new))

    assert verdict.change is (Change.REFUSED if words else Change.STATE_MIGRATED)
    assert words in verdict.reason


RANKED = """INSERT INTO counts SELECT w, user, {columns}, place FROM (
  SELECT *, row_number() OVER (PARTITION BY w ORDER BY {by} DESC) AS place
  FROM (SELECT tumble('1 minute') AS w, user, {calls} FROM clicks GROUP BY 1, 2));\n"""


@pytest.mark.parametrize(("by", "words"), [("c", ""), ("m", "a function over the window reads its new m")])
def test_a_ranking_by_something_new_is_refused(by: str, words: str) -> None:
    old = RANKED.format(columns="c", calls="count(*) AS c", by="c")
    new = RANKED.format(columns="c, m", calls="count(*) AS c, max(n) AS m", by=by)

    verdict = operator(plan(old, new))

    assert verdict.change is (Change.REFUSED if words else Change.STATE_MIGRATED)
    assert words in verdict.reason


def test_another_aggregate_over_something_new_is_refused() -> None:
    script = """INSERT INTO counts SELECT w, {outer} FROM (
      SELECT tumble('1 minute') AS w, user, {inner} FROM clicks GROUP BY 1, 2) GROUP BY w;\n"""
    old = script.format(outer="sum(c) AS t", inner="count(*) AS c")
    new = script.format(outer="sum(c) AS t, max(m) AS m", inner="count(*) AS c, max(n) AS m")

    verdict = operator(plan(old, new))

    assert verdict.change is Change.REFUSED
    assert "another aggregate reads its new m" in verdict.reason


def test_a_column_that_cannot_be_null_is_not_made_null() -> None:
    tables = "CREATE TABLE sure (w STRUCT<start TIMESTAMP, end TIMESTAMP>, user TEXT, c BIGINT, s BIGINT, m BIGINT{})"
    kafka = "WITH (connector = 'kafka', bootstrap_servers = 'k:9092', topic = 's', format = 'json', type = 'sink');"
    old, new = TUMBLE.replace("counts", "sure"), TUMBLE.replace("counts", "sure").replace("sum(n)", "sum(n), max(n)")
    old = old.replace("sum(n) AS s", "sum(n) AS s, CAST(NULL AS BIGINT) AS m")

    allowed, refused = (
        plan(tables.format(text) + kafka + old, tables.format(text) + kafka + new) for text in ("", " NOT NULL")
    )

    assert operator(allowed).change is Change.STATE_MIGRATED
    assert "column m of sure is NOT NULL, and would be NULL for a while" in operator(refused).reason


@pytest.mark.parametrize("script", [SESSION, DISTINCT])
def test_other_windows_are_not_moved(script: str) -> None:
    refused = plan(script, script.replace("count(*) AS c", "count(*) AS c, max(n) AS m"))

    assert Change.STATE_MIGRATED not in changes(refused)
    assert refused.is_refused


def test_rows_that_mean_something_else_stay_only_if_somebody_says_so() -> None:
    new = TUMBLE.replace("sum(n) AS s", "sum(n) AS s, max(n) AS m").replace("clicks", "clicks WHERE page = '/'")
    refused = plan(TUMBLE, new)
    name = operator(refused).name

    kept = plan(TUMBLE, new, keep_state=[name])

    assert operator(refused).change is Change.REFUSED
    assert f"--keep-state {name}" in operator(refused).reason
    assert operator(kept).change is Change.STATE_MIGRATED
    assert "stay in its results" in operator(kept).shown


@pytest.mark.parametrize(
    ("script", "old", "new", "aggregates"),
    [
        (GROUP, "sum(n) AS s", "sum(n) AS s, array_agg(n) AS m", (0, 1, None)),
        (GROUP, "count(*) AS c, sum(n) AS s", "sum(n) AS s", (1,)),
        (GROUP, "count(*) AS c, sum(n) AS s", "sum(n) AS s, count(*) AS c", (1, 0)),
        (UDAF, "count(*) AS c", "max(n) AS c", (None, 1)),
        (UDAF, ", middle(n) AS s", "", (0,)),
    ],
)
def test_an_updating_aggregate_gets_its_form_key_by_key(
    script: str, old: str, new: str, aggregates: tuple[int | None, ...]
) -> None:
    changed = plan(script, script.replace(old, new))

    assert operator(changed).change is Change.STATE_MIGRATED
    (reform,) = changed.reformed.values()
    assert (reform.operator, reform.aggregates, len(reform.form)) == (0, aggregates, 2)
    assert ("existing keys show NULL" in operator(changed).shown) == (None in aggregates)
    assert (changed.kept, changed.migrated) == ({0: 0}, {})
    assert changed.loses_nothing


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("sum(n) AS s", "sum(n) AS s, middle(n) AS m", "middle(n) is a function of the user's"),
        ("GROUP BY user", "GROUP BY user HAVING max(n) > 3", "a condition reads its new"),
        ("sum(n) AS s", "coalesce(max(n), 0) AS s", "something else is made of its new"),
    ],
)
def test_an_updating_aggregate_is_refused_where_it_would_not_show_what_is_not_known(
    old: str, new: str, words: str
) -> None:
    refused = plan(GROUP, GROUP.replace(old, new))

    assert operator(refused).change is Change.REFUSED
    assert words in operator(refused).reason


def test_the_text_of_an_aggregate_is_what_it_means() -> None:
    (reform,) = plan(GROUP, GROUP.replace("AS c, sum(n)", "AS c, max(n)")).reformed.values()
    (other,) = plan(GROUP.replace("AS s", "AS t"), GROUP.replace("sum(n)", "min(n)")).reformed.values()

    assert (reform.aggregates, reform.form, reform.groups) == ((0, None), other.form, (0, 1, None))
