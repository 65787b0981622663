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
        "SELECT s.k FROM s JOIN s FOR SYSTEM_TIME AS OF s.at AS r ON s.k = r.k",
        "FOR SYSTEM_TIME AS OF is not supported",
        "join a lookup table",
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
    ("SELECT proctime() FROM s", "there is no function 'proctime'", "now()"),
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


def test_an_unknown_verb_proposes_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["depoly"])

    assert "there is no command 'depoly'; did you mean 'deploy'?" in capsys.readouterr().err
