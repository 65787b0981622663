"""Deploying, once, whatever happens on the way."""

from __future__ import annotations

import itertools
from collections import deque
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_provider_arroyo import requests
from airflow_provider_arroyo.airflow_versions import AirflowFailException
from airflow_provider_arroyo.errors import (
    CrashedError,
    DetachedError,
    JobEndedError,
    NoDataIntervalError,
    RefusedError,
    StoppedMeanwhileError,
    UnavailableError,
)
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.responses import to_micros
from airflow_provider_arroyo.testing.control_plane import FakeControlPlane, problem

from .tasks import Run

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
both = pytest.mark.parametrize("deferrable", [False, True], ids=["on the worker", "deferred"])


def deploy(**changes: Any) -> StreamingSqlOperator:
    arguments: dict[str, Any] = {"task_id": "deploy", "pipeline": "clicks", "sql": "SELECT 1", **changes}
    return StreamingSqlOperator(**arguments)


@both
def test_a_deployment_waits_until_the_pipeline_runs(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool
) -> None:
    plane.new_pipelines_become("Created", "Scheduling", "Running")

    result = airflow_run.execute(deploy(deferrable=deferrable, parallelism=2, settings={"a": 1}))

    assert result == {
        "pipeline_id": "pl_1",
        "name": "clicks",
        "state": "Running",
        "version": 1,
        "lineage": "1f",
        "plan": {
            "fingerprint": "f1",
            "sources": ["events"],
            "sinks": ["counts"],
            "operators": ["WindowAggregate"],
        },
    }
    assert airflow_run.pushed["pipeline_id"] == "pl_1"
    assert airflow_run.pushed["pipeline_url"] == f"{plane.url}/#/pipelines/pl_1"
    [sent] = plane.matching_requests("PUT")
    assert sent.path == "/api/v1/pipelines/by-name/clicks"
    assert {"query": "SELECT 1", "parallelism": 2, "settings": {"a": "1"}, "stop": "none"}.items() <= sent.body.items()
    assert sent.key == sent.body["idempotency_key"]


@both
def test_a_pipeline_that_fails_while_it_starts_fails_the_task_with_its_own_reason(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool
) -> None:
    plane.new_pipelines_become("Scheduling", "Failed")
    airflow_run.at_pause[1] = lambda: setattr(
        plane.pipelines["pl_1"], "failure", ("data.bad_json", "line 3 is no JSON")
    )

    with pytest.raises(JobEndedError, match="line 3 is no JSON") as raised:
        airflow_run.execute(deploy(deferrable=deferrable))
    assert raised.value.code == "data.bad_json"


@both
def test_a_retry_finds_the_pipeline_of_the_try_before(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool
) -> None:
    airflow_run.execute(deploy(deferrable=deferrable))
    airflow_run.execute(deploy(deferrable=deferrable))

    assert len(plane.matching_requests("PUT")) == 1
    assert len(plane.pipelines) == 1


