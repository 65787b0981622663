"""What becomes of sources and sinks, which are known by their names."""

from __future__ import annotations

import pytest

from engine.changes.compare import compare
from engine.changes.show import show
from engine.changes.verdict import Change, UpgradePlan
from engine.compile import Program, compile_script
from engine.plan.explain import show as show_expr
from engine.udf.declared import name_files

SOURCE = """
CREATE TABLE clicks (at TIMESTAMP NOT NULL, user TEXT, n BIGINT, WATERMARK FOR at AS at - INTERVAL '1 minute')
WITH (connector = 'kafka', bootstrap_servers = 'k:9092', topic = 'clicks', format = 'json', type = 'source');
"""
MORE = SOURCE.replace("clicks", "orders")
SINK = """
CREATE TABLE out
WITH (connector = 'kafka', bootstrap_servers = 'k:9092', topic = 'out', format = 'json', type = 'sink');
"""
LAKE = "CREATE TABLE out WITH (connector = 'delta', path = '/lake');"
FILES = "CREATE TABLE out WITH (connector = 'filesystem', path = '/files', format = 'json', type = 'sink');"
FILE = "CREATE TABLE out WITH (connector = 'single_file', path = '/out.json', format = 'json', type = 'sink');"
INSERT = "INSERT INTO out SELECT user, n FROM clicks;"
WINDOW = "INSERT INTO out SELECT tumble('1 minute') AS w, count(*) AS n FROM clicks GROUP BY 1;"
SCRIPT = SOURCE + SINK + INSERT


def program(script: str) -> Program:
    return compile_script(script)


def verdicts(plan: UpgradePlan, subject: str) -> dict[str, Change]:
    return {verdict.name: verdict.change for verdict in plan.verdicts if verdict.subject == subject}


def reasons(plan: UpgradePlan) -> str:
    return "; ".join(verdict.reason for verdict in plan.verdicts)


def plan(before: str, after: str, **consent: object) -> UpgradePlan:
    return compare(program(before), program(after), **consent)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("'k:9092', topic = 'clicks'", "'other:9092', topic = 'clicks'"),
        ("type = 'source'", "type = 'source', source.max_rows_per_epoch = 5"),
        ("type = 'source'", "type = 'source', bad_data = 'drop'"),
    ],
)
def test_brokers_and_rates_of_a_source_change_with_a_restart(old: str, new: str) -> None:
    assert old in SCRIPT

    changed = plan(SCRIPT, SCRIPT.replace(old, new))

    assert verdicts(changed, "source") == {"clicks": Change.RESTART}
    assert changed.loses_nothing


def test_a_source_of_which_more_is_read_is_read_on() -> None:
    wider = SCRIPT.replace("n BIGINT,", "n BIGINT, page TEXT,").replace("SELECT user", "SELECT page AS user")
    changed = plan(SCRIPT, wider)

    assert verdicts(changed, "source") == {"clicks": Change.RESTART}
    assert "it reads page as well" in reasons(changed)
    assert verdicts(plan(SCRIPT, SCRIPT.replace("n BIGINT,", "n BIGINT, page TEXT,")), "source") == {
        "clicks": Change.SAME
    }


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("topic = 'clicks'", "topic = 'others'", "its options topic differ"),
        ("type = 'source'", "type = 'source', json.confluent_schema_registry = true", "its format differs"),
        ("n BIGINT", "n INT", "column n is INT instead of BIGINT"),
        ("user TEXT", "user TEXT NOT NULL", "column user is TEXT NOT NULL instead of TEXT"),
        ("INTERVAL '1 minute')", "INTERVAL '2 minutes')", "its watermark differs"),
        (
            "WATERMARK FOR at AS at",
            "born TIMESTAMP NOT NULL, WATERMARK FOR born AS born",
            "the event time of its rows differs",
        ),
    ],
)
def test_a_source_with_other_rows_is_refused_until_it_is_to_begin_anew(old: str, new: str, words: str) -> None:
    after = SCRIPT.replace(old, new)
    refused = plan(SCRIPT, after)
    anew = plan(SCRIPT, after, reset=["clicks"])

    assert verdicts(refused, "source") == {"clicks": Change.REFUSED}
    assert words in reasons(refused)
    assert verdicts(anew, "source") == {"clicks": Change.STATE_DROPPED}
    assert anew.dropped_sources == {"clicks"}
    assert not anew.loses_nothing


