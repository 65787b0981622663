"""SQL of other engines that is refused: by its own name, and with a way to write it."""

from __future__ import annotations

import pytest

from engine.cli.main import main
from engine.compile import compile_script
from engine.errors import ScriptRefused

pytestmark = pytest.mark.unit

TABLES = """
CREATE TABLE s (k TEXT, n BIGINT, at TIMESTAMP, WATERMARK FOR at) WITH (
    connector = 'single_file', path = '/tmp/in', format = 'json', type = 'source');
"""
SINGLE_FILE = "connector = 'single_file', path = '/tmp/in', type = 'source'"


def refusals(script: str) -> list[tuple[str, str | None]]:
    """The complaints about a script behind the tables, each with its hint."""
    with pytest.raises(ScriptRefused) as refused:
        compile_script(TABLES + script)
    return [(complaint.message, complaint.hint) for complaint in refused.value.complaints]


REFUSED = [
    (
        "SELECT s.k FROM s FOR SYSTEM_TIME AS OF '2024-01-01'",
        "FOR SYSTEM_TIME AS OF is not supported",
        "after a table that is joined",
    ),
    ('SELECT k FROM s WHERE k = "a"', "there is no column 'a' here", "single quotes: 'a'"),
    ("SELECT n + k FROM s", "+ does not take (BIGINT, TEXT)", "k::BIGINT would fit"),
    ("SELECT upper(n) FROM s", "upper does not take (BIGINT)", "n::TEXT would fit"),
    ("SELECT k FROM s PIVOT (sum(n) FOR k IN ('a'))", "PIVOT is not supported", "FILTER"),
    ("SELECT k FROM s UNPIVOT (x FOR y IN (n))", "UNPIVOT is not supported", "UNION ALL"),
    (
        "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY at PATTERN (A B) DEFINE A AS n > 1)",
        "MATCH_RECOGNIZE is not supported",
        "join the table with itself",
    ),
    ("SELECT TOP 3 k FROM s", "TOP is not supported", "ORDER BY ... LIMIT"),
    ("SELECT k FROM s TABLESAMPLE (10 PERCENT)", "TABLESAMPLE is not supported", "random()"),
    ("SELECT k FROM s LATERAL VIEW explode(k) t AS x", "LATERAL VIEW is not supported", "CROSS JOIN UNNEST"),
    ("SELECT age(at, at) FROM s", "there is no function 'age'", "a - b"),
    ("SELECT at AT TIME ZONE 'UTC' FROM s", "at AT TIME ZONE 'UTC' is not supported here", "from_utc_timestamp"),
    (
        "SELECT count(*) FROM TUMBLE(TABLE s, DESCRIPTOR(n), INTERVAL '1' MINUTE) GROUP BY window_start",
        "'n' is not the event time of the table, by which windows count",
        "WATERMARK FOR n",
    ),
    (
        "SELECT * FROM TABLE(CUMULATE(TABLE s, DESCRIPTOR(at), INTERVAL '1' MINUTE, INTERVAL '1' HOUR))",
        "CUMULATE without GROUP BY is not supported",
        "GROUP BY window_start, window_end",
    ),
    (
        "SELECT * FROM TABLE(HOP(TABLE s, DESCRIPTOR(at), INTERVAL '1' MINUTE, INTERVAL '1' HOUR))",
        "HOP without GROUP BY is not supported",
        "GROUP BY window_start",
    ),
    ("SELECT a FROM (VALUES (1)) AS t(a)", "cannot read from (VALUES (1)) AS t(a)", "join them to a table"),
    (
        "SELECT from_utc_timestamp(at, 'Berln') FROM s",
        "argument 2 of from_utc_timestamp cannot be 'Berln'",
        "use it as",
    ),
    ("SELECT k FROM s LEFT JOIN (VALUES (1)) AS t(a) ON a = n", "VALUES take an inner join with ON", "JOIN (VALUES"),
    (
        "WITH a AS (SELECT k FROM s), A AS (SELECT n FROM s) SELECT * FROM a",
        "'A' appears twice in WITH",
        "another name",
    ),
    (
        "SELECT count(*) FROM s GROUP BY hop(INTERVAL '1 millisecond', INTERVAL '1 hour')",
        "each row would be in 3,600,000 windows of hop(), and at most 100,000 are supported",
        "a longer slide",
    ),
    (
        "SELECT date_bin(INTERVAL '0 seconds', at) AS t FROM s",
        "the width must be more than 0",
        "",
    ),
    (
        "SELECT at + INTERVAL '999999999999999 years' AS t FROM s",
        "an interval of 999,999,999,999,999 years is longer than the time that a TIMESTAMP can have",
        "at most 10,000 years",
    ),
    ("DESCRIBE s", "a statement cannot begin with DESCRIBE", "arroyo check"),
    ("EXPLAIN SELECT k FROM s", "a statement cannot begin with EXPLAIN", "arroyo explain"),
    ("DELETE FROM s", "a statement cannot begin with DELETE", "opposite condition"),
    ("SELCT k FROM s", "a statement cannot begin with SELCT", "did you mean SELECT?"),
    ("CREATE TABEL z (k TEXT)", "CREATE TABEL is not supported", "did you mean CREATE TABLE?"),
    ("CREATE MATERIALIZED VIEW m AS SELECT k FROM s", "CREATE MATERIALIZED is not supported", "INSERT INTO a sink"),
    ("CREATE SOURCE z (k TEXT)", "CREATE SOURCE is not supported", "type = 'source'"),
    ("CREATE TABLE z (k TEXT) WITH (connector = 'kafak')", "there is no connector 'kafak'", "did you mean 'kafka'?"),
    (
        f"CREATE TABLE z (k TEXT) WITH ({SINGLE_FILE}, format = 'jsn')",
        "connector 'single_file' does not support the format 'jsn'",
        "did you mean 'json'?",
    ),
    (
        f"CREATE TABLE z (k TEXT) WITH ({SINGLE_FILE}, format = 'json') PARTITIONED BY (k)",
        "PARTITIONED BY is not supported",
        "'partitioning.fields' = [k]",
    ),
    ("SELECT agee(at) FROM s", "there is no function 'agee'", "see the page of functions"),
    ("SELECT json_tuple(k, 'a') FROM s", "there is no function 'json_tuple'", "->>"),
]


