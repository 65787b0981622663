"""What hurried people do to tasks under a real scheduler: the same DAG twice at once, tasks that are cleared while they
wait and no triggerer is there, two scripts for one name at once, trials that fail. Each pipeline is there once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.real_airflow import RealAirflow, until
from tests.system.conftest import QUERY, Served
from tests.system.test_airflow_kills import drivers_of

pytestmark = [pytest.mark.system, pytest.mark.timeout(1200)]

HEAD = f"""
from datetime import timedelta

from airflow.sdk import DAG, task

from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.temporary_pipeline import temporary_pipeline

HOLDS = {QUERY.format(says="-- holds: 5")!r}
ENDS = {QUERY.format(says="-- epochs: 5")!r}
AGAIN = {{"retries": 10, "retry_delay": timedelta(seconds=1)}}
"""
MAPPED = (
    HEAD
    + """
with DAG("mapped", schedule=None, params={"names": ""}, default_args=AGAIN):

    @task
    def names(params=None):
        return params["names"].split()

    deployed = StreamingSqlOperator.partial(
        task_id="deploy", sql=HOLDS, wait_for="complete", past="2026-01-01T00:06:00Z", deferrable=True, poll_interval=1
    ).expand(pipeline=names())

    @task
    def count(deployments):
        return [[one["name"], one["version"], one["state"], one["certificate"]["pipeline"]] for one in deployments]

    count(deployed.output)
"""
)
TRIAL = (
    HEAD
    + """
with DAG("trial", schedule=None, params={"check": "good", "script": ENDS}, default_args=AGAIN):

    @task(retries=0)
    def check(deployed, params=None):
        if params["check"] == "bad":
            raise ValueError("not what it should be")
        return deployed["state"]

    with temporary_pipeline(
        "orders", sql="{{ params.script }}", wait_for="finished", deferrable=True, poll_interval=1
    ) as orders:
        check(orders.output)
"""
)
RIVALS = (
    HEAD
    + """
with DAG("rivals", schedule=None, params={"says": ""}, default_args=AGAIN):
    StreamingSqlOperator(
        task_id="deploy",
        pipeline="contested",
        sql=HOLDS,
        settings={"linger": "{{ params.says }} s"},
        deferrable=True,
        poll_interval=1,
    )
"""
)


@dataclass
class Both:
    """An Airflow, and a control plane."""

    airflow: RealAirflow
    plane: Served

    def pipelines(self) -> dict[str, dict[str, Any]]:
        listed: Any = self.plane.client.get("/pipelines", {"limit": 100})
        return {pipeline["name"]: pipeline for pipeline in listed["data"]}

    def until_run(self, dag_id: str, run_id: str, state: str) -> None:
        def look() -> Any:
            return self.airflow.ask("GET", f"dags/{dag_id}/dagRuns/{run_id}").json()["state"]

        seen = until(look, lambda seen: seen in ("success", "failed"), 400)
        assert seen == state

    def mapped(self, run_id: str) -> list[str]:
        """The states of the mapped tasks of a run, once there are any."""
        listed = self.airflow.ask("GET", f"dags/mapped/dagRuns/{run_id}/taskInstances").json()["task_instances"]
        of_deploy = [task for task in listed if task["task_id"] == "deploy" and task["map_index"] >= 0]
        return [task["state"] for task in sorted(of_deploy, key=lambda task: task["map_index"])]

    def clear(self, dag_id: str, run_id: str, *tasks: Any) -> None:
        body = {"dry_run": False, "dag_run_id": run_id, "task_ids": list(tasks), "only_failed": False}
        answer = self.airflow.ask("POST", f"dags/{dag_id}/clearTaskInstances", body)
        assert answer.status_code == 200, answer.text

    def ran_once(self, name: str) -> None:
        """One version, one run, one driver."""
        pipeline = self.pipelines()[name]
        jobs: Any = self.plane.client.get(f"/pipelines/{name}/jobs")
        [job] = jobs["data"]
        assert (pipeline["version"], job["run_id"], job["restarts_total"]) == (1, 1, 0), name
        assert drivers_of(job["id"]) == {f"{job['id']}/1": 1}, name


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    folder = tmp_path_factory.mktemp("hurried")
    plane = Served(folder / "plane")
    plane.data_dir.mkdir()
    try:
        plane.start()
        token = (plane.data_dir / "token").read_text().strip()
        connection = {"conn_type": "arroyo", "host": plane.client.url, "password": token}
        (folder / "airflow").mkdir()
        with RealAirflow(folder / "airflow", json.dumps(connection)) as airflow:
            for dag_id, source in (("mapped", MAPPED), ("trial", TRIAL), ("rivals", RIVALS)):
                airflow.dag(dag_id, source)
            yield Both(airflow, plane)
    finally:
        plane.close()


def test_mapped_deployments_that_are_cleared_while_no_triggerer_watches_and_asked_for_twice_run_once(
    both: Both,
) -> None:
    airflow, names = both.airflow, ("north", "south", "east")
    runs = [airflow.run("mapped", names=" ".join(names)) for _ in range(2)]
    for run in runs:
        until(partial(both.mapped, run), lambda states: states == ["deferred"] * 3, 400)
    airflow.kill("triggerer")
    both.clear("mapped", runs[0], ["deploy", 1])
    for name in names:
        (Path(both.pipelines()[name]["state_dir"]) / "go").touch()
    tried = airflow.until("mapped", runs[0], "deploy/1", "deferred", 400)
    assert tried["try_number"] > 1
    airflow.start("triggerer")

    for run in runs:
        both.until_run("mapped", run, "success")
        ids = {name: both.pipelines()[name]["id"] for name in names}
        assert airflow.result("mapped", run, "count") == [[name, 1, "Running", ids[name]] for name in names]
    both.clear("mapped", runs[1], ["deploy", 0], ["deploy", 2])
    both.until_run("mapped", runs[1], "success")
    for name in names:
        both.ran_once(name)


def test_a_trial_leaves_nothing_however_it_ends(both: Both) -> None:
    airflow = both.airflow
    good, bad = airflow.run("trial"), airflow.run("trial", check="bad")
    broken = airflow.run("trial", script="SELECT FROM")

    both.until_run("trial", good, "success")
    both.until_run("trial", bad, "failed")
    both.until_run("trial", broken, "failed")

    assert airflow.result("trial", good, "check") == "Finished"
    states = {
        run: [airflow.task("trial", run, task)["state"] for task in ("orders.deploy", "check", "orders.delete")]
        for run in (good, bad, broken)
    }
    assert states == {
        good: ["success"] * 3,
        bad: ["success", "failed", "success"],
        broken: ["failed", "upstream_failed", "success"],
    }
    assert [name for name in both.pipelines() if name.startswith("orders")] == []


def test_two_scripts_for_one_name_at_once_leave_one_of_them_running_in_one_driver(both: Both) -> None:
    airflow = both.airflow
    runs = [airflow.run("rivals", says=says) for says in ("1", "2")]

    for run in runs:
        both.until_run("rivals", run, "success")

    pipeline = both.pipelines()["contested"]
    assert pipeline["version"] == 2
    both.plane.until("contested", state="Running")
    job = both.plane.job("contested")
    assert drivers_of(job["id"]) == {f"{job['id']}/{job['run_id']}": 1}
    both.clear("rivals", runs[0], "deploy")
    both.until_run("rivals", runs[0], "success")
    assert both.pipelines()["contested"]["version"] in (2, 3)