def test_a_new_source_begins_where_its_options_say() -> None:
    added = plan(SCRIPT, SCRIPT + MORE + INSERT.replace("clicks", "orders"))

    assert verdicts(added, "source") == {"clicks": Change.SAME, "orders": Change.STATE_NEW}
    assert added.loses_nothing


def test_a_new_source_beside_windows_is_refused() -> None:
    before = SOURCE + SINK + WINDOW
    added = plan(before, before + MORE + FILE.replace("out ", "more ") + "INSERT INTO more SELECT user FROM orders;")

    assert verdicts(added, "source") == {"clicks": Change.SAME, "orders": Change.REFUSED}
    assert "older than the watermark" in reasons(added)


def test_a_source_below_windows_does_not_begin_anew() -> None:
    before = SOURCE + SINK + WINDOW
    other = before.replace("topic = 'clicks'", "topic = 'others'")

    assert verdicts(plan(before, other), "source") == {"clicks": Change.REFUSED}
    assert "--reset" not in reasons(plan(before, other))
    assert verdicts(plan(before, other, reset=["clicks"]), "source") == {"clicks": Change.REFUSED}
    assert "older than the watermark" in reasons(plan(before, other, reset=["clicks"]))


def test_a_source_that_is_gone_is_refused_until_it_is_named() -> None:
    before = SCRIPT + MORE + INSERT.replace("clicks", "orders")

    assert verdicts(plan(before, SCRIPT), "source") == {"clicks": Change.SAME, "orders": Change.REFUSED}
    dropped = plan(before, SCRIPT, reset=["orders"])
    assert verdicts(dropped, "source") == {"clicks": Change.SAME, "orders": Change.STATE_DROPPED}
    assert dropped.dropped_sources == {"orders"}
    assert not dropped.is_refused


@pytest.mark.parametrize(
    ("sink", "change"),
    [
        (SINK, Change.RESTART),
        (FILE, Change.RESTART),
        (FILES, Change.REFUSED),
        (LAKE, Change.REFUSED),
    ],
)
@pytest.mark.parametrize("columns", ["user, at AS m", "user", "user, CAST(n AS TEXT) AS n"])
def test_columns_of_a_sink_change_where_each_record_stands_alone(sink: str, change: Change, columns: str) -> None:
    wider = plan(SOURCE + sink + INSERT, SOURCE + sink + INSERT.replace("user, n", columns))

    assert verdicts(wider, "sink") == {"out": change}
    assert "- n BIGINT" in reasons(wider)


@pytest.mark.parametrize(
    ("sink", "words"),
    [
        (LAKE, "the table gets them in a version of their own"),
        (FILES, "lines from the change on have them"),
        (FILES.replace("json", "parquet"), "files from the change on have them"),
    ],
)
def test_a_table_or_a_directory_gets_columns_where_null_may_stand(sink: str, words: str) -> None:
    script = SOURCE.replace("n BIGINT", "n BIGINT, m BIGINT") + sink + INSERT
    wider = plan(script, script.replace("user, n", "m, user, n"))

    (verdict,) = (verdict for verdict in wider.verdicts if verdict.subject == "sink")
    assert verdict.change is Change.RESTART
    assert words in verdict.shown
    assert "+ m BIGINT" in verdict.reason
    refused = plan(script, script.replace("user, n ", "n, user, m "))
    assert verdicts(refused, "sink") == {"out": Change.REFUSED}


def test_records_of_a_registry_do_not_stand_alone() -> None:
    registry = SINK.replace(
        "'json', type", "'json', json.confluent_schema_registry = true, schema_registry.endpoint = 'http://r:1', type"
    )
    wider = plan(SOURCE + registry + INSERT, SOURCE + registry + INSERT.replace("user, n", "user, n, at"))

    assert verdicts(wider, "sink") == {"out": Change.REFUSED}