@pytest.mark.parametrize(("query", "message", "hint"), REFUSED, ids=[query[:40] for query, _, _ in REFUSED])
def test_refused_sql_is_named_and_says_how_to_write_it(query: str, message: str, hint: str) -> None:
    [(said, proposed)] = refusals(query)

    assert said == message
    assert hint in (proposed or "")


def test_a_missing_option_does_not_hide_misspelt_columns() -> None:
    script = "CREATE TABLE q (key TEXT) WITH (connector = 'single_file', format = 'json', type = 'source');"

    assert [message for message, _ in refusals(script + "SELECT keey FROM q")] == [
        "option 'path' is required",
        "there is no column 'keey' here",
    ]


def test_the_last_of_two_options_counts() -> None:
    script = f"CREATE TABLE q (key TEXT) WITH (path = '/a', {SINGLE_FILE}, format = 'json'); SELECT key FROM q"

    [table] = [table for table in compile_script(script).tables.values() if table.name == "q"]

    assert "/tmp/in" in str(table.options)


@pytest.mark.parametrize("call", ["IF(n > 1, 'a', 'b')", "iif(n > 1, 'a', 'b')", "DECODE(n, 1, 'a', 2, 'b', 'c')"])
def test_a_choice_may_be_written_as_a_call(call: str) -> None:
    assert compile_script(f"{TABLES} SELECT {call} AS x FROM s").tables


ACCEPTED = [
    "CREATE TABLE p (a TEXT, b TEXT, PRIMARY KEY (a, B) NOT ENFORCED) WITH (" + SINGLE_FILE + ", format = 'json');"
    "SELECT a FROM p",
    "SELECT *, row_number() OVER (PARTITION BY k ORDER BY n DESC) AS place FROM s QUALIFY place <= 3",
    "SELECT k FROM s QUALIFY row_number() OVER (PARTITION BY k ORDER BY n) = 1 AND n > 5",
    "SELECT k, n % 2 AS odd, count(*) AS c FROM s GROUP BY GROUPING SETS ((k, odd), (k), ()) HAVING count(*) > 1",
    "SELECT k, n, grouping(k, n) AS g, count(*) AS c FROM s GROUP BY CUBE (k, n)",
    "SELECT k, window_time, count(*) FROM TABLE(SESSION(DATA => TABLE s PARTITION BY k, TIMECOL => DESCRIPTOR(at), "
    "GAP => INTERVAL '5' MINUTE)) AS w GROUP BY k, window_start, window_end "
    "HAVING window_start > TIMESTAMP '2020-01-01'",
    "SELECT k, n, count(*) FROM TABLE(SESSION(TABLE s PARTITION BY k, n, DESCRIPTOR(at), INTERVAL '5' MINUTE)) "
    "GROUP BY k, n, window_start, window_end",
    "SELECT s.k, t.a FROM s, (VALUES (1), (2)) AS t(a) WHERE t.a = s.n",
    "SELECT LOCALTIMESTAMP AS t, at AT TIME ZONE 'UTC' AT TIME ZONE 'Asia/Tokyo' AS clock FROM s",
]


@pytest.mark.parametrize("query", ACCEPTED, ids=[query[:40] for query in ACCEPTED])
def test_pasted_sql_is_accepted(query: str) -> None:
    assert compile_script(TABLES + query).tables


def test_a_primary_key_of_unknown_columns_is_refused() -> None:
    table = f"CREATE TABLE p (a TEXT, PRIMARY KEY (a, bb)) WITH ({SINGLE_FILE}, format = 'json'); SELECT a FROM p"

    assert refusals(table)[0] == ("there is no column 'bb' for PRIMARY KEY", "there are a")


def test_a_column_without_an_alias_is_named_as_it_was_written() -> None:
    program = compile_script(TABLES + "SELECT year(at), count_if(n > 1) FROM s GROUP BY year(at)")

    [sink] = [table for table in program.tables.values() if table.direction == "sink"]
    assert sink.schema.names == ("year(at)", "count_if(n > 1)")


def test_an_unknown_verb_proposes_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["depoly"])

    assert "there is no command 'depoly'; did you mean 'deploy'?" in capsys.readouterr().err
