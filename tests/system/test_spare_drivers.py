"""A control plane that keeps a driver with Java and Spark up: the next pipeline starts on it."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from engine.jobs.processes import processes
from tests.system.conftest import Served, until

QUERY = """
CREATE TABLE impulse WITH (connector = 'impulse', event_rate = '2000', event_time_interval = '1 millisecond',
  start_time = '2026-01-01T00:00:00Z');
CREATE TABLE counts (start TIMESTAMP, k BIGINT UNSIGNED, n BIGINT)
WITH (connector = 'single_file', path = '{out}', format = 'json', type = 'sink');
INSERT INTO counts SELECT window.start, k, n FROM (
  SELECT tumble(INTERVAL '1 second') AS window, counter % 8 AS k, count(*) AS n FROM impulse GROUP BY 1, 2
);
"""


@pytest.mark.timeout(600)
def test_a_pipeline_runs_on_the_spare_and_goes_on_after_its_death(tmp_path: Path) -> None:
    served = Served(tmp_path, {"HEARTBEAT_LIMIT": "60s", "SPARE_DRIVERS": "1"}, driver=None).start()
    out = tmp_path / "counts.json"
    try:
        (spare,) = until(lambda: sorted((tmp_path / "spares").glob("*/ready")), bool, 400)
        mark = f"spare/{spare.parent.name}"
        processes_of_spare = processes.marked(mark)

        served.client.send("PUT", "/pipelines/by-name/counts", {"query": QUERY.format(out=out)})
        served.until("counts", run_id=1, state="Running", within=240)
        driver = served.holder("counts")["pid"]
        assert driver in processes_of_spare
        until(lambda: served.job("counts")["epoch"], lambda epoch: (epoch or 0) >= 2, 240)

        served.end(signal.SIGKILL)
        served.start()
        assert served.until("counts", state="Running")["run_id"] == 1
        os.kill(driver, signal.SIGKILL)
        job = served.until("counts", run_id=2, state="Running", within=240)
        assert processes.marked(mark) == []
        until(lambda: served.job("counts")["epoch"], lambda epoch: epoch > job["epoch"], 240)
        served.patch("counts", stop="checkpoint")
        served.until("counts", state="Stopped", within=240)
    finally:
        served.close()
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert {row["n"] for row in rows} == {125}
    assert len({(row["start"], row["k"]) for row in rows}) == len(rows)
