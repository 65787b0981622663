"""Real drivers that are ill, and what the control plane makes of it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.jobs.disk import DataDirectory
from engine.jobs.processes import processes
from tests.system.conftest import Served

COPY = """
CREATE TABLE numbers (counter BIGINT UNSIGNED) WITH (connector = 'impulse', event_rate = '20');
CREATE TABLE copies WITH (connector = 'single_file', path = '{out}', format = 'json', type = 'sink');
INSERT INTO copies SELECT counter FROM numbers;
"""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    plane = Served(tmp_path, {"HEARTBEAT_LIMIT": "60s", "STUCK_LIMIT": "8s", "MAX_BACKOFF": "2s"}, driver=None).start()
    yield plane
    plane.close()


def deploy(served: Served, query: str) -> Any:
    return served.client.send(
        "PUT", "/pipelines/by-name/sick", {"query": query, "settings": {"quick": "true", "memory": "600m"}}
    )


def java_of(served: Served) -> int:
    """The JVM of the newest run."""
    job = served.job("sick")
    return next(
        pid
        for pid in processes.marked(f"{job['id']}/{job['run_id']}")
        if Path(f"/proc/{pid}/exe").readlink().name == "java"
    )


def planner_of(served: Served) -> int:
    """The process that plans the epochs of the newest run's only table."""
    job = served.job("sick")
    return next(
        pid
        for pid in processes.marked(f"{job['id']}/{job['run_id']}")
        if Path(f"/proc/{pid}/comm").read_text() == "planner\n"
    )


def was_running(served: Served) -> bool:
    """Whether it has ever come so far."""
    answer: Any = served.client.get("/pipelines/sick/events")
    return any(event["message"].endswith("to Running") for event in answer["data"])


def log_of(served: Served, generation: int) -> str:
    """What a run has printed."""
    pipeline: Any = served.client.get("/pipelines/sick")
    return DataDirectory(served.data_dir).log(pipeline["id"], generation).read_text()


@pytest.mark.timeout(600)
def test_a_java_that_is_stopped_or_killed_is_named_and_the_job_goes_on(served: Served, tmp_path: Path) -> None:
    deploy(served, COPY.format(out=tmp_path / "out.json"))
    assert served.until("sick", state="Running", within=240)["epoch"] is not None

    os.kill(java_of(served), signal.SIGKILL)
    job = served.until("sick", run_id=2, state="Running", within=240)
    assert (job["restarts_total"], job["restart_code"]) == (1, "run.jvm_died")

    os.kill(java_of(served), signal.SIGSTOP)
    job = served.until("sick", run_id=3, state="Running", within=240)
    assert (job["restarts_total"], job["restart_code"]) == (2, "run.stuck")
    assert "has made no progress" in log_of(served, 2)
    assert "in _watch" in log_of(served, 2)


@pytest.mark.timeout(600)
def test_a_planner_that_hangs_or_dies_is_named_and_the_job_goes_on(served: Served, tmp_path: Path) -> None:
    deploy(served, COPY.format(out=tmp_path / "out.json"))
    served.until("sick", state="Running", within=240)

    os.kill(planner_of(served), signal.SIGSTOP)
    job = served.until("sick", run_id=2, state="Running", within=240)
    assert (job["restarts_total"], job["restart_code"]) == (1, "run.stuck")

    os.kill(planner_of(served), signal.SIGKILL)
    job = served.until("sick", run_id=3, state="Running", within=240)
    assert (job["restarts_total"], job["restart_code"]) == (2, "run.worker_died")


@pytest.mark.timeout(600)
def test_a_sink_that_cannot_be_written_never_runs(served: Served, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file in the way")
    deploy(served, COPY.format(out=tmp_path / "out" / "rows.json"))

    job = served.until("sick", state="Failed", within=240)

    assert (job["failure_code"], job["failure_cause"], job["restarts_total"]) == (
        "data.unwritable_target",
        "mistake",
        0,
    )
    assert not was_running(served)
