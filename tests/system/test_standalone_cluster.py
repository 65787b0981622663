"""A real standalone cluster: a pipeline runs where its executors share the disk of the state, and nowhere else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.streams.play import read_rows
from tests.system.standalone import TREE, may_mount_privately, standalone_cluster

START = datetime(2024, 1, 1, tzinfo=UTC)
SQL = """
CREATE TABLE events (ts TIMESTAMP NOT NULL, key TEXT, WATERMARK FOR ts)
WITH (connector = 'single_file', path = '{folder}/events.json', format = 'json', type = 'source');
CREATE TABLE output (start TIMESTAMP, key TEXT, n BIGINT)
WITH (connector = 'single_file', path = '{folder}/output.json', format = 'json', type = 'sink');
INSERT INTO output SELECT w.start, key, n FROM (
  SELECT tumble(INTERVAL '1 minute') AS w, key, count(*) AS n FROM events GROUP BY w, key
);
"""
ROWS, MINUTES = 600, 10


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    times = [START + timedelta(seconds=second) for second in range(ROWS)]
    (tmp_path / "events.json").write_text(
        "".join(json.dumps({"ts": time.isoformat().replace("+00:00", "Z"), "key": "a"}) + "\n" for time in times)
    )
    (tmp_path / "counts.sql").write_text(SQL.format(folder=tmp_path))
    (tmp_path / "state").mkdir()
    return tmp_path


def run(folder: Path, master: str, *settings: str) -> subprocess.CompletedProcess[str]:
    """Run the script on a master."""
    options = [part for text in (f"master={master}", "memory=600m", *settings) for part in ("--set", text)]
    command = [sys.executable, "-m", "engine", "run", "counts.sql", "--state-dir", str(folder / "state"), *options]
    environment = {**os.environ, "PYTHONPATH": str(TREE)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.timeout(900)
def test_a_pipeline_runs_on_executors_that_share_the_disk(folder: Path) -> None:
    with standalone_cluster(folder / "cluster") as master:
        played = run(folder, master, "shared_disk=on", "quick=true")

    assert played.returncode == 0, played.stderr
    rows = read_rows(folder / "output.json")
    assert [row["n"] for row in rows] == [ROWS // MINUTES] * MINUTES
    assert not list((folder / "state").glob("probe-*"))


@pytest.mark.timeout(900)
def test_a_pipeline_is_refused_on_executors_with_a_disk_of_their_own(folder: Path) -> None:
    if not may_mount_privately():
        assert not os.environ.get("CI"), "this user may not mount disks: it is not known whether the probe finds them"
        pytest.skip("who may not mount cannot give a worker a disk of its own")
    with standalone_cluster(folder / "cluster", own_disk_at=folder / "state") as master:
        played = run(folder, master, "shared_disk=on", "quick=true")

    assert played.returncode != 0
    assert "run.disk_not_shared" in played.stderr
    assert str(folder / "state") in played.stderr
    assert not (folder / "output.json").exists()
    assert not list((folder / "state" / "checkpoint").glob("commits/*"))
