"""The operators of a plan have the numbers that Spark gives them, or one would go on with the state of another."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.compile import compile_script
from engine.spark.run.lifecycle import RunSpec, run_in
from engine.spark.run.stop_control import Control
from engine.values.epoch_report import EpochReport
from tests.corpus.case import INPUTS
from tests.kept.cases import CASES
from tests.kept.test_kept import STATES, name_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQL = """
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN, WATERMARK FOR at)
WITH (connector = 'single_file', path = '{inputs}/events.jsonl', format = 'json', type = 'source');
CREATE TABLE changes (key TEXT, a BIGINT, b BIGINT)
WITH (connector = 'single_file', path = '{folder}/changes', format = 'debezium_json', type = 'sink');
CREATE TABLE counts WITH (connector = 'single_file', path = '{folder}/counts', format = 'json', type = 'sink');
CREATE TABLE sessions WITH (connector = 'single_file', path = '{folder}/sessions', format = 'json', type = 'sink');
SET updating_ttl = '36500 days';
INSERT INTO counts SELECT tumble(INTERVAL '1 minute') AS w, count(*) AS n
  FROM events l JOIN events r ON l.key = r.key GROUP BY w;
INSERT INTO changes SELECT n.key, n.n, t.value FROM (SELECT key, count(*) AS n FROM events GROUP BY key) n
  LEFT JOIN (
    SELECT key, value FROM (
      SELECT key, value, row_number() OVER (PARTITION BY key ORDER BY value) AS place
      FROM (SELECT key, max(value) AS value FROM events WHERE active GROUP BY key)
    ) WHERE place = 1
  ) t ON n.key = t.key;
INSERT INTO sessions SELECT session(INTERVAL '1 minute') AS w, key FROM events GROUP BY w, key;
"""
NAMES = {"tumble": "stateStoreSave", "hop": "stateStoreSave", "session": "sessionWindowStateStoreSaveExec"}
TABLES = {
    "updating-join": {"left", "right"},
    "updating-aggregate": {"rows"},
    "updating-top": {"rows", "partitions"},
}


def test_spark_numbers_them_from_the_top_down_branch_by_branch(spark: SparkSession, tmp_path: Path) -> None:
    sql = SQL.format(inputs=INPUTS, folder=tmp_path)
    kinds = [operator.kind for operator in compile_script(sql).operators]
    assert kinds == [
        "tumble", "updating-join", "updating-join", "updating-aggregate", "updating-top", "updating-aggregate",
        "session",
    ]  # fmt: skip

    reports: list[EpochReport] = []
    assert run_in(spark, RunSpec("numbers", sql, tmp_path / "state"), Control(), reports.append) == "finished"
    first = [(work.rows_in, work.rows_out) for work in reports[0].operators.values()]
    # of those at the top the rows into one are the rows out of those below it
    assert first == [(11, 0), (12, 11), (6, 4), (6, 4), (2, 2), (3, 2), (6, 0)]
    assert reports[0].tables["changes"].rows_out == 4
    busy = [work.busy for report in reports for work in report.operators.values()]
    assert all(share is not None and 0 <= share <= 1 for share in busy)
    assert 0 < (reports[0].tables["events"].busy or 0) <= 1

    checkpoint = tmp_path / "state" / "checkpoint"
    assert len(list((checkpoint / "state").glob("[0-9]*"))) == len(kinds)
    for number, kind in enumerate(kinds):
        if kind in NAMES:
            assert name_in((checkpoint / "state" / str(number) / "_metadata" / "metadata").read_text()) == NAMES[kind]
            continue
        heads = spark.read.format("statestore").options(operatorId=number, stateVarName="head").load(str(checkpoint))
        (row,) = heads.select("value.list").limit(1).collect()
        assert set(json.loads(row[0])["tables"]) == TABLES[kind], number


@pytest.mark.parametrize("archive", STATES, ids=name_of)
def test_states_of_an_earlier_day_have_the_operators_of_their_scripts(archive: Path) -> None:
    spec = CASES[name_of(archive)].spec("case", Path())
    kinds = [operator.kind for operator in compile_script(spec.sql, udfs=spec.udfs).operators]

    texts: dict[int, str] = {}
    with tarfile.open(archive) as packed:
        for member in packed.getmembers():
            parts = member.name.removeprefix("./").split("/")
            if (
                parts[:3] == ["state", "checkpoint", "state"]
                and "_metadata" in parts
                and parts[-1] in ("metadata", "0")
            ):
                content = packed.extractfile(member)
                texts |= {} if content is None else {int(parts[3]): content.read().decode()}

    names = [name_in(texts[number]) for number in sorted(texts)]
    assert names == [NAMES.get(kind, "transformWithStateInPySparkExec") for kind in kinds]


def name_in(metadata: str) -> str:
    return json.loads(metadata.splitlines()[1])["operatorInfo"]["operatorName"]
