"""Tasks that plan an upgrade, and that deploy with one."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_arroyo.errors import UpgradeRefusedError
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.operators.upgrade_plan import UpgradePlanOperator

from .fake_control_plane import FakeControlPlane
from .tasks import Run

KEPT = {"id": "3f0c", "is_refused": False, "loses_nothing": True, "text": "kept", "plan": {"verdicts": []}}
LOSES = KEPT | {"id": "88aa", "loses_nothing": False, "text": "tumble is given up"}
REFUSED = LOSES | {"is_refused": True}


def planning(**options: Any) -> UpgradePlanOperator:
    return UpgradePlanOperator(task_id="plan", pipeline="clicks", sql="SELECT 2", **options)


def test_a_plan_is_the_result_of_its_task(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("clicks").plan = KEPT

    assert airflow_run.execute(planning()) == KEPT


def test_without_a_pipeline_nothing_can_be_lost(plane: FakeControlPlane, airflow_run: Run) -> None:
    assert airflow_run.execute(planning())["loses_nothing"]


@pytest.mark.parametrize(("plan", "on_loss"), [(LOSES, "fail"), (REFUSED, "fail"), (REFUSED, "report")])
def test_a_loss_fails_the_task_and_so_does_what_cannot_be_done(
    plane: FakeControlPlane, airflow_run: Run, plan: dict[str, Any], on_loss: str
) -> None:
    plane.add("clicks").plan = plan

    with pytest.raises(UpgradeRefusedError, match="tumble is given up"):
        airflow_run.execute(planning(on_loss=on_loss))


def test_who_follows_may_decide_on_a_loss(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("clicks").plan = LOSES

    assert airflow_run.execute(planning(on_loss="report"))["id"] == "88aa"


def test_a_deployment_may_only_plan(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("clicks").plan = LOSES
    task = StreamingSqlOperator(task_id="deploy", pipeline="clicks", sql="SELECT 2", upgrade="plan_only")

    assert airflow_run.execute(task)["id"] == "88aa"
    assert plane.matching_requests("PUT") == []


def test_a_deployment_says_what_may_be_lost(plane: FakeControlPlane, airflow_run: Run) -> None:
    task = StreamingSqlOperator(
        task_id="deploy", pipeline="clicks", sql="SELECT 2", keep_state=["a"], reset=["b"], accept_loss="88aa"
    )
    airflow_run.execute(task)

    (request,) = plane.matching_requests("PUT")
    sent = request.body
    assert (sent["keep_state"], sent["reset"], sent["accept_loss"]) == (["a"], ["b"], "88aa")
    assert "upgrade" not in sent


@pytest.mark.parametrize("options", [{"upgrade": "maybe"}])
def test_a_typing_error_is_refused_when_the_dag_is_read(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not 'maybe'"):
        StreamingSqlOperator(task_id="deploy", pipeline="clicks", sql="SELECT 2", **options)
    with pytest.raises(ValueError, match="not 'maybe'"):
        planning(on_loss="maybe")
