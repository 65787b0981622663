"""One pipeline with its state in a bucket, and every tool that reads or changes a state: one after another."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from engine.checkpoints.doctor import drill, examine
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.restore import restore
from engine.checkpoints.savepoints import take
from engine.checkpoints.state_pointer import read_pointer
from engine.compile import compile_script
from engine.spark.run.run_spec import PLAIN_SETTINGS, RunSpec, StateUpgrade
from engine.spark.run.stop_control import Control
from engine.spark.state.state_rows import rows_of_window
from engine.spark.upgrade.rehearsal_plan import RehearsalSpec, plan_rehearsal
from engine.spark.upgrade.rehearse import rehearse
from engine.values.cluster import ClusterSettings
from engine.values.instants import now
from tests.s3.store import Store
from tests.s3.test_state_in_a_bucket import local_files, objects
from tests.streams.play import START, play

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS, WINDOWS = 120, 12
SQL = """
CREATE TABLE ticks (ts TIMESTAMP NOT NULL, n BIGINT, WATERMARK FOR ts)
WITH (connector = 'single_file', path = '{folder}/ticks.json', format = 'json', type = 'source');
CREATE TABLE windows (start TIMESTAMP, n BIGINT)
WITH (connector = 'single_file', path = '{folder}/{out}', format = 'json', type = 'sink');
INSERT INTO windows SELECT w.start, n FROM (
  SELECT tumble(INTERVAL '10 seconds') AS w, count(*) AS n FROM ticks GROUP BY w
){condition};
"""


def spec_of(
    folder: Path, bucket: Store, *, state: str = "state", out: str = "out.json", condition: str = ""
) -> RunSpec:
    cluster = ClusterSettings(state_url=f"s3://{bucket.bucket}/jobs/{state}")
    return RunSpec(
        "ticks",
        SQL.format(folder=folder, out=out, condition=condition),
        folder / state,
        parallelism=2,
        settings=replace(PLAIN_SETTINGS, max_epoch_rows=10, cluster=cluster),
    )


def counts(path: Path) -> list[int]:
    return [json.loads(line)["n"] for line in path.read_text().splitlines()]


def write_input(folder: Path) -> None:
    times = ((START + timedelta(seconds=number)).isoformat() for number in range(ROWS))
    (folder / "ticks.json").write_text("".join(f"{json.dumps({'ts': at, 'n': 1})}\n" for at in times))


def test_every_tool_works_on_a_state_in_a_bucket(spark: SparkSession, bucket: Store, tmp_path: Path) -> None:
    write_input(tmp_path)
    first = spec_of(tmp_path, bucket)
    paths = StatePaths(first.state_dir)
    assert play(spark, first, stop_after=4)[0] == "stopped"

    assert examine(paths) == []
    [operator] = compile_script(first.sql).operators
    kept = list(rows_of_window(paths, operator, lambda _: spark))
    assert kept != []
    take(paths.root, "sp", label=None, clock=now)
    saved = paths.root / "savepoints" / "sp"
    drilled = drill(saved, tmp_path / "scratch", lambda: spark)
    assert (drilled.operators, drilled.rows) == (1, len(kept))

    second = spec_of(tmp_path, bucket, condition=" WHERE n > 0")
    (tmp_path / "rehearsal").mkdir()
    planned = plan_rehearsal(RehearsalSpec(saved, second.sql))
    [sink] = rehearse(planned, tmp_path / "rehearsal", lambda: spark, Control()).sinks
    assert sink.rows_old
    assert sink.rows_new == sink.rows_old
    before = set(objects(bucket))
    assert all("jobs/state/" in name for name in before), "tools write nothing into the bucket"

    forked = spec_of(tmp_path, bucket, state="fork", out="fork.json", condition=" WHERE n > 0")
    restore(saved, forked.state_dir, allow_replay=True, is_fork=True)
    assert play(spark, replace(forked, upgrade=StateUpgrade(is_fork=True)))[0] == "finished"
    assert read_pointer(StatePaths(forked.state_dir).checkpoint) is not None
    assert before <= set(objects(bucket)), "a fork leaves the state of its original as it is"

    assert play(spark, replace(second, upgrade=StateUpgrade()))[0] == "finished"
    assert counts(tmp_path / "out.json") == [10] * WINDOWS
    assert set(counts(tmp_path / "fork.json")) == {10}
    assert local_files(tmp_path) == []
