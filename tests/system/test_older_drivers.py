"""A control plane of today over what an older one has left running: its real driver goes on counting."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import tarfile
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from engine.errors import UnreachableError
from tests.system.conftest import ROOT, Served, until

OLD = "ca52f58df0a6"
"""The last commit whose drivers do not say which version of the wire they speak."""
# A thousand rows to every second of event time, eight keys: 125 to each, however fast the clock on the wall goes.
QUERY = """
CREATE TABLE impulse WITH (connector = 'impulse', event_rate = '200', event_time_interval = '1 millisecond',
  start_time = '2026-01-01T00:00:00Z');
CREATE TABLE counts (start TIMESTAMP, k BIGINT UNSIGNED, n BIGINT)
WITH (connector = 'single_file', path = '{out}', format = 'json', type = 'sink');
INSERT INTO counts SELECT window.start, k, n FROM (
  SELECT tumble(INTERVAL '1 second') AS window, counter % 8 AS k, count(*) AS n FROM impulse GROUP BY 1, 2
);
"""
PATIENCE = {"HEARTBEAT_LIMIT": "3m", "STUCK_LIMIT": "10m", "START_LIMIT": "20m", "STOP_GRACE": "5m"}


def lay_out(commit: str, folder: Path) -> Path:
    """The engine as it was in a commit."""
    content = subprocess.run(["git", "archive", commit, "engine"], cwd=ROOT, capture_output=True, check=False)
    assert content.returncode == 0, f"the history of this copy does not go back to {commit}: clone all of it"
    with tarfile.open(fileobj=io.BytesIO(content.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


class Older(Served):
    """A control plane that knows fewer settings."""

    def environment(self) -> dict[str, str]:
        return {name: text for name, text in super().environment().items() if not name.endswith("SPARE_DRIVERS")}


@pytest.mark.timeout(1800)
def test_a_driver_of_an_older_version_works_on_and_the_next_one_goes_on_from_its_state(tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "counts.json"
    data.mkdir()
    older = Older(data, PATIENCE, driver=None, root=lay_out(OLD, tmp_path / "older")).start()
    today = Served(data, PATIENCE, driver=None)
    try:
        until(lambda: is_deployed(older, QUERY.format(out=out)), bool)
        older.until_epoch(3, "counts", within=900)
        pid = older.holder("counts")["pid"]
        older.end(signal.SIGKILL)

        today.start()
        seen = today.job("counts")["epoch"]
        today.until_epoch(seen + 5, "counts", within=300)
        assert (today.job("counts")["run_id"], today.holder("counts")["pid"]) == (1, pid)
        assert "run.adopted" in {event["code"] for event in events(today)}

        today.patch("counts", stop="checkpoint")
        stopped = today.until("counts", state="Stopped", within=300)
        today.patch("counts", stop="none")
        today.until("counts", run_id=2, state="Running", within=900)
        today.until_epoch(stopped["epoch"] + 3, "counts", within=300)
        today.patch("counts", stop="checkpoint")
        last = today.until("counts", state="Stopped", within=300)
        assert (last["restarts_total"], last["failure_code"]) == (0, None)
    finally:
        older.close()
        today.close()
    every_row_was_counted_once(out)


def is_deployed(served: Served, query: str) -> bool:
    """Whether a deployment was answered: on a busy machine the first one may take longer than its sender waits."""
    try:
        return bool(served.client.send("PUT", "/pipelines/by-name/counts", {"query": query}))
    except UnreachableError:
        return False


def events(served: Served) -> list[dict[str, Any]]:
    answer: Any = served.client.get("/pipelines/counts/events", {"limit": 100})
    listed: list[dict[str, Any]] = answer["data"]
    return listed


def every_row_was_counted_once(out: Path) -> None:
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    starts = sorted({datetime.fromisoformat(row["start"]) for row in rows})
    assert len(rows) == len(starts) * 8
    assert {row["n"] for row in rows} == {125}
    assert starts[-1] - starts[0] == timedelta(seconds=len(starts) - 1)
