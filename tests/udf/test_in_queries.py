"""The user's functions in running queries: what they give, and what happens when they fail."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.compile import compile_script
from engine.errors import EngineError, OtherQueryError, ScriptRefused
from engine.spark.run.lifecycle import RunSpec, run_in
from engine.spark.run.run_spec import PLAIN_SETTINGS
from engine.spark.run.stop_control import Control
from engine.udf.declared import UdfFile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
TABLES = """
CREATE TABLE numbers (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, moment TIMESTAMP GENERATED ALWAYS AS ({virtual}))
WITH (connector = 'single_file', path = '{folder}/in.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '{folder}/out.jsonl', format = '{form}', type = 'sink');
"""
HEAD = "from engine.udf import udf, udaf, udtf\nfrom datetime import datetime\n"


def spec(
    folder: Path, sql: str, functions: str, *, form: str = "json", virtual: str = "at", epoch_rows: int = 2
) -> RunSpec:
    with (folder / "in.jsonl").open("w") as lines:
        for second in range(8):
            row = {"at": f"2024-01-01T00:00:{second:02}Z", "key": "ab"[second % 2], "value": second}
            lines.write(json.dumps(row) + "\n")
    tables = TABLES.format(folder=folder, form=form, virtual=virtual)
    file = UdfFile("own.py", HEAD + functions)
    return RunSpec(
        "own", tables + sql, folder / "state", udfs=(file,), settings=replace(PLAIN_SETTINGS, max_epoch_rows=epoch_rows)
    )


def rows(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]


SUM = "@udaf\ndef total(values: list[int]) -> int: return sum(values)\n"
SUM_OF_ROWS = """
@udaf
class total:
    def __init__(self): self.sum = 0
    def add(self, value: int) -> None: self.sum += value
    def merge(self, other: "total") -> None: self.sum += other.sum
    def retract(self, value: int) -> None: self.sum -= value
    def finish(self) -> int: return self.sum
"""


@pytest.mark.parametrize("functions", [SUM, SUM_OF_ROWS], ids=["lists", "rows"])
def test_an_aggregate_of_rows_that_change_is_kept_up_to_date(
    spark: SparkSession, tmp_path: Path, functions: str
) -> None:
    sql = "INSERT INTO out SELECT total(s) AS t FROM (SELECT key, sum(value) AS s FROM numbers GROUP BY key);"

    assert run_in(spark, spec(tmp_path, sql, functions, form="debezium_json"), Control()) == "finished"

    changes = rows(tmp_path)
    assert [change.get("before") for change in changes[1:]] == [change["after"] for change in changes[:-1]]
    assert changes[-1]["after"] == {"t": sum(range(8))}
    assert len(changes) == 4


@pytest.mark.parametrize("functions", [SUM, SUM_OF_ROWS], ids=["lists", "rows"])
def test_an_aggregate_without_a_window_is_kept_up_to_date(spark: SparkSession, tmp_path: Path, functions: str) -> None:
    sql = "INSERT INTO out SELECT key, total(value) AS t, total(value) FILTER (WHERE value > 4) AS f FROM numbers"
    sql += " GROUP BY key;"

    assert run_in(spark, spec(tmp_path, sql, functions, form="debezium_json"), Control()) == "finished"

    now: dict[object, dict[str, object]] = {}
    for change in rows(tmp_path):
        before, after = change.get("before"), change.get("after")
        if isinstance(before, dict):
            assert now.pop(before["key"]) == before
        if isinstance(after, dict):
            assert after["key"] not in now
            now[after["key"]] = after
    assert now == {"a": {"key": "a", "t": 12, "f": 6}, "b": {"key": "b", "t": 16, "f": 12}}
    assert len(rows(tmp_path)) > 2


ORDERED = "@udaf\ndef listed(keys: list[str], values: list[int | None]) -> str: return f'{keys} {values}'\n"


@pytest.mark.parametrize("form", ["json", "debezium_json"])
def test_an_aggregate_gets_its_rows_in_the_order_that_is_asked_for(
    spark: SparkSession, tmp_path: Path, form: str
) -> None:
    window = " GROUP BY tumble('1 minute')" if form == "json" else ""
    sql = (
        "INSERT INTO out SELECT listed(key, value ORDER BY key DESC, value) FILTER (WHERE value > 1) AS r FROM numbers"
    )

    assert run_in(spark, spec(tmp_path, f"{sql}{window};", ORDERED, form=form), Control()) == "finished"

    last = rows(tmp_path)[-1]
    assert last.get("after", last) == {"r": "['b', 'b', 'b', 'a', 'a', 'a'] [3, 5, 7, 2, 4, 6]"}


def test_a_virtual_column_may_call_a_function(spark: SparkSession, tmp_path: Path) -> None:
    later = "@udf\ndef later(moment: datetime) -> datetime: return moment.replace(year=2030)\n"
    run = spec(tmp_path, "INSERT INTO out SELECT moment FROM numbers WHERE value = 3;", later, virtual="later(at)")

    assert run_in(spark, run, Control()) == "finished"

    assert rows(tmp_path) == [{"moment": "2030-01-01T00:00:03"}]


COUNTED = """
@udf
def counted(x: int) -> int:
    with open("{folder}/calls", "a") as calls:
        calls.write(f"{{x}}\\n")
    return x
"""


@pytest.mark.parametrize(
    ("query", "calls"),
    [
        ("SELECT a, a + 1 AS b FROM (SELECT counted(value) AS a FROM numbers) WHERE a >= 0", range(8)),
        ("SELECT counted(value) + counted(value) AS a FROM numbers", range(8)),
        (
            "SELECT max(a) AS a, min(a) AS b FROM (SELECT counted(value) AS a FROM numbers) WHERE a > 2 "
            "GROUP BY tumble('1 day')",
            range(8),
        ),
        ("SELECT value FROM numbers WHERE value > 5 AND counted(value) > 0", (6, 7)),
        ("SELECT CASE WHEN value > 5 THEN counted(value) END AS a FROM numbers", (6, 7)),
    ],
)
def test_a_function_is_called_once_for_each_row_that_asks(
    spark: SparkSession, tmp_path: Path, query: str, calls: Iterable[int]
) -> None:
    run = spec(tmp_path, f"INSERT INTO out {query};", COUNTED.format(folder=tmp_path), epoch_rows=100)

    assert run_in(spark, run, Control()) == "finished"

    assert sorted(map(int, (tmp_path / "calls").read_text().split())) == list(calls)


FAILURES = [
    ("@udf\ndef f(x: int) -> int:\n  return 6 // (x - 5)\n", "udf.failed f, own.py:5: ZeroDivisionError: integer "),
    (
        "@udf\ndef f(x: int) -> int: return str(x)\n",
        "udf.result f, own.py:4: the function returned a value of type str, which ",
    ),
    ("@udf\ndef f(x: int) -> int: ...\nboom\n", "udf.load own.py:5: NameError: name 'boom' is not defined"),
    ("@udf\ndef f(x: int) -> int: raise SystemExit(1)\n", "udf.failed f, own.py:4: SystemExit: 1"),
    (
        "import asyncio\n@udf(timeout='10ms')\nasync def f(x: int) -> int: await asyncio.sleep(60)\n",
        "udf.timeout f, own.py:5: the call takes longer than 0.01 s",
    ),
]


@pytest.mark.parametrize(("functions", "message"), FAILURES, ids=[message for _, message in FAILURES])
def test_a_function_that_fails_stops_the_run_by_name(
    spark: SparkSession, tmp_path: Path, functions: str, message: str
) -> None:
    with pytest.raises(EngineError) as stopped:
        run_in(spark, spec(tmp_path, "INSERT INTO out SELECT f(value) AS f FROM numbers;", functions), Control())

    assert f"{stopped.value.code} {stopped.value.message}".startswith(message)


def test_state_of_other_functions_is_not_gone_on_with(spark: SparkSession, tmp_path: Path) -> None:
    sql = "INSERT INTO out SELECT total(value) AS t FROM numbers GROUP BY tumble('1 minute');"
    same = "# a word\n" + SUM.replace("\n", "\n\n")
    changed = SUM.replace("sum(values)", "sum(values) + 1")
    assert run_in(spark, spec(tmp_path, sql, SUM), Control()) == "finished"

    assert run_in(spark, spec(tmp_path, sql, same), Control()) == "finished"
    with pytest.raises(OtherQueryError):
        run_in(spark, spec(tmp_path, sql, changed), Control())


def test_functions_that_are_not_called_do_not_matter_to_the_state(tmp_path: Path) -> None:
    sql = spec(tmp_path, "INSERT INTO out SELECT key FROM numbers;", SUM).sql

    with_them = compile_script(sql, udfs=[UdfFile("own.py", HEAD + SUM)])

    assert with_them.fingerprint == compile_script(sql).fingerprint
    assert with_them.udfs.by_name == {}


def test_a_function_of_one_script_is_unknown_to_the_next(tmp_path: Path) -> None:
    sql = spec(tmp_path, "INSERT INTO out SELECT total(value) AS t FROM numbers GROUP BY tumble('1 minute');", SUM).sql
    compile_script(sql, udfs=[UdfFile("own.py", HEAD + SUM)])

    with pytest.raises(ScriptRefused) as refused:
        compile_script(sql)

    assert [complaint.code for complaint in refused.value.complaints] == ["sql.unknown_function"]
