"""Chains of updating operators go on where they stopped: at another parallelism, after a kill."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from engine.checkpoints.rescale import repartition
from engine.spark.run.lifecycle import RunSpec
from tests.golden.folding import fold
from tests.streams.play import kill_in_epoch, play, wider
from tests.updating.test_with_spark import batch_answer, tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY = """
  SELECT n, count(*) AS keys, max(most) AS most FROM (
    SELECT *, rank() OVER (ORDER BY most DESC) AS place FROM (
      SELECT o.key, count(e.number) AS n, max(o.size) AS most
      FROM others o LEFT JOIN events e ON e.key = o.key GROUP BY o.key
    )
  ) WHERE place <= 2 GROUP BY n
"""


def spec_of(folder: Path) -> RunSpec:
    sql = f"""
      CREATE TABLE output (n BIGINT, keys BIGINT, most BIGINT)
      WITH (connector = 'single_file', path = '{folder / "output.json"}', format = 'debezium_json', type = 'sink');
      INSERT INTO output {QUERY};
    """
    return RunSpec("chain", tables(folder) + sql, folder / "state")


def answer(folder: Path) -> set[tuple[object, ...]]:
    rows = fold((folder / "output.json").read_text().splitlines(), ["n"])
    return {tuple(row.values()) for row in rows.values()}


def test_a_chain_goes_on_at_another_parallelism(spark: SparkSession, tmp_path: Path) -> None:
    narrow = spec_of(tmp_path)

    assert play(spark, narrow, stop_after=0)[0] == "stopped"
    assert answer(tmp_path) != set(batch_answer(QUERY))
    repartition(narrow.state_dir, 2, lambda: spark)
    assert play(spark, wider(narrow, 2))[0] == "finished"

    assert answer(tmp_path) == set(batch_answer(QUERY))


def test_a_chain_goes_on_after_a_kill(spark: SparkSession, tmp_path: Path) -> None:
    spec = spec_of(tmp_path)

    kill_in_epoch(spec, 1)
    assert play(spark, spec)[0] == "finished"

    assert answer(tmp_path) == set(batch_answer(QUERY))
