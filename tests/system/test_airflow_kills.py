"""The processes of a real Airflow are killed, and told to end, while one task has just deployed a pipeline and does not
know yet, another one is deferred, and a third one is back from the triggerer: each has one pipeline with one driver in
the end, and has succeeded."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from engine.jobs.processes import processes
from tests.held_answers import HeldAnswers, holding
from tests.real_airflow import RealAirflow, until
from tests.system.conftest import QUERY, Served

pytestmark = [pytest.mark.system, pytest.mark.timeout(3600)]

Strike = tuple[str, signal.Signals]
ENDS = (signal.SIGKILL, signal.SIGTERM)
STRIKES: tuple[Strike, ...] = tuple((name, how) for name in ("worker", "triggerer", "scheduler", "api") for how in ENDS)
SHORT: tuple[Strike, ...] = (("worker", signal.SIGKILL), ("scheduler", signal.SIGKILL))

DAG = f"""
from datetime import timedelta

from airflow.sdk import DAG

from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator

with DAG(
    "kept",
    schedule=None,
    params={{"pipeline": ""}},
    default_args={{"retries": 30, "retry_delay": timedelta(seconds=1)}},
):
    StreamingSqlOperator(
        task_id="deploy",
        pipeline="{{{{ params.pipeline }}}}",
        sql={QUERY.format(says="-- holds: 5")!r},
        wait_for="complete",
        past="2026-01-01T00:06:00Z",
        deferrable=True,
        poll_interval=1,
    )
