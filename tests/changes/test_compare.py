"""What becomes of a state under another script: row by row, as the table of changes has it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.changes.compare import compare
from engine.changes.verdict import Change, UpgradePlan
from engine.compile import Program, compile_script
from engine.errors import UnknownSubjectError
from engine.udf.declared import UdfFile

SOURCES = """
CREATE TABLE clicks (at TIMESTAMP NOT NULL, user TEXT, page TEXT, n BIGINT, WATERMARK FOR at)
WITH (connector = 'kafka', bootstrap_servers = 'k:9092', topic = 'clicks', format = 'json', type = 'source');
CREATE TABLE orders (at TIMESTAMP NOT NULL, user TEXT, price BIGINT, WATERMARK FOR at)
WITH (connector = 'kafka', bootstrap_servers = 'k:9092', topic = 'orders', format = 'json', type = 'source');
"""
KAFKA = "WITH (connector = 'kafka', bootstrap_servers = 'k:9092', topic = '{0}', format = '{1}', type = 'sink')"
SINKS = "".join(
    f"CREATE TABLE {name} {KAFKA.format(name, form)};\n"
    for name, form in (("counts", "json"), ("others", "json"), ("changes", "debezium_json"))
)
TUMBLE = (
    "INSERT INTO counts SELECT tumble('1 minute') AS w, user, count(*) AS c, sum(n) AS s FROM clicks GROUP BY 1, 2;\n"
)
HOP = TUMBLE.replace("tumble('1 minute')", "hop('20 seconds', '1 minute')")
SESSION = TUMBLE.replace("tumble('1 minute')", "session('1 minute')")
DISTINCT = TUMBLE.replace("sum(n)", "count(DISTINCT page)")
GROUP = "INSERT INTO changes SELECT user, count(*) AS c, sum(n) AS s FROM clicks GROUP BY user;\n"
JOIN = "INSERT INTO changes SELECT l.user, l.n, r.price FROM clicks l LEFT JOIN orders r ON l.user = r.user;\n"
TOP = """INSERT INTO changes SELECT user, n, place FROM (
  SELECT user, n, row_number() OVER (PARTITION BY user ORDER BY n DESC) AS place FROM clicks) WHERE place <= 3;\n"""
DEDUPE = """INSERT INTO changes SELECT user, n FROM (
  SELECT user, n, row_number() OVER (PARTITION BY user ORDER BY at DESC) AS place FROM clicks) WHERE place = 1;\n"""
UDAF = GROUP.replace("sum(n)", "middle(n)")
PLAIN = "INSERT INTO others SELECT user, n FROM clicks;\n"
WINDOWS = {"tumble": TUMBLE, "hop": HOP, "session": SESSION, "distinct": DISTINCT}
UPDATING = {"group": GROUP, "join": JOIN, "top": TOP, "dedupe": DEDUPE, "udaf": UDAF}
ALL = {**WINDOWS, **UPDATING}
FUNCTIONS = """
from engine.udf import udf, udaf
@udf
def half(x: int) -> int: return x // 2
@udaf
def middle(values: list[int]) -> int: return sorted(values)[len(values) // 2]
"""


def program(script: str, functions: str = FUNCTIONS) -> Program:
    return compile_script(SOURCES + SINKS + script, udfs=(UdfFile("functions.py", functions),))


def plan(before: str, after: str, **consent: object) -> UpgradePlan:
    return compare(program(before), program(after), **consent)


def changes(plan: UpgradePlan, subject: str = "operator") -> list[Change]:
    return [verdict.change for verdict in plan.verdicts if verdict.subject == subject]


def reason(plan: UpgradePlan, subject: str = "operator") -> str:
    return "; ".join(verdict.reason for verdict in plan.verdicts if verdict.subject == subject)


@pytest.mark.parametrize("script", ALL.values(), ids=ALL)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (" FROM ", "  -- of all of them\n  FROM /* here */ "),
        ("INSERT INTO", "INSERT  INTO"),
        ("SELECT", "select"),
    ],
)
def test_layout_and_comments_are_nothing(script: str, old: str, new: str) -> None:
    same = plan(script, script.replace(old, new))

    assert same.is_same
    assert same.loses_nothing
    assert same.kept == {operator.number: operator.number for operator in program(script).operators}


@pytest.mark.parametrize("script", ALL.values(), ids=ALL)
def test_another_branch_before_it_keeps_the_state_under_another_number(script: str) -> None:
    other = "INSERT INTO others SELECT tumble('1 hour') AS w, count(*) AS n FROM clicks GROUP BY 1;\n"
    upgrade = plan(script, other + script)

    assert upgrade.kept == {operator.number + 1: operator.number for operator in program(script).operators}
    assert changes(upgrade) == [Change.STATE_NEW, *[Change.STATE_KEPT] * len(upgrade.kept)]
    assert changes(upgrade, "sink") == sorted([Change.SAME, Change.STATE_NEW])
    assert "incomplete" in upgrade.verdicts[len(changes(upgrade, "source"))].shown
    assert upgrade.loses_nothing
    assert not upgrade.is_same


@pytest.mark.parametrize("script", ALL.values(), ids=ALL)
def test_the_order_of_inserts_is_nothing(script: str) -> None:
    upgrade = plan(PLAIN + script, script + PLAIN)

    assert {*changes(upgrade), *changes(upgrade, "source"), *changes(upgrade, "sink")} <= {
        Change.SAME, Change.STATE_KEPT
    }  # fmt: skip
    assert upgrade.loses_nothing


def test_operators_in_another_order_find_their_state() -> None:
    first, second = TUMBLE, SESSION.replace("INTO counts", "INTO others")

    assert plan(first + second, second + first).kept == {0: 1, 1: 0}


BEHIND = {
    "tumble": "c > 3", "hop": "c > 3", "session": "c > 3", "distinct": "c > 3", "group": "c > 3", "udaf": "c > 3",
    "join": "price > 3", "top": "n > 3", "dedupe": "n > 3",
}  # fmt: skip


@pytest.mark.parametrize("name", ALL)
def test_a_filter_or_projection_behind_the_state_keeps_it(name: str) -> None:
    table, query = ALL[name].removeprefix("INSERT INTO ").rstrip(";\n").split(" ", 1)
    upgrade = plan(ALL[name], f"INSERT INTO {table} SELECT *, 1 AS one FROM ({query}) WHERE {BEHIND[name]};")

    assert set(changes(upgrade)) == {Change.STATE_KEPT}
    assert changes(upgrade, "sink") == [Change.RESTART]
    assert upgrade.kept == {operator.number: operator.number for operator in program(ALL[name]).operators}


@pytest.mark.parametrize("script", ALL.values(), ids=ALL)
def test_a_filter_in_front_of_the_state_is_refused_until_somebody_lets_old_rows_stay(script: str) -> None:
    filtered = script.replace("FROM clicks", "FROM (SELECT * FROM clicks WHERE n > 3)")
    refused = plan(script, filtered)
    names = [verdict.name for verdict in refused.verdicts if verdict.subject == "operator"]
    allowed, given_up = plan(script, filtered, keep_state=names), plan(script, filtered, reset=names)

    assert changes(refused) == [Change.REFUSED] * len(names)
    assert "+ " in reason(refused)
    assert "(n > 3)" in reason(refused)
    assert refused.kept == given_up.kept == {}
    assert changes(allowed) == [Change.STATE_KEPT] * len(names)
    assert allowed.loses_nothing
    assert changes(given_up) == [Change.STATE_DROPPED] * len(names)
    assert not given_up.is_refused
    assert not given_up.loses_nothing


@pytest.mark.parametrize(
    ("script", "old", "new", "words"),
    [
        (SESSION, "sum(n) AS s", "sum(n) AS s, max(n) AS m", "+ max(n)"),
        (GROUP, "GROUP BY user", "GROUP BY user HAVING max(n) > 3", "+ max(n)"),
        (JOIN, "l.n, r", "l.n, l.page, r", "+ left clicks.page TEXT"),
        (TOP, "SELECT user, n, place", "SELECT user, n, page, place", "+ clicks.page TEXT"),
        (TOP, "<= 3", "<= 4", "the first 4"),
        (DEDUPE, "at DESC", "at", "+ ORDER BY at NULLS"),
    ],
)
def test_changed_setting_of_a_state_is_refused_unless_the_state_is_reset(
    script: str, old: str, new: str, words: str
) -> None:
    after = script.replace(old, new)
    after = after if "page, place" not in new else after.replace("SELECT user, n, row", "SELECT user, n, page, row")
    refused = plan(script, after)

    assert after != script
    assert changes(refused) == [Change.REFUSED]
    assert words in reason(refused)
    assert "--keep-state" not in reason(refused)
    assert changes(plan(script, after, reset=[refused.verdicts[len(changes(refused, "source"))].name])) == [
        Change.STATE_DROPPED
    ]


@pytest.mark.parametrize(
    ("script", "old", "new"),
    [
        (TUMBLE, "1 minute", "2 minutes"),
        (HOP, "20 seconds", "30 seconds"),
        (SESSION, "1 minute", "2 minutes"),
        (TUMBLE, "w, user,", "w, page AS user,"),
        (GROUP, "SELECT user,", "SELECT page AS user,"),
        (GROUP, "GROUP BY user", "GROUP BY user, page"),
        (JOIN, "ON l.user = r.user", "ON l.user = r.user AND l.n < r.price"),
        (JOIN, "LEFT JOIN", "FULL JOIN"),
        (TOP, "PARTITION BY user", "PARTITION BY page"),
    ],
)
def test_another_key_window_or_condition_is_refused_by_name(script: str, old: str, new: str) -> None:
    after = script.replace(old, new)
    after = (
        after.replace("GROUP BY user;", "GROUP BY page;")
        if "page AS user" in new and "INTO changes" in after
        else after
    )
    refused = plan(script, after)
    (name,) = (operator.id for operator in program(script).operators)
    given_up = plan(script, after, reset=[name])

    assert changes(refused) == [Change.STATE_NEW, Change.REFUSED]
    assert "instead" in reason(refused)
    assert changes(given_up) == [Change.STATE_NEW, Change.STATE_DROPPED]
    assert not given_up.is_refused
    assert not given_up.loses_nothing
    assert given_up.kept == {}


def test_a_state_that_nobody_wants_any_more_is_refused_until_it_is_named() -> None:
    refused = plan(TUMBLE + PLAIN, PLAIN)
    (name,) = (verdict.name for verdict in refused.verdicts if verdict.subject == "operator")

    assert changes(refused) == [Change.REFUSED]
    assert changes(plan(TUMBLE + PLAIN, PLAIN, reset=[name])) == [Change.STATE_DROPPED]
    assert changes(refused, "sink") == [Change.STATE_DROPPED, Change.SAME]


@pytest.mark.parametrize("script", UPDATING.values(), ids=UPDATING)
def test_another_time_to_live_keeps_the_state_and_is_said(script: str) -> None:
    upgrade = plan(script, f"SET updating_ttl = '2 hours';\n{script}")

    assert set(changes(upgrade)) == {Change.STATE_KEPT}
    assert "for 2 hours after its last change instead of 1 day" in reason(upgrade)
    assert changes(upgrade, "sink") == [Change.SAME]


def test_two_equal_operators_are_matched_by_their_input_rows() -> None:
    other = TUMBLE.replace("INTO counts", "INTO others").replace("FROM clicks", "FROM clicks WHERE n > 3")

    assert plan(other, TUMBLE + other).kept == {1: 0}
    assert plan(TUMBLE + other, other + TUMBLE).kept == {0: 1, 1: 0}


TWINS = f"CREATE TABLE twins {KAFKA.format('twins', 'debezium_json')};\n"
NESTED = """INSERT INTO changes SELECT c, count(*) AS n, max(user) AS least
  FROM (SELECT user, count(*) AS c FROM clicks GROUP BY user) GROUP BY c;\n"""


def test_operators_above_a_reset_operator_are_reset() -> None:
    outer, inner = (operator.id for operator in program(NESTED).operators)

    assert changes(plan(NESTED, NESTED, reset=[inner])) == [Change.REFUSED, Change.STATE_DROPPED]
    assert "what is below it does not go on" in reason(plan(NESTED, NESTED, reset=[inner]))
    assert changes(plan(NESTED, NESTED, reset=[inner, outer])) == [Change.STATE_DROPPED] * 2


def test_operator_cannot_start_empty_above_changelog_rows_with_history() -> None:
    outer, inner = (operator.id for operator in program(NESTED).operators)
    anew = plan(NESTED, NESTED, reset=[outer])

    assert changes(anew) == [Change.REFUSED, Change.SAME]
    assert f"changes of rows that it has never had, from {inner}: --reset {inner}" in reason(anew)
    # another branch has an aggregate of its own below, which begins with it
    assert changes(plan(TWINS + GROUP, TWINS + GROUP + NESTED.replace("changes", "twins"))) == [
        Change.STATE_KEPT,
        Change.STATE_NEW,
        Change.STATE_NEW,
    ]


def test_a_new_count_of_a_table_of_changes_is_refused_unless_all_of_it_is_read_again() -> None:
    table = """CREATE TABLE people (id INT PRIMARY KEY, name TEXT)
      WITH (connector = 'single_file', path = '/p', format = 'debezium_json', type = 'source');\n"""
    copy = table + "INSERT INTO changes SELECT name, id AS n FROM people;\n"
    count = f"{TWINS}INSERT INTO twins SELECT name, count(*) AS n FROM people GROUP BY name;\n"

    assert changes(plan(copy, copy + count)) == [Change.REFUSED]
    assert changes(plan(copy, copy + count, reset=["people"])) == [Change.STATE_NEW]
    assert changes(plan(PLAIN, PLAIN + table + count)) == [Change.STATE_NEW]


def test_twins_go_on_for_the_sinks_that_they_have_written() -> None:
    twin = GROUP.replace("INTO changes SELECT user, count(*) AS c,", "INTO twins SELECT count(*) AS c, user,")
    swapped = plan(TWINS + GROUP + twin, TWINS + twin + GROUP)

    assert swapped.kept == {0: 1, 1: 0}
    assert dict(swapped.sources) == {0: 1, 1: 0}


def test_an_operator_whose_source_begins_anew_would_count_twice() -> None:
    (name,) = (operator.id for operator in program(GROUP).operators)
    anew = plan(GROUP, GROUP, reset=["clicks"])

    assert changes(anew) == [Change.REFUSED]
    assert "its source clicks starts over" in reason(anew)
    assert changes(plan(GROUP, GROUP, reset=["clicks", name])) == [Change.STATE_DROPPED]
    assert changes(plan(GROUP, GROUP, reset=["clicks"], keep_state=[name])) == [Change.SAME]


HALVED = GROUP.replace("FROM clicks", "FROM clicks WHERE half(n) > 1")


@pytest.mark.parametrize(
    ("script", "old", "new", "operator", "sink"),
    [
        (HALVED, "x // 2", "x // 3", Change.REFUSED, Change.RESTART),
        (UDAF, "// 2", "// 3", Change.REFUSED, Change.RESTART),
        (GROUP.replace("sum(n)", "half(sum(n))"), "x // 2", "x // 3", Change.STATE_KEPT, Change.RESTART),
    ],
)
def test_the_code_of_functions_counts_below_a_state_and_not_above_it(
    script: str, old: str, new: str, operator: Change, sink: Change
) -> None:
    before, after = program(script), program(script, FUNCTIONS.replace(old, new))
    upgrade = compare(before, after)

    assert changes(upgrade) == [operator]
    assert changes(upgrade, "sink") == [sink]


@pytest.mark.parametrize(
    ("read", "called", "is_python"),
    [
        ("count(*)", "half(count(*))", True),
        ("max(at)", "to_char(max(at), '%Y')", True),
        ("count(*)", "count(*) + 1", False),
    ],
)
def test_python_code_behind_a_window_depends_on_the_order_of_its_state(read: str, called: str, is_python: bool) -> None:
    # Spark would keep the sum before what such a function reads
    plain, with_call = TUMBLE.replace("count(*)", read), TUMBLE.replace("count(*)", called)

    assert changes(plan(plain, with_call)) == [Change.REFUSED if is_python else Change.STATE_KEPT]
    assert changes(plan(with_call, with_call.replace(", sum(n) AS s", ""))) == [
        Change.REFUSED if is_python else Change.STATE_MIGRATED
    ]


def test_single_aggregate_has_no_order_and_code_behind_a_window_may_change() -> None:
    one, two = (
        script.replace("count(*)", "half(count(*))") for script in (TUMBLE.replace(", sum(n) AS s", ""), TUMBLE)
    )
    other = FUNCTIONS.replace("x // 2", "x // 3")

    assert changes(plan(TUMBLE.replace(", sum(n) AS s", ""), one)) == [Change.STATE_KEPT]
    assert changes(compare(program(two), program(two, other))) == [Change.STATE_KEPT]


def test_old_rows_may_stay_when_the_code_below_has_changed() -> None:
    before, after = program(HALVED), program(HALVED, FUNCTIONS.replace("x // 2", "x // 3"))
    (name,) = (operator.id for operator in before.operators)

    assert "the code of half has changed" in reason(compare(before, after))
    assert changes(compare(before, after, keep_state=[name])) == [Change.STATE_KEPT]


def test_a_name_that_is_in_neither_script_is_refused() -> None:
    with pytest.raises(UnknownSubjectError, match="tumble-0000: neither script"):
        plan(TUMBLE, TUMBLE, keep_state=["tumble-0000"])
    with pytest.raises(UnknownSubjectError, match="--reset nobody"):
        plan(TUMBLE, TUMBLE, reset=["nobody"])


def test_another_width_is_said() -> None:
    upgrade = plan(TUMBLE, TUMBLE, parallelism=(2, 8))

    assert changes(upgrade, "pipeline") == [Change.RESCALE]
    assert changes(upgrade) == [Change.SAME]
    assert plan(TUMBLE, TUMBLE, parallelism=(2, 2)).is_same


names = st.from_regex(r"[a-z]{1,6}_", fullmatch=True)


@settings(deadline=None, max_examples=20)
@given(st.lists(names, min_size=4, max_size=4, unique=True), st.booleans())
def test_a_script_with_other_aliases_and_views_keeps_everything(aliases: list[str], swapped: bool) -> None:
    view, user, number, count = aliases
    views = [
        f"CREATE VIEW {view} AS SELECT at, user AS {user}, n AS {number} FROM clicks;",
        f"CREATE VIEW {view}2 AS SELECT user AS {user}, price FROM orders;",
    ]
    renamed = "\n".join(reversed(views) if swapped else views) + (
        f"INSERT INTO counts SELECT tumble('1 minute') AS w, {user} AS user, count(*) AS {count}, sum({number}) AS s"
        f" FROM {view} GROUP BY 1, 2;"
        f"INSERT INTO changes SELECT l.{user}, l.{number}, r.price FROM {view} l"
        f" LEFT JOIN {view}2 AS r ON l.{user} = r.{user};"
    )
    upgrade = compare(program(TUMBLE + JOIN), program(renamed))

    assert set(changes(upgrade)) <= {Change.STATE_KEPT, Change.SAME}
    assert upgrade.kept == {0: 0, 1: 1}
    assert set(changes(upgrade, "source")) == {Change.SAME}