@pytest.mark.parametrize("sink", [SINK, FILES, LAKE])
def test_rows_that_are_computed_otherwise_restart_a_sink_of_any_kind(sink: str) -> None:
    other = plan(SOURCE + sink + INSERT, SOURCE + sink + INSERT.replace("FROM clicks", "FROM clicks WHERE n > 1"))

    assert verdicts(other, "sink") == {"out": Change.RESTART}
    assert other.loses_nothing


@pytest.mark.parametrize(
    ("old", "new"),
    [(SINK, SINK.replace("'out', format", "'elsewhere', format")), (SINK, FILE), (FILE, FILE.replace("/out", "/o"))],
)
def test_another_place_of_a_sink_is_refused_until_it_is_to_begin_anew(old: str, new: str) -> None:
    before, after = SOURCE + old + INSERT, SOURCE + new + INSERT

    assert verdicts(plan(before, after), "sink") == {"out": Change.REFUSED}
    assert verdicts(plan(before, after, reset=["out"]), "sink") == {"out": Change.STATE_DROPPED}


def test_another_login_of_a_sink_is_the_same_place() -> None:
    login = "'out', auth.type = 'sasl', auth.username = 'u', auth.password = 'p', format"
    changed = plan(SCRIPT, SCRIPT.replace("'out', format", login))

    assert verdicts(changed, "sink") == {"out": Change.RESTART}
    assert changed.loses_nothing


@pytest.mark.parametrize(("sink", "change"), [(SINK, Change.STATE_DROPPED), (LAKE, Change.REFUSED)])
def test_a_sink_that_is_gone_loses_what_only_it_knows(sink: str, change: Change) -> None:
    other = "CREATE TABLE rest WITH (connector = 'blackhole', type = 'sink'); INSERT INTO rest SELECT n FROM clicks;"
    gone = plan(SOURCE + sink + INSERT + other, SOURCE + other)

    assert verdicts(gone, "sink") == {"out": change, "rest": Change.SAME}
    assert gone.loses_nothing == (change is Change.STATE_DROPPED)


CHANGES = SINK.replace("'json'", "'debezium_json'")
GROUPS = "INSERT INTO out SELECT user, count(*) AS c, sum(n) AS n FROM clicks GROUP BY user"


@pytest.mark.parametrize(
    ("old", "new", "reason", "shown"),
    [
        (
            "",
            " HAVING count(*) > 3",
            "(+ (count(*) > 3))",
            "rows in it for which (count(*) > 3) is not true are taken back",
        ),
        (" HAVING count(*) > 3", "", "(- (count(*) > 3))", "rows that (count(*) > 3) has kept out come in the first"),
        (
            " HAVING count(*) > 3",
            " HAVING sum(n) < 9 AND count(*) > 4",
            "(+ (count(*) > 4), + (sum(n) < 9), - (count(*) > 3))",
            "for which (count(*) > 4) AND (sum(n) < 9) is not true are taken back",
        ),
    ],
)
def test_an_aggregate_tells_of_all_its_rows_where_another_condition_is_behind_it(
    old: str, new: str, reason: str, shown: str
) -> None:
    having = plan(SOURCE + CHANGES + GROUPS + old, SOURCE + CHANGES + GROUPS + new)

    (sink,) = (verdict for verdict in having.verdicts if verdict.subject == "sink")
    assert (sink.change, sink.loses, having.loses_nothing) == (Change.RESTART, False, True)
    assert sink.reason.endswith(f"which of its rows come out has changed {reason}")
    assert shown in sink.shown
    assert having.retold.keys() == {0}


