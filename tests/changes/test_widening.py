"""Scripts whose numbers have become wider: what goes on, how, and what is refused since it would not be the same."""

from __future__ import annotations

import pytest

from engine.changes.compare import compare
from engine.changes.verdict import Change, UpgradePlan
from engine.compile import Program, compile_script
from engine.udf.declared import UdfFile
from tests.changes.test_compare import FUNCTIONS, GROUP, HOP, SESSION, SINKS, SOURCES, TUMBLE, changes, reason

NUMBERS = "INSERT INTO counts SELECT tumble('1 minute') AS w, {key}, {call} AS s FROM clicks{where} GROUP BY 1, 2;\n"
GROUPS = "INSERT INTO changes SELECT {key} AS k, {call} AS s FROM clicks{where} GROUP BY 1;\n"

RANKED = """INSERT INTO changes SELECT user AS k, n AS s FROM (
    SELECT user, n, row_number() OVER (PARTITION BY user ORDER BY n DESC) AS place FROM clicks) WHERE place <= 3;
"""
FIRSTS = """INSERT INTO changes SELECT user AS k, n AS s FROM (
    SELECT *, n % 6 AS g, row_number() OVER (PARTITION BY n % 6 ORDER BY at) AS place FROM clicks WHERE n % 3 <> 0)
    WHERE place = 1;
"""
JOINED = """CREATE TABLE pairs (n BIGINT, m BIGINT) WITH (connector = 'blackhole');
    INSERT INTO pairs SELECT a.n, b.n AS m FROM clicks a JOIN clicks b ON a.n = b.n AND a.user = b.user;
"""


def program(script: str, kind: str) -> Program:
    tables = SOURCES.replace("n BIGINT", f"n {kind}") + SINKS
    return compile_script(tables + script, udfs=(UdfFile("functions.py", FUNCTIONS),))


def widened(script: str, old: str = "INT", new: str = "BIGINT", after: str | None = None) -> UpgradePlan:
    return compare(program(script, old), program(after or script, new))


@pytest.mark.parametrize("script", [TUMBLE, HOP, GROUP])
def test_sums_of_wider_numbers_go_on(script: str) -> None:
    plan = widened(script)

    assert changes(plan) == [Change.STATE_MIGRATED]
    assert "sum(CAST(n AS BIGINT)) becomes sum(n)" in reason(plan)
    assert "column n is BIGINT instead of INT, which is wider" in reason(plan, "source")
    assert plan.loses_nothing


@pytest.mark.parametrize(
    ("old", "new", "call", "origins"),
    [
        ("INT", "BIGINT", "min(n)", ("0",)),
        ("SMALLINT", "INT", "first_value(n)", ("0", "1")),
        ("INT UNSIGNED", "BIGINT", "bit_or(n)", ("0",)),
        ("FLOAT", "DOUBLE", "avg(n)", ("0", "1")),
        ("DECIMAL(10, 2)", "DECIMAL(12, 2)", "sum(n)", ("0", "1")),
        ("DECIMAL(6, 2)", "DECIMAL(8, 2)", "sum(n)", ("0",)),
        ("DECIMAL(6, 2)", "DECIMAL(20, 2)", "sum(n)", ("decimal:0:2", "absent:0")),
        ("DECIMAL(6, 2)", "DECIMAL(11, 2)", "avg(n)", ("0", "1")),
        ("INT", "BIGINT", "sum(n * 2 + 1) FILTER (WHERE n > 3)", ("0",)),
        ("INT", "BIGINT", "max(CASE WHEN n > 3 THEN n ELSE 0 END)", ("0",)),
    ],
)
def test_window_state_is_cast_column_by_column(old: str, new: str, call: str, origins: tuple[str, ...]) -> None:
    plan = widened(NUMBERS.format(key="user", call=call, where=" WHERE n IS NOT NULL"), old, new)

    assert changes(plan) == [Change.STATE_MIGRATED]
    (migration,) = plan.migrated.values()
    assert (migration.origins, migration.has_wider_keys) == (origins, False)


@pytest.mark.parametrize(
    ("old", "new"), [("CAST(n AS SMALLINT)", "n"), ("CAST(n AS SMALLINT)", "CAST(n AS BIGINT)"), ("n", "n")]
)
def test_keys_of_windows_become_wider(old: str, new: str) -> None:
    before, after = (NUMBERS.format(key=f"{key} AS k", call="count(*)", where="") for key in (old, new))

    plan = widened(before, after=after)

    (migration,) = plan.migrated.values()
    assert migration.has_wider_keys
    assert changes(plan) == [Change.STATE_MIGRATED]


def test_a_condition_over_wider_numbers_lets_the_same_rows_pass() -> None:
    plan = widened(NUMBERS.format(key="user", call="count(*)", where=" WHERE n > 5 AND n + 1 < 9"))

    assert changes(plan) == [Change.STATE_KEPT]
    assert plan.loses_nothing


