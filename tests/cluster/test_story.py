"""One story on a real cluster: windows over generated rows, through the deaths of an executor and of the driver.

The executors see neither the files of the driver nor our package. State is in a bucket, and the output is that of a run
on one machine.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from engine.checkpoints.layout import StatePaths
from tests.cluster.parts import Cluster
from tests.cluster.play import run, start
from tests.cluster.stores import ObjectStore

pytestmark = pytest.mark.timeout(1800)

ROWS = 6000
SQL = f"""
CREATE TABLE numbers WITH (connector = 'impulse', event_rate = 1000000, message_count = {ROWS},
  event_time_interval = '1 second', start_time = '2024-01-01T00:00:00Z');
CREATE TABLE lines (start TIMESTAMP, k BIGINT, n BIGINT)
WITH (connector = 'single_file', path = '{{folder}}/out.json', format = 'json', type = 'sink');
CREATE TABLE files (counter BIGINT, twice BIGINT)
WITH (connector = 'filesystem', path = '{{folder}}/out', format = 'parquet', type = 'sink');
INSERT INTO lines SELECT w.start, k, n FROM (
  SELECT tumble(INTERVAL '1 minute') AS w, counter % 3 AS k, count(*) AS n FROM numbers GROUP BY w, k
);
INSERT INTO files SELECT counter, counter * 2 FROM numbers WHERE counter % 2 = 0;
"""


def written(folder: Path) -> tuple[list[str], list[int]]:
    """Return what both sinks have: lines and numbers, sorted but not made unique."""
    lines = sorted((folder / "out.json").read_text().splitlines())
    numbers = [
        number for file in (folder / "out").glob("*.parquet") for number in pq.read_table(file)["counter"].to_pylist()
    ]
    return lines, sorted(numbers)


def script(folder: Path) -> Path:
    folder.mkdir()
    path = folder / "q.sql"
    path.write_text(SQL.format(folder=folder))
    return path


def until(process: subprocess.Popen[str], is_so: Callable[[], bool]) -> None:
    """Wait while a process runs."""
    while not is_so():
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.05)


def commits(state: Path) -> int:
    return len(list((StatePaths(state).checkpoint / "commits").glob("[0-9]*")))


def test_the_output_is_that_of_one_machine_through_the_deaths_of_executor_and_driver(
    cluster: Cluster, moto_store: ObjectStore, tmp_path: Path
) -> None:
    here = script(tmp_path / "here")
    status, said = run(here, tmp_path / "here" / "state", max_epoch_rows=1000)
    assert status == 0, said
    expected = written(tmp_path / "here")
    assert [json.loads(line)["n"] for line in expected[0]] == [20] * (ROWS // 20)
    assert expected[1] == list(range(0, ROWS, 2))

    there, state = script(tmp_path / "there"), tmp_path / "there" / "state"
    environment = {**moto_store.environment, "ARROYO_NET_ALLOW": "127.0.0.1"}
    asked = {"environment": environment, "max_epoch_rows": 1000, "state_url": f"{moto_store.url}/jobs"}
    process = start(there, state, cluster, **asked)
    until(process, lambda: commits(state) >= 1)
    os.kill(cluster.workers[0].executors()[0], signal.SIGKILL)
    before = commits(state)
    until(process, lambda: commits(state) > before)
    process.kill()
    process.communicate()

    status, said = run(there, state, cluster, **asked)

    assert status == 0, said
    assert written(tmp_path / "there") == expected
    assert moto_store.keys("jobs/")
    assert not (StatePaths(state).checkpoint / "state").exists()
    for secret in (environment["AWS_SECRET_ACCESS_KEY"],):
        for log in (state / "logs").glob("spark.log*"):
            assert secret not in log.read_text(errors="replace")
        assert all(secret not in worker.logs() for worker in cluster.workers)