def test_old_condition_is_expressed_in_the_columns_of_the_new_aggregate() -> None:
    old = f"{SOURCE}{CHANGES}{GROUPS} HAVING sum(n) > 3"
    new = old.replace("count(*) AS c, sum(n) AS n", "sum(n) AS n, count(*) AS c").replace("sum(n) > 3", "count(*) > 3")

    (passed,) = plan(old, new).retold.values()

    assert show_expr(passed) == "(c1 > 3)"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("HAVING sum(n) > 3", "HAVING min(n) > 3"),
        ("HAVING sum(n) > 3", "HAVING length(user) > 3"),
    ],
)
def test_rows_that_may_stay_though_they_should_not_be_there_have_to_be_accepted(old: str, new: str) -> None:
    columns = "user, count(*) AS c, min(n) AS m" if "sum" in old and "min" in new else "user, count(*) AS c"
    groups = f"INSERT INTO out SELECT {columns} FROM clicks GROUP BY user "
    having = plan(SOURCE + CHANGES + groups + old, SOURCE + CHANGES + groups + new)

    (sink,) = (verdict for verdict in having.verdicts if verdict.subject == "sink")
    assert (sink.change, sink.loses, having.loses_nothing) == (Change.RESTART, True, False)
    assert "is not true stay until a row of their key passes again" in sink.shown
    assert "rows may stay in out that should not be there" in show(having)
    assert not having.retold


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            f"{CHANGES}{GROUPS} HAVING count(*) > 3 AND sum(n) > 2",
            f"{CHANGES}{GROUPS} HAVING sum(n) > 2 AND count(*) > 3",
        ),
        (
            f"{CHANGES}{GROUPS} HAVING count(*) > 3",
            f"{CHANGES}{GROUPS.replace('sum(n)', 'sum(n) + 1')} HAVING count(*) > 3",
        ),
        (SINK + WINDOW, f"{SINK}{WINDOW[:-1]} HAVING count(*) > 3;"),
    ],
)
def test_other_columns_and_conditions_behind_windows_leave_no_row_that_should_not_be_there(
    before: str, after: str
) -> None:
    changed = plan(SOURCE + before, SOURCE + after)

    assert changed.loses_nothing
    assert "which of its rows come out" not in reasons(changed)


def test_a_condition_over_wider_numbers_is_the_same() -> None:
    old = f"{SOURCE}{CHANGES}{GROUPS} HAVING sum(n) > 3"

    wider = plan(old.replace("n BIGINT", "n INT"), old)

    assert wider.loses_nothing
    assert "which of its rows come out" not in reasons(wider)


@pytest.mark.parametrize("test", ["n > 3", "n <= 3", "user = 'a'", "n IS DISTINCT FROM 4", "n > 3 OR user <> 'b'"])
def test_a_condition_whose_sides_have_changed_places_is_the_same_on_both_sides_of_a_state(test: str) -> None:
    turned = {"n > 3": "3 < n", "n <= 3": "3 >= n", "user = 'a'": "'a' = user", "n IS DISTINCT FROM 4":
              "4 IS DISTINCT FROM n", "n > 3 OR user <> 'b'": "3 < n OR 'b' <> user"}[test]  # fmt: skip
    script = f"{SOURCE}{CHANGES}{GROUPS} HAVING {test.replace('n ', 'sum(n) ')}".replace(
        "FROM clicks GROUP", f"FROM clicks WHERE {test} GROUP"
    )
    other = f"{SOURCE}{CHANGES}{GROUPS} HAVING {turned.replace(' n', ' sum(n)')}".replace(
        "FROM clicks GROUP", f"FROM clicks WHERE {turned} GROUP"
    )

    same = plan(script, other)

    assert not same.is_refused
    assert set(reasons(same)) == {";", " "}
    assert verdicts(same, "sink") == {"out": Change.SAME}
    assert [operator.id for operator in program(script).operators] == [
        operator.id for operator in program(other).operators
    ]


CLICKS_BY_USER = "SELECT user, count(*) AS c FROM clicks GROUP BY user"
ORDERS_BY_USER = CLICKS_BY_USER.replace("clicks", "orders")


