from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from engine.jobs import processes
from tests.system.conftest import Served, until

ROWS = 20_000
QUERY = """
CREATE TABLE impulse WITH (connector = 'impulse', event_rate = '1000', message_count = '{rows}');
CREATE TABLE counts (n BIGINT) WITH (connector = 'single_file', path = '{out}', format = 'json', type = 'sink');
INSERT INTO counts SELECT n FROM (
  SELECT tumble(INTERVAL '1 second') AS window, counter % 8 AS k, count(*) AS n FROM impulse GROUP BY 1, 2
);
"""


@pytest.mark.timeout(900)
def test_a_job_survives_all_that_can_be_done_to_it_and_counts_every_row_once(tmp_path: Path) -> None:
    served = Served(tmp_path, {"HEARTBEAT_LIMIT": "60s"}, driver=None).start()
    try:
        _put_it_through_all(served, tmp_path / "counts.json")
    finally:
        served.close()


def _put_it_through_all(served: Served, out: Path) -> None:
    query = QUERY.format(rows=ROWS, out=out)
    pipeline: Any = served.client.send("PUT", "/pipelines/by-name/counts", {"query": query})
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

    job = served.until("counts", state="Finished", within=240)
    assert sum(json.loads(line)["n"] for line in out.read_text().splitlines()) == ROWS
    assert job["run_id"] == 4
