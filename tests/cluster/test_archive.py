"""Executors that have no Python of their own: `arroyo package` has made the one that they get."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.spark.jvm.executor_archives import package_python
from tests.cluster.parts import Cluster
from tests.cluster.play import run
from tests.cluster.test_story import ROWS, written

pytestmark = pytest.mark.timeout(1800)

_SQL = f"""
CREATE TABLE numbers WITH (connector = 'impulse', event_rate = 1000000, message_count = {ROWS},
  event_time_interval = '1 second', start_time = '2024-01-01T00:00:00Z');
CREATE TABLE lines (counter BIGINT)
WITH (connector = 'single_file', path = '{{folder}}/out.json', format = 'json', type = 'sink');
CREATE TABLE files (counter BIGINT, twice BIGINT)
WITH (connector = 'filesystem', path = '{{folder}}/out', format = 'parquet', type = 'sink');
INSERT INTO lines SELECT counter FROM numbers;
INSERT INTO files SELECT counter, counter * 2 FROM numbers WHERE counter % 2 = 0;
"""


def test_executors_run_with_the_python_of_an_archive(cluster: Cluster, tmp_path: Path) -> None:
    archive = package_python(tmp_path / "python.tar.gz")
    script = tmp_path / "q.sql"
    script.write_text(_SQL.format(folder=tmp_path))

    status, said = run(
        script,
        tmp_path / "state",
        cluster,
        executor_python=None,
        executor_archive=str(archive.path),
        max_epoch_rows=3000,
    )

    assert status == 0, said
    lines, numbers = written(tmp_path)
    assert len(set(lines)) == len(lines) == ROWS
    assert numbers == list(range(0, ROWS, 2))
