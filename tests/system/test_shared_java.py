"""Pipelines that share Java: what happens to one is nothing to the other, unless it happens to Java itself."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from engine.checkpoints.layout import StatePaths
from engine.jobs.processes import processes
from engine.jobs.processes.process_usage import is_java
from tests.system.conftest import Served, until

SOURCE = """
CREATE TABLE impulse WITH (connector = 'impulse', event_rate = '1000', event_time_interval = '1 millisecond',
  start_time = '2026-01-01T00:00:00Z');
"""
WINDOWS = """
CREATE TABLE counts (start TIMESTAMP, k BIGINT UNSIGNED, n BIGINT)
WITH (connector = 'single_file', path = '{out}', format = 'json', type = 'sink');
INSERT INTO counts SELECT window.start, k, n FROM (
  SELECT tumble(INTERVAL '1 second') AS window, counter % 8 AS k, count(*) AS n FROM impulse GROUP BY 1, 2
);
"""
TOTALS = """
CREATE TABLE totals (k BIGINT UNSIGNED, n BIGINT, s BIGINT UNSIGNED)
WITH (connector = 'single_file', path = '{out}', format = 'debezium_json', type = 'sink');
INSERT INTO totals SELECT counter % 8 AS k, count(*) AS n, sum(counter) AS s FROM impulse GROUP BY 1;
"""


def in_the_middle_of_an_epoch(state: Path) -> bool:
    """Whether an epoch's offsets are written, and its commit is not."""
    checkpoint = StatePaths(state).checkpoint
    offsets, commits = (_numbers(checkpoint / name) for name in ("offsets", "commits"))
    return bool(offsets) and bool(commits) and max(offsets) > max(commits)


def _numbers(folder: Path) -> Sequence[int]:
    return [int(entry.name) for entry in folder.iterdir() if entry.name.isdigit()] if folder.is_dir() else []


def process_of(pids: Sequence[int], module: bytes) -> int:
    """The one of these that runs that module."""
    (pid,) = (pid for pid in pids if processes.born(pid) and module in Path(f"/proc/{pid}/cmdline").read_bytes())
    return pid


def shared_java(served: Served) -> Sequence[dict[str, Any] | None]:
    """Which Java each pipeline is said to share."""
    answer: Any = served.client.get("/pipelines")
    return [row["shared_java"] for row in answer["data"]]


def goes_on(served: Served, name: str, epochs: int = 3) -> dict[str, Any]:
    epoch = served.job(name)["epoch"] or 0
    return served.until_epoch(epoch + epochs, name, 240)


def windows_are_whole(out: Path) -> int:
    """The number of windows, of which each must have all of its rows, once."""
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert {row["n"] for row in rows} == {125}
    starts = sorted({row["start"] for row in rows})
    assert len({(row["start"], row["k"]) for row in rows}) == len(rows) == 8 * len(starts)
    return len(starts)


def totals_are_right(out: Path) -> int:
    """The number of rows that were counted: by the last change of each key, which every row of it is in, once."""
    last: dict[int, dict[str, int]] = {}
    for line in out.read_text().splitlines():
        change = json.loads(line)
        if change["after"] is not None:
            last[change["after"]["k"]] = change["after"]
    for k, row in last.items():
        n = row["n"]
        assert row["s"] == n * k + 8 * n * (n - 1) // 2, row
    counts = sorted((row["n"] for row in last.values()), reverse=True)
    assert counts[0] - counts[-1] <= 1
    return sum(counts)


@pytest.mark.timeout(900)
def test_neighbours_in_one_java_notice_nothing_of_each_other(tmp_path: Path) -> None:
    served = Served(tmp_path, {"HEARTBEAT_LIMIT": "60s"}, driver=None).start()
    windows, totals = tmp_path / "windows.json", tmp_path / "totals.json"
    try:
        for name, query, out in (("windows", WINDOWS, windows), ("totals", TOTALS, totals)):
            body = {"query": SOURCE + query.format(out=out), "settings": {"isolation": "shared"}}
            served.client.send("PUT", f"/pipelines/by-name/{name}", body)
        for name in ("windows", "totals"):
            served.until(name, run_id=1, state="Running", within=300)
        (host,) = (tmp_path / "hosts").iterdir()
        in_host = processes.marked(f"host/{host.name}")
        (java,) = filter(is_java, in_host)

        listed = until(lambda: shared_java(served), lambda rows: all(row and row["drivers"] == 2 for row in rows))
        assert {row["pid"] for row in listed if row} == {java}

        state = Path(str(served.client.get("/pipelines/windows")["state_dir"]))  # type: ignore[call-overload]
        for run in (1, 2, 3):
            goes_on(served, "windows")
            driver = served.holder("windows")["pid"]
            assert driver not in in_host
            until(lambda: in_the_middle_of_an_epoch(state), bool, 120)
            os.kill(driver, signal.SIGKILL)
            served.until("windows", run_id=run + 1, state="Running", within=240)
            assert goes_on(served, "totals")["run_id"] == 1

        assert processes.born(java) is not None
        os.kill(process_of(in_host, b"engine.driver.shared.host"), signal.SIGKILL)
        served.until("totals", run_id=2, state="Running", within=300)
        served.until("windows", run_id=5, state="Running", within=300)
        assert processes.born(java) is None
        for name in ("windows", "totals"):
            goes_on(served, name)
            served.patch(name, stop="checkpoint")
        for name in ("windows", "totals"):
            served.until(name, state="Stopped", within=240)
        until(lambda: processes.marked(f"host/{host.name}"), lambda left: not left, 120)
    finally:
        served.close()
    assert windows_are_whole(windows) > 10
    assert totals_are_right(totals) > 10_000
