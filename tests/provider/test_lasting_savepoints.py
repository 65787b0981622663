"""Savepoints that are drilled, and rules of what is kept of them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_arroyo.errors import JobEndedError, RefusedError
from airflow_provider_arroyo.operators.savepoint import SavepointOperator
from airflow_provider_arroyo.operators.savepoint_retention import SavepointRetentionOperator, table
from airflow_provider_arroyo.retention import PruneAnswer, SavepointFate
from airflow_provider_arroyo.testing.control_plane import FakeControlPlane, FakePipeline

from .tasks import Run

both = pytest.mark.parametrize("deferrable", [False, True], ids=["on the worker", "deferred"])
SAVED = {"id": "sp_1", "state": "completed", "epoch": 4, "path": "/savepoints/sp_1", "bytes": 12}
RUNS = {**SAVED, "task": {"kind": "drill", "at": 0, "state": "running", "message": None}}
PROVEN = {**SAVED, "proven_at": 0, "task": {"kind": "drill", "at": 0, "state": "done", "message": "3 rows were read"}}
FAILED = {**SAVED, "task": {"kind": "drill", "at": 0, "state": "failed", "message": "the disk is full"}}
FATES = [{"id": "sp_1", "goes": True, "reason": "it is old"}, {"id": "sp_22", "goes": False, "reason": "it is pinned"}]


@pytest.fixture
def clicks(plane: FakeControlPlane) -> FakePipeline:
    return plane.add("clicks", fates=FATES)


def take(run: Run, deferrable: bool) -> Any:
    return run.execute(SavepointOperator(task_id="keep", pipeline="clicks", drill=True, deferrable=deferrable))


@both
def test_a_drill_is_asked_for_once_and_waited_for(clicks: FakePipeline, airflow_run: Run, deferrable: bool) -> None:
    clicks.drill = [RUNS, RUNS, RUNS, PROVEN]

    assert take(airflow_run, deferrable)["proven_at"] == "1970-01-01T00:00:00+00:00"
    assert clicks.drills_asked == 1


@both
def test_a_drill_that_ends_with_its_control_plane_is_asked_for_again(
    clicks: FakePipeline, airflow_run: Run, deferrable: bool
) -> None:
    clicks.drill = [RUNS, SAVED, RUNS]

    def prove() -> None:
        clicks.drill = [RUNS, PROVEN]

    airflow_run.at_pause[2] = prove
    assert take(airflow_run, deferrable)["savepoint_id"] == "sp_1"
    assert clicks.drills_asked == 2


@both
def test_a_drill_that_fails_fails_the_task_and_a_retry_takes_another_savepoint(
    clicks: FakePipeline, airflow_run: Run, deferrable: bool
) -> None:
    clicks.drill = [RUNS, FAILED]
    with pytest.raises(JobEndedError, match="not proven to be restorable: the disk is full") as raised:
        take(airflow_run, deferrable)
    assert raised.value.code == "savepoint.error"

    clicks.drill = [{**RUNS, "id": "sp_2"}, {**PROVEN, "id": "sp_2"}]
    assert take(airflow_run, deferrable)["savepoint_id"] == "sp_2"


def test_damage_has_its_code(clicks: FakePipeline, airflow_run: Run) -> None:
    clicks.drill = [{**FAILED, "damage": "a file is gone"}]

    with pytest.raises(JobEndedError) as raised:
        take(airflow_run, False)
    assert raised.value.code == "savepoint.damaged"


def test_without_a_drill_none_is_asked_for(clicks: FakePipeline, airflow_run: Run) -> None:
    result = airflow_run.execute(SavepointOperator(task_id="keep", pipeline="clicks"))

    assert ("proven_at" in result, clicks.drills_asked) == (False, 0)


def retention(**options: Any) -> SavepointRetentionOperator:
    return SavepointRetentionOperator(task_id="keep", pipeline="clicks", **options)


def prunings(plane: FakeControlPlane) -> list[tuple[Any, str]]:
    return [
        (request.body, request.query["dry_run"])
        for request in plane.matching_requests("POST")
        if request.path.endswith("prune")
    ]


def test_rules_are_set_and_applied(plane: FakeControlPlane, clicks: FakePipeline, airflow_run: Run) -> None:
    rules = {"keep_last": 3, "daily": 7, "max_age_micros": 86_400_000_000, "time_zone": "Asia/Tokyo"}
    task = retention(keep_last="3", daily=7, weekly="", max_age=timedelta(days=1), time_zone="Asia/Tokyo")

    result = airflow_run.execute(task)

    assert clicks.retention == rules
    assert prunings(plane) == [(rules, "false")]
    assert result == {"pipeline_id": clicks.id, "dry_run": False, "fates": FATES, "bytes": 12}


def test_two_tries_set_the_same_rules(plane: FakeControlPlane, clicks: FakePipeline, airflow_run: Run) -> None:
    assert airflow_run.execute(retention(keep_last=1)) == airflow_run.execute(retention(keep_last=1))
    assert clicks.retention == {"keep_last": 1, "time_zone": "UTC"}


def test_a_dry_run_changes_nothing(plane: FakeControlPlane, clicks: FakePipeline, airflow_run: Run) -> None:
    result = airflow_run.execute(retention(keep_last=1, dry_run=True))

    assert (result["dry_run"], clicks.retention) == (True, {})
    assert prunings(plane) == [({"keep_last": 1, "time_zone": "UTC"}, "true")]


def test_rules_for_once_leave_those_of_the_pipeline(
    plane: FakeControlPlane, clicks: FakePipeline, airflow_run: Run
) -> None:
    airflow_run.execute(retention(keep_last=1, once=True))

    assert clicks.retention == {}
    assert prunings(plane) == [({"keep_last": 1, "time_zone": "UTC"}, "false")]


def test_without_a_rule_those_of_the_pipeline_are_applied(
    plane: FakeControlPlane, clicks: FakePipeline, airflow_run: Run
) -> None:
    with pytest.raises(RefusedError, match="all savepoints are kept"):
        airflow_run.execute(retention())
    clicks.retention = {"keep_last": 1}

    airflow_run.execute(retention())

    assert prunings(plane)[-1] == (None, "false")
    assert clicks.retention == {"keep_last": 1}


def test_the_log_has_a_table() -> None:
    answer = PruneAnswer(True, tuple(SavepointFate(**fate) for fate in FATES), 12)

    assert table(answer) == (
        "SAVEPOINT            WHY\n"
        "sp_1       would go  it is old\n"
        "sp_22      stays     it is pinned\n"
        "size of those that would go: 12 bytes"
    )