def test_column_that_becomes_nullable_changes_nothing_but_not_the_reverse() -> None:
    allowed, refused = widened(TUMBLE, "BIGINT NOT NULL", "BIGINT"), widened(TUMBLE, "BIGINT", "BIGINT NOT NULL")

    assert (changes(allowed), changes(allowed, "source")) == ([Change.STATE_KEPT], [Change.RESTART])
    assert changes(refused, "source") == [Change.REFUSED]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("BIGINT", "INT"),
        ("DECIMAL(12, 2)", "DECIMAL(10, 2)"),
        ("DECIMAL(12, 2)", "DECIMAL(14, 3)"),
        ("DOUBLE", "FLOAT"),
        ("BIGINT", "BIGINT UNSIGNED"),
        ("INT", "DOUBLE"),
        ("INT", "TEXT"),
    ],
)
def test_types_that_are_not_wider_are_refused_of_a_source(old: str, new: str) -> None:
    plan = widened(NUMBERS.format(key="user", call="count(n)", where=""), old, new)

    assert changes(plan, "source") == [Change.REFUSED]
    assert f"column n is {new} instead of {old}" in reason(plan, "source")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("min(CAST(n AS BIGINT))", "min(CAST(n AS SMALLINT))"),
        ("sum(n)", "sum(CAST(n AS SMALLINT))"),
        ("min(TRY_CAST(n AS SMALLINT))", "min(TRY_CAST(n AS INT))"),
        ("max(n << 4)", "max(CAST(n AS BIGINT) << 4)"),
        ("min(CAST(n AS FLOAT))", "min(CAST(n AS DOUBLE))"),
    ],
)
def test_a_cast_that_is_not_only_wider_is_another_aggregate(old: str, new: str) -> None:
    before, after = (NUMBERS.format(key="user", call=call, where="") for call in (old, new))

    plan = widened(before, "INT", "INT", after)

    assert "is NULL" not in reason(plan)
    assert [place for migration in plan.migrated.values() for place in migration.aggregates] == [None]


@pytest.mark.parametrize(
    ("script", "kinds", "words"),
    [
        (SESSION.replace("sum(n)", "count(DISTINCT n)"), ("INT", "BIGINT"), "session"),
        (GROUPS.format(key="user", call="count(DISTINCT n)", where=""), ("FLOAT", "DOUBLE"), "keeps every value"),
        (RANKED, ("FLOAT", "DOUBLE"), "keeps has changed"),
        (NUMBERS.format(key="user", call="count(DISTINCT n)", where=""), ("INT", "BIGINT"), "cannot be moved yet"),
        (NUMBERS.format(key="n", call="count(*)", where=""), ("FLOAT", "DOUBLE"), "n FLOAT"),
        (NUMBERS.format(key="user", call="avg(n)", where=""), ("DECIMAL(6, 2)", "DECIMAL(12, 2)"), "a mean of so wide"),
    ],
)
def test_operator_that_cannot_be_widened_is_refused_by_name(script: str, kinds: tuple[str, str], words: str) -> None:
    plan = widened(script, *kinds)

    assert changes(plan) == [Change.REFUSED]
    assert words in reason(plan)


def test_an_updating_aggregate_knows_what_its_aggregates_were_before() -> None:
    plan = widened(GROUP)

    (reform,) = plan.reformed.values()
    (text,) = reform.formerly
    assert reform.form is not None
    assert reform.formerly[text] == reform.form[1]
    assert text not in reform.form


@pytest.mark.parametrize(
    ("script", "kinds", "widened_types"),
    [
        (GROUPS.format(key="n", call="count(*)", where=""), ("INT", "BIGINT"), (("i32",), ())),
        (GROUPS.format(key="user", call="count(DISTINCT n)", where=""), ("INT", "BIGINT"), (("",), ("i32",))),
        (GROUPS.format(key="user", call="middle(n)", where=""), ("INT", "BIGINT"), (("",), ("",))),
        (GROUPS.format(key="n", call="max(n)", where=""), ("DECIMAL(6, 2)", "DECIMAL(20, 2)"), (("d6_2",), ("d6_2",))),
        (RANKED, ("SMALLINT", "INT"), (("", "i16"), ("i16",), ("",))),
        (FIRSTS, ("INT", "BIGINT"), (("", "", "i32"), ("",), ("",))),
        (JOINED, ("INT", "BIGINT"), (("", "i32"), ("", "i32"), ("i32", ""), ("i32", ""))),
    ],
)
def test_state_keyed_by_hashes_keeps_its_original_types(
    script: str, kinds: tuple[str, str], widened_types: tuple[tuple[str, ...], ...]
) -> None:
    plan = widened(script, *kinds)

    assert changes(plan) == [Change.STATE_MIGRATED]
    (reform,) = plan.reformed.values()
    assert sorted(map(sorted, reform.widened)) == sorted(map(sorted, widened_types))
    assert plan.loses_nothing