@pytest.mark.parametrize("joint", ["INSERT INTO out {} UNION ALL {}", "INSERT INTO out {}; INSERT INTO out {}"])
def test_each_of_several_places_that_a_table_has_rows_of_has_its_own_conditions(joint: str) -> None:
    before = SOURCE + MORE + CHANGES + joint.format(CLICKS_BY_USER, ORDERS_BY_USER)
    after = SOURCE + MORE + CHANGES + joint.format(ORDERS_BY_USER, f"{CLICKS_BY_USER} HAVING count(*) > 3")

    changed = plan(before, after)

    (sink,) = (verdict for verdict in changed.verdicts if verdict.subject == "sink")
    (operator,) = (operator.id for operator in program(after).operators if operator.sources == ("clicks",))
    name = f"GROUP by user of clicks ({operator})"
    assert sink.reason.endswith(f"which of its rows come out has changed (+ (count(*) > 3)) from {name}")
    assert (
        f"rows in it from {name} for which (count(*) > 3) is not true are taken back in the first epoch" in sink.shown
    )
    assert not sink.loses


def test_a_condition_above_all_of_several_places_is_one_of_each() -> None:
    before = f"{SOURCE}{MORE}{CHANGES}INSERT INTO out SELECT * FROM ({CLICKS_BY_USER} UNION ALL {ORDERS_BY_USER})"

    changed = plan(before, f"{before} WHERE c > 3")

    assert reasons(changed).count("(+ (c > 3)) from GROUP by user of ") == 2
    assert not changed.loses_nothing


def test_other_rows_in_front_of_one_of_several_places_leave_nothing_behind() -> None:
    before = f"{SOURCE}{MORE}{CHANGES}INSERT INTO out {CLICKS_BY_USER} UNION ALL {ORDERS_BY_USER}"
    after = before.replace("FROM clicks", "FROM clicks WHERE n > 3")
    (operator,) = (operator.id for operator in program(before).operators if operator.sources == ("clicks",))

    changed = plan(before, after, keep_state=[operator])

    assert changed.loses_nothing
    assert "which of its rows come out" not in reasons(changed)


def test_rows_that_are_only_added_beside_rows_that_change_leave_nothing_behind() -> None:
    before = f"{SOURCE}{MORE}{CHANGES}INSERT INTO out {CLICKS_BY_USER} UNION ALL SELECT user, n AS c FROM orders"

    assert plan(before, f"{before} WHERE n > 3").loses_nothing


def test_a_condition_on_changes_that_a_table_brings_leaves_rows_as_well() -> None:
    columns = "user TEXT PRIMARY KEY, n BIGINT)"
    source = f"CREATE TABLE clicks ({columns}{SOURCE[SOURCE.index(chr(10) + 'WITH') :]}".replace(
        "'json'", "'debezium_json'"
    )
    through = "INSERT INTO out SELECT user, n FROM clicks"

    assert not plan(source + CHANGES + through, f"{source}{CHANGES}{through} WHERE n > 3").loses_nothing


def test_other_code_of_a_function_in_a_condition_leaves_rows_as_well() -> None:
    codes = [
        f"from engine.udf import udf\n\n@udf\ndef passes(x: int) -> bool:\n    return x > {least}\n" for least in (1, 2)
    ]
    script = f"{SOURCE}{CHANGES}{GROUPS} HAVING passes(count(*))"

    before, after = (compile_script(script, udfs=name_files([code])) for code in codes)

    assert not compare(before, after).loses_nothing


def test_lookup_tables_may_move() -> None:
    table = (
        "CREATE TABLE names (user TEXT METADATA FROM 'key' PRIMARY KEY, name TEXT) "
        "WITH (connector = 'redis', address = 'redis://{}', format = 'json', type = 'lookup');"
    )
    query = "INSERT INTO out SELECT name, n FROM clicks JOIN names ON clicks.user = names.user;"
    moved = plan(SOURCE + SINK + table.format("a:1") + query, SOURCE + SINK + table.format("b:1") + query)

    assert verdicts(moved, "lookup") == {"names": Change.RESTART}
    assert moved.loses_nothing