def test_a_worker_that_dies_between_deploying_and_noting_it_leaves_one_pipeline(
    plane: FakeControlPlane, airflow_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise SystemExit(137)

    with monkeypatch.context() as patch:
        patch.setattr("airflow_provider_arroyo.operators.streaming_sql.remember", die)
        with pytest.raises(SystemExit):
            airflow_run.execute(deploy())
    airflow_run.execute(deploy())

    first, second = plane.matching_requests("PUT")
    assert first.key == second.key
    assert len(plane.pipelines) == 1


def test_an_answer_that_is_lost_is_asked_for_again_under_the_same_key(
    plane: FakeControlPlane, airflow_run: Run
) -> None:
    plane.fail("PUT", "", "lost answer", "unavailable")

    airflow_run.execute(deploy())

    keys = {request.key for request in plane.matching_requests("PUT")}
    assert len(keys) == 1
    assert len(plane.pipelines) == 1


def test_without_a_state_store_a_retry_deploys_under_the_same_key(plane: FakeControlPlane, airflow_run: Run) -> None:
    airflow_run.store = None

    airflow_run.execute(deploy())
    airflow_run.execute(deploy())

    first, second = plane.matching_requests("PUT")
    assert first.key == second.key


def test_a_retry_with_another_script_deploys_it(plane: FakeControlPlane, airflow_run: Run) -> None:
    airflow_run.execute(deploy())
    airflow_run.execute(deploy(sql="SELECT 2"))

    first, second = plane.matching_requests("PUT")
    assert first.key != second.key
    assert plane.pipelines["pl_1"].body["query"] == "SELECT 2"


def test_a_retry_does_not_take_the_old_script_for_the_new_one(plane: FakeControlPlane, airflow_run: Run) -> None:
    pipeline = plane.add("clicks", run_id=3, version=1)
    plane.upserts_take_effect = False

    def start() -> None:
        pipeline.run_id = 4

    airflow_run.at_pause[1] = _die
    with pytest.raises(SystemExit):
        airflow_run.execute(deploy(sql="SELECT 2"))
    airflow_run.at_pause = {3: start}
    airflow_run.execute(deploy(sql="SELECT 2"))

    assert len(airflow_run.pauses) == 3
    assert len(plane.matching_requests("PUT")) == 1


def test_a_retry_starts_a_failed_pipeline_again_and_never_makes_a_new_one(
    plane: FakeControlPlane, airflow_run: Run
) -> None:
    airflow_run.execute(deploy())
    plane.pipelines["pl_1"].become("Failed")

    result = airflow_run.execute(deploy())

    assert result["state"] == "Running"
    assert len(plane.matching_requests("POST", "/restart$")) == 1
    assert len(plane.matching_requests("PUT")) == 1


def test_a_restart_whose_answer_is_lost_counts_as_done(plane: FakeControlPlane, airflow_run: Run) -> None:
    airflow_run.execute(deploy())
    pipeline = plane.pipelines["pl_1"]
    pipeline.become("Failed")
    plane.fail("POST", "/restart$", "lost answer")

    airflow_run.execute(deploy())

    assert len(plane.matching_requests("POST", "/restart$")) == 1
    assert pipeline.run_id == 2


def stop(plane: FakeControlPlane) -> None:
    pipeline = plane.pipelines["pl_1"]
    pipeline.stop = "checkpoint"
    pipeline.become("Stopped")


@pytest.mark.parametrize("has_store", [True, False], ids=["remembered", "not remembered"])
def test_a_retry_leaves_alone_what_was_stopped_meanwhile_and_says_by_whom(
    plane: FakeControlPlane, airflow_run: Run, has_store: bool
) -> None:
    airflow_run.store = airflow_run.store if has_store else None
    airflow_run.execute(deploy())
    stop(plane)

    with pytest.raises(StoppedMeanwhileError, match=r"stopped by ann on 2026-01-01T00:00:00\+00:00, after this task"):
        airflow_run.execute(deploy())

    assert issubclass(StoppedMeanwhileError, AirflowFailException)
    assert plane.pipelines["pl_1"].states[0] == "Stopped"


def test_a_task_that_is_cleared_starts_again_what_was_stopped(plane: FakeControlPlane, airflow_run: Run) -> None:
    airflow_run.execute(deploy())
    stop(plane)

    airflow_run.clear()

    assert airflow_run.execute(deploy())["state"] == "Running"
    first, second = plane.matching_requests("PUT")
    assert first.key != second.key


def test_the_first_try_of_a_task_starts_what_is_stopped(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("clicks")
    stop(plane)

    assert airflow_run.execute(deploy())["state"] == "Running"


def test_a_retry_does_not_recreate_a_deleted_pipeline(plane: FakeControlPlane, airflow_run: Run) -> None:
    airflow_run.execute(deploy())
    plane.pipelines.clear()

    with pytest.raises(StoppedMeanwhileError, match="pipeline clicks was deleted after this task had deployed it"):
        airflow_run.execute(deploy())
    assert len(plane.matching_requests("PUT")) == 1

    airflow_run.clear()
    airflow_run.execute(deploy())
    assert len(plane.matching_requests("PUT")) == 2


def test_omitted_settings_of_a_task_are_not_sent(plane: FakeControlPlane, airflow_run: Run) -> None:
    airflow_run.execute(deploy(wait_for="none"))
    airflow_run.execute(deploy(wait_for="none", task_id="other", settings={}, udfs=[], parallelism=2))

    first, second = plane.matching_requests("PUT")
    assert set(first.body) == {"query", "stop", "idempotency_key"}
    assert (second.body["settings"], second.body["udfs"], second.body["parallelism"]) == ({}, [], 2)


def test_every_change_has_a_key_of_its_own(plane: FakeControlPlane) -> None:
    keys = [requests.stop_pipeline("clicks", "checkpoint").key, requests.rescale_pipeline("clicks", 2).key]

    assert None not in keys
    assert len(set(keys)) == 2


def test_bad_sql_spends_no_retries(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.refusals["PUT", ""] = problem(422, "sql.unknown_column", "no column x", "it has y")

    with pytest.raises(RefusedError, match=r"sql\.unknown_column: no column x\n  hint: it has y") as raised:
        airflow_run.execute(deploy())
    assert isinstance(raised.value, AirflowFailException)


def test_a_bad_token_spends_no_retries_and_is_not_printed(
    plane: FakeControlPlane, airflow_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        "AIRFLOW_CONN_ARROYO_DEFAULT", f'{{"conn_type":"arroyo","host":"{plane.url}","password":"wr0ng"}}'
    )

    with pytest.raises(RefusedError, match=r"auth\.token") as raised:
        airflow_run.execute(deploy())
    assert "wr0ng" not in str(raised.value)


@both
def test_a_control_plane_that_is_away_for_a_while_does_not_fail_the_task(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool
) -> None:
    plane.new_pipelines_become("Scheduling", "Scheduling", "Running")
    airflow_run.at_pause = {1: plane.go_away, 5: plane.come_back}

    assert airflow_run.execute(deploy(deferrable=deferrable))["state"] == "Running"
    assert len(airflow_run.pauses) >= 5


@pytest.mark.parametrize(("fault", "minutes"), [("unavailable", 10), ("crashed", 1)])
def test_patience_has_an_end_and_then_airflow_may_retry(
    plane: FakeControlPlane, airflow_run: Run, monkeypatch: pytest.MonkeyPatch, fault: Any, minutes: int
) -> None:
    plane.fail("PUT", "", *[fault] * 99)
    seconds = itertools.count(0, 15)
    monkeypatch.setattr("airflow_provider_arroyo.operators.streaming_sql.now", lambda: _at(next(seconds)))

    with pytest.raises((UnavailableError, CrashedError)) as raised:
        airflow_run.execute(deploy())
    assert not isinstance(raised.value, AirflowFailException)
    assert len(airflow_run.pauses) == minutes * 4 - 1


def test_waiting_for_the_end_ends_when_the_pipeline_is_finished(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.new_pipelines_become("Running", "Running", "Finished")

    assert airflow_run.execute(deploy(wait_for="finished"))["state"] == "Finished"


@both
def test_waiting_for_complete_output_waits_for_the_run_and_then_for_its_output(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool
) -> None:
    pipeline = plane.add("clicks", run_id=3)
    pipeline.certifies = True
    pipeline.become("Failed")

    def pass_noon() -> None:
        pipeline.watermarks = deque([NOON])

    airflow_run.at_pause[3] = pass_noon
    result = airflow_run.execute(deploy(wait_for="complete", past="2026-01-31T12:00:00Z", deferrable=deferrable))

    assert len(airflow_run.pauses) >= 3
    assert (result["state"], result["lineage"], result["certificate"]["id"]) == ("Running", "1f", "gate_1")
    asked = [request.query for request in plane.matching_requests("GET", "/watermark$") if "past" in request.query]
    assert {(query["past"], query["dag_id"]) for query in asked} == {(str(to_micros(NOON)), "a_dag")}


def test_a_deployment_that_was_replaced_meanwhile_warns(
    plane: FakeControlPlane, airflow_run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    plane.new_pipelines_become("Scheduling", "Scheduling", "Running")

    def deploy_another() -> None:
        next(iter(plane.pipelines.values())).version += 1

    airflow_run.at_pause[1] = deploy_another
    result = airflow_run.execute(deploy(wait_for="running"))

    assert result["version"] == 2
    assert "version 1 of this task was replaced by version 2" in capsys.readouterr().out


def test_complete_output_is_that_of_the_data_interval_by_default(plane: FakeControlPlane, airflow_run: Run) -> None:
    airflow_run.data_interval_end = NOON
    plane.add("clicks").watermarks = deque([NOON])

    airflow_run.execute(deploy(wait_for="complete"))

    asked = [request.query.get("past") for request in plane.matching_requests("GET", "/watermark$")]
    assert str(to_micros(NOON)) in asked


def test_without_a_data_interval_the_instant_must_be_named(plane: FakeControlPlane, airflow_run: Run) -> None:
    with pytest.raises(NoDataIntervalError, match="has no data interval") as raised:
        airflow_run.execute(deploy(wait_for="complete"))

    assert "Give StreamingSqlOperator the instant" in (raised.value.hint or "")
    assert not plane.pipelines


def test_waiting_for_nothing_asks_once(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.new_pipelines_become("Created")

    assert airflow_run.execute(deploy(wait_for="none"))["state"] == "Created"
    assert not airflow_run.pauses


@pytest.mark.parametrize(
    ("choice", "requests"),
    [("detach", []), ("stop", ["PATCH"]), ("savepoint_and_stop", ["POST"])],
)
def test_a_killed_task_does_what_was_chosen_and_does_not_end_well(
    plane: FakeControlPlane, airflow_run: Run, choice: Any, requests: list[str]
) -> None:
    plane.new_pipelines_become("Scheduling")
    task = deploy(on_kill=choice)
    airflow_run.at_pause[1] = task.on_kill

    with pytest.raises(DetachedError):
        airflow_run.execute(task)
    assert [request.method for request in plane.requests if request.method in ("POST", "PATCH")] == requests


def test_a_worker_that_goes_away_before_deferring_stops_nothing(plane: FakeControlPlane) -> None:
    task = deploy(on_kill="stop", deferrable=True)

    task.on_kill()

    assert not plane.requests


def test_functions_may_stand_in_files_beside_the_dag(plane: FakeControlPlane, airflow_run: Run, tmp_path: Path) -> None:
    (tmp_path / "plus.py").write_text("def plus(x): return f'{{x}}'")
    with DAG("functions"):
        task = deploy(udfs=["plus.py", "def one():\n    return 1"])
    task.dag.fileloc = str(tmp_path / "dag.py")

    airflow_run.execute(task)

    assert plane.pipelines["pl_1"].body["udfs"] == ["def plus(x): return f'{{x}}'", "def one():\n    return 1"]


@pytest.mark.parametrize("wrong", [{"wait_for": "ready"}, {"past": "not '"}, {"on_kill": "cancel"}])
def test_a_choice_that_does_not_exist_is_refused_when_the_dag_is_read(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not '"):
        deploy(**wrong)


def _at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _die() -> None:
    raise SystemExit(137)
