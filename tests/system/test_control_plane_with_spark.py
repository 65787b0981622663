from __future__ import annotations

import json
import os
import signal
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from engine.jobs.processes import processes
from engine.values.start_positions import StartStep
from tests.system.conftest import Served, until

# A thousand rows to every second of event time, eight keys: so 125 to each, however fast the clock on the wall goes.
QUERY = """
CREATE TABLE impulse WITH (connector = 'impulse', event_rate = '2000', event_time_interval = '1 millisecond',
  start_time = '2026-01-01T00:00:00Z');
CREATE TABLE counts (start TIMESTAMP, k BIGINT UNSIGNED, n BIGINT)
WITH (connector = 'single_file', path = '{out}', format = 'json', type = 'sink');
INSERT INTO counts SELECT window.start, k, n FROM (
  SELECT tumble(INTERVAL '1 second') AS window, eighth(counter) AS k, count(*) AS n FROM impulse GROUP BY 1, 2
);
"""


FUNCTIONS = """
from engine.udf import udf

@udf
def eighth(number: int) -> int:
    return number % 8
"""


@pytest.mark.timeout(900)
def test_a_job_survives_all_that_can_be_done_to_it_and_counts_every_row_once(tmp_path: Path) -> None:
    served = Served(tmp_path, {"HEARTBEAT_LIMIT": "60s"}, driver=None).start()
    try:
        _put_it_through_all(served, tmp_path / "counts.json")
    finally:
        served.close()


def _put_it_through_all(served: Served, out: Path) -> None:
    query = QUERY.format(out=out)
    wish = {"query": query, "udfs": [FUNCTIONS], "settings": {"quick": "true"}}
    pipeline: Any = served.client.send("PUT", "/pipelines/by-name/counts", wish)
    mark = f"{pipeline['job_id']}/1"
    until(lambda: served.job("counts")["epoch"], lambda epoch: (epoch or 0) >= 2, 240)

    served.end(signal.SIGKILL)
    served.start()
    assert served.until("counts", state="Running")["run_id"] == 1

    os.kill(served.holder("counts")["pid"], signal.SIGKILL)
    job = served.until("counts", run_id=2, state="Running", within=240)
    assert processes.marked(mark) == []
    until(lambda: served.job("counts")["epoch"], lambda epoch: epoch > job["epoch"], 240)

    savepoint: Any = served.client.send("POST", "/pipelines/counts/savepoints", {"label": "here"})
    assert savepoint["state"] == "completed", savepoint
    served.patch("counts", parallelism=2)
    served.until("counts", run_id=3, state="Running", tasks=2, within=240)

    back = {"savepoint_id": savepoint["id"], "allow_replay": True}
    served.client.send("POST", "/pipelines/counts/restore", back)
    served.until("counts", run_id=4, state="Running", tasks=1, within=240)

    until(lambda: served.job("counts")["epoch"], lambda epoch: (epoch or 0) >= savepoint["epoch"] + 2, 240)

    served.patch("counts", stop="checkpoint")
    job = served.until("counts", state="Stopped", within=240)
    assert job["run_id"] == 4
    _every_row_was_counted_once(out)
    _its_log_says_what_it_has_done(served)


def _its_log_says_what_it_has_done(served: Served) -> None:
    """The lines of the healthy run say how it started and ended, and nothing in it is an error."""
    answer: Any = served.client.get("/pipelines/counts/logs", {"limit": 10_000})
    lines = [json.loads(line) for line in answer["data"] if line.startswith("{")]
    texts = [line["text"] for line in lines if line["run"] == 4 and line["level"] == "info"]
    assert texts[:5] == [*StartStep, "the first epoch of this run is committed"]
    assert texts[-2:] == [
        "the control plane has the run stop (checkpoint)",
        "the run has stopped; the next one goes on from here",
    ]
    assert [line["text"] for line in lines if line["run"] == 4 and line["level"] == "error"] == []
    assert answer["over"]


def _every_row_was_counted_once(out: Path) -> None:
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    starts = sorted({datetime.fromisoformat(row["start"]) for row in rows})
    assert len(rows) == len(starts) * 8
    assert {row["n"] for row in rows} == {125}
    assert starts[-1] - starts[0] == timedelta(seconds=len(starts) - 1)