def test_a_join_whose_equalities_stand_in_another_order_is_refused() -> None:
    """It knows what rows meet by a hash of them in their order: with the same state it would find nothing."""
    plan = widened(
        JOINED, "INT", "INT", JOINED.replace("a.n = b.n AND a.user = b.user", "a.user = b.user AND a.n = b.n")
    )

    assert changes(plan) == [Change.REFUSED]
    assert "in this order" in reason(plan)


@pytest.mark.parametrize("script", [FIRSTS, RANKED, JOINED])
def test_a_view_more_or_less_hides_no_width(script: str) -> None:
    through_view = "CREATE VIEW seen AS SELECT * FROM clicks;\n" + script.replace("FROM clicks", "FROM seen")

    for before, after in ((script, through_view), (through_view, script)):
        assert changes(widened(before, after=after)) == [Change.STATE_MIGRATED]
        assert Change.REFUSED in changes(widened(before, "BIGINT", "INT", after))


TYPED = NUMBERS.format(key="user", call="count(*)", where=" WHERE {}")
SAYS_WIDTHS = {
    "an aggregate of a session": SESSION.replace("sum(n)", "min(arrow_typeof(n))"),
    "a condition": TYPED.format("arrow_typeof(n) = 'Int32'"),
    "a comparison of two": TYPED.format("(n << 20) > n"),
    "a key": NUMBERS.format(key="arrow_typeof(n)", call="count(*)", where=""),
    "a key that changes": GROUPS.format(key="arrow_typeof(n)", call="count(*)", where=""),
}


@pytest.mark.parametrize("script", SAYS_WIDTHS.values(), ids=SAYS_WIDTHS)
def test_equal_text_with_another_meaning_for_wider_types_is_not_taken_over(script: str) -> None:
    assert changes(widened(script)) == [Change.REFUSED]
    assert changes(widened(script, "INT", "INT")) == [Change.SAME]


@pytest.mark.parametrize("script", [NUMBERS, GROUPS])
def test_an_aggregate_that_is_spelled_the_same_and_is_another_one_of_wider_numbers_is_new(script: str) -> None:
    plan = widened(script.format(key="user", call="min(arrow_typeof(n))", where=""))

    assert changes(plan) == [Change.STATE_MIGRATED]
    assert "(+ min(arrow_typeof(n)), - min(arrow_typeof(n)))" in reason(plan)
    assert changes(plan, "sink") == [Change.RESTART]


def test_two_equal_operators_are_widened_by_their_own_sinks() -> None:
    branch = "INSERT INTO {sink} SELECT {calls} FROM clicks GROUP BY hop('5 minutes', '10 minutes'), user;\n"
    tables = "".join(f"CREATE TABLE {sink} WITH (connector = 'blackhole');\n" for sink in ("one", "other"))
    extremes = {"one": "max(n) AS hi, count(*) AS c", "other": "count(*) AS c, min(n) AS lo, max(n) AS hi"}
    fewer = extremes | {"other": "min(n) AS lo, count(*) AS c"}
    before, after = (
        tables + "".join(branch.format(sink=sink, calls=calls) for sink, calls in form.items())
        for form in (extremes, fewer)
    )

    plan = widened(before, after=after)

    assert changes(plan) == [Change.STATE_MIGRATED, Change.STATE_MIGRATED]
    told = [verdict.shown for verdict in plan.verdicts if verdict.subject == "operator"]
    assert "user TEXT, min(n), count(*) go on in windows that are open" in told
    assert not any("show NULL" in text for text in told)


def test_a_copy_for_another_sink_goes_on_with_wider_numbers_that_the_first_one_keeps_no_more() -> None:
    branch = "INSERT INTO {sink} SELECT {calls} FROM clicks GROUP BY hop('5 minutes', '10 minutes'), user;\n"
    tables = "".join(f"CREATE TABLE {sink} WITH (connector = 'blackhole');\n" for sink in ("one", "other"))
    both = "min(n) AS lo, count(*) AS c, max(n) AS hi"
    before = tables + "".join(branch.format(sink=sink, calls=both) for sink in ("one", "other"))
    after = tables + branch.format(sink="one", calls="count(*) AS c, max(n) AS hi")
    after += branch.format(sink="other", calls="min(n) AS lo, count(*) AS c")

    plan = widened(before, after=after)

    told = [verdict.shown for verdict in plan.verdicts if verdict.subject == "operator"]
    assert told == [
        f"user TEXT, {kept} go on in windows that are open" for kept in ("count(*), max(n)", "min(n), count(*)")
    ]