"""
HASTE = {
    "AIRFLOW__SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "1",
    "AIRFLOW__SCHEDULER__JOB_HEARTBEAT_SEC": "1",
    "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "10",
    "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "5",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_SEC": "2",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "15",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "3",
    "AIRFLOW__TRIGGERER__JOB_HEARTBEAT_SEC": "1",
    "AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "10",
}
"""How soon Airflow finds out that something is gone: minutes, by default."""


@dataclass
class Story:
    """A run of the DAG, and its pipeline."""

    airflow: RealAirflow
    plane: Served
    pipeline: str
    run_id: str = ""
    pids: set[int] = field(default_factory=set)
    """The processes that the task was seen in."""

    def begin(self) -> None:
        self.run_id = self.airflow.run("kept", pipeline=self.pipeline)

    def task(self) -> dict[str, Any]:
        task = self.airflow.task("kept", self.run_id, "deploy")
        if task["state"] == "running" and task["pid"]:
            self.pids.add(task["pid"])
        return task

    def until(self, state: str) -> None:
        """Return when the task is in a state. It is not tried again so often that it fails."""
        task = until(self.task, lambda task: task["state"] in (state, "failed"), 300)
        assert task["state"] == state, self.pipeline

    def go_on(self) -> None:
        """Let its output be complete."""
        answer: Any = self.plane.client.get(f"/pipelines/{self.pipeline}")
        state = Path(answer["state_dir"])
        state.mkdir(parents=True, exist_ok=True)  # its driver may not be up yet
        (state / "go").touch()

    def id(self) -> str:
        answer: Any = self.plane.client.get(f"/pipelines/{self.pipeline}")
        return str(answer["id"])

    def judge(self) -> None:
        """One pipeline, one driver, started once; the task has succeeded, and none of its processes is left."""
        listed: Any = self.plane.client.get("/pipelines", {"limit": 100})
        [pipeline] = [each for each in listed["data"] if each["name"] == self.pipeline]
        jobs: Any = self.plane.client.get(f"/pipelines/{self.pipeline}/jobs")
        [job] = jobs["data"]
        assert (pipeline["version"], job["run_id"], job["restarts_total"]) == (1, 1, 0), self.pipeline
        assert drivers_of(job["id"]) == {f"{job['id']}/{job['run_id']}": 1}, self.pipeline
        result = self.airflow.result("kept", self.run_id, "deploy")
        assert (result["pipeline_id"], result["state"]) == (pipeline["id"], "Running")
        assert result["certificate"]["pipeline"] == pipeline["id"]
        until(lambda: [pid for pid in self.pids if processes.born(pid) is not None], lambda left: not left, 120)


def drivers_of(job_id: str) -> dict[str, int]:
    """The runs of a job that there are processes of, and how many of each."""
    found: dict[str, int] = {}
    mark = f"{processes.MARK}={job_id}/".encode()
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            marks = [name for name in entry.read_bytes().split(b"\0") if name.startswith(mark)]
        except OSError:
            continue
        for each in marks:
            run = each.partition(b"=")[2].decode()
            found[run] = found.get(run, 0) + 1
    return found


def strike(airflow: RealAirflow, stories: list[Story], name: str, how: signal.Signals, answers: HeldAnswers) -> None:
    """Kill a process and start it again; what was held goes on. Its children are left to themselves."""
    if name == "worker":
        tasks = [story.task() for story in stories]
        supervisors = {parent_of(task["pid"]) for task in tasks if task["state"] == "running"}
        assert len(supervisors) == 2, tasks
        for pid in supervisors:
            os.kill(pid, how)
        answers.release()
        return
    process = airflow.processes[name]
    process.send_signal(how)
    if how is signal.SIGTERM:
        answers.release()  # it waits for the tasks
    process.wait(180)
    airflow.start(name)
    airflow.until_up()
    answers.release()


def parent_of(pid: int) -> int:
    return int(processes.stat_fields(Path("/proc") / str(pid))[1])


def play(plane: Served, airflow: RealAirflow, answers: HeldAnswers, name: str, how: signal.Signals) -> None:
    """Three tasks come to their places, the process is struck, and they end as they should."""
    mark = f"{name}-{how.name}".lower()
    resuming, deferred, deploying = (
        Story(airflow, plane, f"{place}-{mark}") for place in ("resuming", "deferred", "deploying")
    )
    for story in (resuming, deferred):
        story.begin()
    for story in (resuming, deferred):
        story.until("deferred")
        until(partial(waits_for_output, story, answers), bool, 300)
    answers.hold(rf"GET /api/v1/pipelines/{resuming.id()}/watermark HTTP".encode())
    answers.hold(rf"PUT /api/v1/pipelines/by-name/{deploying.pipeline}\b".encode())
    resuming.go_on()
    deploying.begin()
    answers.held(300)
    stories = [resuming, deferred, deploying]
    # a task that has come back before Airflow has heard that it was deferred is taken for one that was killed, and
    # begins again: it comes to the same place
    places = ["running", "deferred", "running"]
    until(lambda: [story.task()["state"] for story in stories], lambda states: states == places, 300)

    strike(airflow, stories, name, how, answers)

    deploying.until("deferred")
    for story in (deferred, deploying):
        story.go_on()
    for story in stories:
        story.until("success")
        story.judge()
        plane.patch(story.pipeline, stop="immediate")
        plane.until(story.pipeline, state="Stopped")
        assert drivers_of(plane.job(story.pipeline)["id"]) == {}


def waits_for_output(story: Story, answers: HeldAnswers) -> bool:
    """Whether it is the output that it waits for by now, and not the pipeline to run."""
    state, asks = story.task()["state"], f"GET /api/v1/pipelines/{story.id()}/watermark?".encode()
    return state == "deferred" and any(line.startswith(asks) for line in list(answers.asked))


def test_whatever_of_airflow_is_killed_each_task_has_one_pipeline_and_one_driver(plane: Served, tmp_path: Path) -> None:
    plane.settings = {"HEARTBEAT_LIMIT": "5m"}  # no driver is given up because the machine is busy
    plane.start()
    home = tmp_path / "airflow"
    home.mkdir()
    with holding(plane.client.url) as answers:
        connection = {"conn_type": "arroyo", "host": answers.url, "password": plane.client.token}
        with RealAirflow(home, json.dumps(connection), settings=HASTE) as airflow:
            airflow.dag("kept", DAG)
            for name, how in STRIKES if os.environ.get("KILLS") == "all" else SHORT:
                play(plane, airflow, answers, name, how)
            with closing(sqlite3.connect(home / "airflow.db", timeout=60)) as database:
                left = "SELECT count(*) FROM trigger"
                until(lambda: database.execute(left).fetchone()[0], lambda count: count == 0, 120)
        assert airflow.pids() == set()
