"""Tasks that plan an upgrade, and that deploy with one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from copy import copy
from typing import Any

import pytest
from airflow.sdk import exceptions

from airflow_provider_arroyo.airflow_versions import AirflowFailException, TaskDeferred
from airflow_provider_arroyo.errors import UpgradeRefusedError
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.operators.upgrade_plan import UpgradePlanOperator
from airflow_provider_arroyo.testing.control_plane import FakeControlPlane
from dags_examples import upgrade_with_approval

from .tasks import Run

KEPT = {"id": "3f0c", "is_refused": False, "loses_nothing": True, "text": "kept", "plan": {"verdicts": []}}
LOSES = KEPT | {"id": "88aa", "loses_nothing": False, "text": "tumble is given up"}
REFUSED = LOSES | {"is_refused": True}


def planning(**options: Any) -> UpgradePlanOperator:
    return UpgradePlanOperator(task_id="plan", pipeline="clicks", sql="SELECT 2", **options)


def test_a_plan_is_the_result_of_its_task(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("clicks").plan = KEPT

    assert airflow_run.execute(planning()) == KEPT | {"markdown": ""}


def test_without_a_pipeline_nothing_can_be_lost(plane: FakeControlPlane, airflow_run: Run) -> None:
    assert airflow_run.execute(planning())["loses_nothing"]


@pytest.mark.parametrize(("plan", "on_loss"), [(LOSES, "fail"), (REFUSED, "fail"), (REFUSED, "report")])
def test_a_loss_fails_the_task_and_so_does_what_cannot_be_done(
    plane: FakeControlPlane, airflow_run: Run, plan: dict[str, Any], on_loss: str
) -> None:
    plane.add("clicks").plan = plan

    with pytest.raises(UpgradeRefusedError, match="tumble is given up"):
        airflow_run.execute(planning(on_loss=on_loss))


def test_a_later_task_may_decide_on_a_loss(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("clicks").plan = LOSES

    assert airflow_run.execute(planning(on_loss="report"))["id"] == "88aa"


def test_a_deployment_may_only_plan(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("clicks").plan = LOSES
    task = StreamingSqlOperator(task_id="deploy", pipeline="clicks", sql="SELECT 2", upgrade="plan_only")

    assert airflow_run.execute(task)["id"] == "88aa"
    assert plane.matching_requests("PUT") == []


def test_a_deployment_says_what_may_be_lost(plane: FakeControlPlane, airflow_run: Run) -> None:
    task = StreamingSqlOperator(
        task_id="deploy",
        pipeline="clicks",
        sql="SELECT 2",
        keep_state=["a"],
        reset=["b"],
        hold_back=["c"],
        accept_loss="88aa",
    )
    airflow_run.execute(task)

    (request,) = plane.matching_requests("PUT")
    sent = request.body
    assert (sent["keep_state"], sent["reset"], sent["hold_back"], sent["accept_loss"]) == (["a"], ["b"], ["c"], "88aa")
    assert "upgrade" not in sent


@pytest.fixture
def questions(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What persons are asked."""
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr("airflow.sdk.execution_time.hitl.upsert_hitl_detail", lambda **question: asked.append(question))
    return asked


def deploying(**options: Any) -> StreamingSqlOperator:
    return StreamingSqlOperator(task_id="deploy", pipeline="clicks", sql="SELECT 2", on_loss="approve", **options)


def ask(run: Run, task: Any) -> Any:
    """Return what a task raises to wait for a person: from Airflow 3.3 on there is an exception of its own, and before
    it is deferred, with a trigger that waits."""
    waits: Any = getattr(exceptions, "TaskAwaitingInput", TaskDeferred)
    with pytest.raises(waits) as waiting:
        task.execute(run.context(task))
    return waiting.value


APPROVED = {"chosen_options": ["Approve"], "params_input": {}, "responded_by_user": {"id": "1", "name": "ann"}}
REJECTED = APPROVED | {"chosen_options": ["Reject"]}
LATE = {"error": "too late", "error_type": "timeout"}


@pytest.mark.parametrize("make", [lambda: planning(on_loss="approve"), deploying], ids=["plan", "deploy"])
def test_a_person_is_shown_the_plan_and_the_id_that_they_approve(
    plane: FakeControlPlane, airflow_run: Run, questions: list[dict[str, Any]], make: Callable[[], Any]
) -> None:
    plane.add("clicks").plan = LOSES | {"markdown": "**tumble** is given up"}

    waiting = ask(airflow_run, make())

    (question,) = questions
    assert "88aa" in question["subject"]
    assert (question["body"], question["options"]) == ("**tumble** is given up", ["Approve", "Reject"])
    assert waiting.method_name == "execute_approved"
    assert plane.matching_requests("PUT") == []


def test_an_older_airflow_waits_for_a_person_in_the_triggerer(
    plane: FakeControlPlane, airflow_run: Run, questions: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(exceptions, "TaskAwaitingInput", raising=False)
    plane.add("clicks").plan = LOSES

    waiting = ask(airflow_run, deploying(wait_timeout=60))

    assert isinstance(waiting, TaskDeferred)
    assert len(questions) == 1
    assert waiting.method_name == "execute_approved"
    assert waiting.trigger.serialize()[0] == "airflow.providers.standard.triggers.hitl.HITLTrigger"


def test_approval_is_refused_where_no_response_is_possible(
    plane: FakeControlPlane, airflow_run: Run, questions: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(exceptions, "TaskAwaitingInput", raising=False)
    monkeypatch.setitem(sys.modules, "airflow.providers.standard.triggers.hitl", None)
    plane.add("clicks").plan = LOSES

    with pytest.raises(UpgradeRefusedError, match=r"upgrade\.cannot_ask"):
        airflow_run.execute(deploying())
    assert questions == []


def test_the_approved_plan_is_deployed(
    plane: FakeControlPlane, airflow_run: Run, questions: list[dict[str, Any]]
) -> None:
    plane.add("clicks").plan = LOSES
    task = deploying()
    ask(airflow_run, task)

    task.execute_approved(airflow_run.context(task), event=APPROVED)

    (request,) = plane.matching_requests("PUT")
    assert request.body["accept_loss"] == "88aa"


def test_the_plan_that_was_approved_is_the_result(
    plane: FakeControlPlane, airflow_run: Run, questions: list[dict[str, Any]]
) -> None:
    plane.add("clicks").plan = LOSES
    task = planning(on_loss="approve")
    ask(airflow_run, task)

    assert task.execute_approved(airflow_run.context(task), event=APPROVED)["id"] == "88aa"


@pytest.mark.parametrize("make", [lambda: planning(on_loss="approve"), deploying], ids=["plan", "deploy"])
def test_each_mapped_task_uses_its_own_approved_plan(
    plane: FakeControlPlane, airflow_run: Run, questions: list[dict[str, Any]], make: Callable[[], Any]
) -> None:
    plane.add("clicks").plan = LOSES
    airflow_run.map_index = 1
    task = make()
    ask(airflow_run, task)

    task.execute_approved(airflow_run.context(task), event=APPROVED)


@pytest.mark.parametrize(("answer", "code"), [(REJECTED, "upgrade.rejected"), (LATE, "upgrade.not_approved")])
@pytest.mark.parametrize("make", [lambda: planning(on_loss="approve"), deploying], ids=["plan", "deploy"])
def test_a_plan_without_approval_is_not_deployed(
    plane: FakeControlPlane,
    airflow_run: Run,
    questions: list[dict[str, Any]],
    make: Callable[[], Any],
    answer: dict[str, Any],
    code: str,
) -> None:
    plane.add("clicks").plan = LOSES
    task = make()
    ask(airflow_run, task)

    with pytest.raises(UpgradeRefusedError, match="plan 88aa") as refused:
        task.execute_approved(airflow_run.context(task), event=answer)

    assert refused.value.code == code
    assert plane.matching_requests("PUT") == []


def test_a_rejection_changes_nothing_in_the_example_and_is_the_end_of_its_run(
    plane: FakeControlPlane, airflow_run: Run, questions: list[dict[str, Any]]
) -> None:
    plane.add("counts").plan = LOSES
    example = upgrade_with_approval.dag
    task: Any = copy(example.get_task("upgrade"))
    task.reset = example.params["reset"]
    ask(airflow_run, task)

    with pytest.raises(AirflowFailException, match="was rejected by ann"):  # which no retry follows
        task.execute_approved(airflow_run.context(task), event=REJECTED)

    assert len(questions) == 1
    assert [request.method for request in plane.requests if request.method not in ("GET", "POST")] == []
    assert [request.path.rpartition("/")[2] for request in plane.matching_requests("POST")] == ["plan"]
    assert task.get_flat_relative_ids(upstream=False) == {"roll_back", "restore", "stop"}
    assert [found.task_id for found in example.teardowns] == ["stop"]
    assert not any(found.on_failure_fail_dagrun for found in example.teardowns)


@pytest.mark.parametrize("make", [lambda: planning(on_loss="approve"), deploying], ids=["plan", "deploy"])
def test_another_plan_than_the_approved_one_is_not_deployed(
    plane: FakeControlPlane, airflow_run: Run, questions: list[dict[str, Any]], make: Callable[[], Any]
) -> None:
    pipeline = plane.add("clicks")
    pipeline.plan = LOSES
    task = make()
    ask(airflow_run, task)
    pipeline.plan = LOSES | {"id": "99bb"}

    with pytest.raises(UpgradeRefusedError, match="plan 88aa was approved, and it is plan 99bb") as refused:
        task.execute_approved(airflow_run.context(task), event=APPROVED)

    assert refused.value.code == "upgrade.plan_changed"
    assert plane.matching_requests("PUT") == []


def test_a_plan_without_loss_is_deployed_without_approval(
    plane: FakeControlPlane, airflow_run: Run, questions: list[dict[str, Any]]
) -> None:
    plane.add("clicks").plan = KEPT

    airflow_run.execute(deploying())

    assert questions == []
    assert len(plane.matching_requests("PUT")) == 1


def test_a_refused_plan_is_not_shown_for_approval(
    plane: FakeControlPlane, airflow_run: Run, questions: list[dict[str, Any]]
) -> None:
    plane.add("clicks").plan = REFUSED

    with pytest.raises(UpgradeRefusedError):
        airflow_run.execute(planning(on_loss="approve"))

    assert questions == []


@pytest.mark.parametrize("options", [{"upgrade": "never"}, {"upgrade": "plan_only"}, {"force": True}])
def test_approval_without_a_plan_is_refused_when_the_dag_is_read(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="approve"):
        deploying(**options)


@pytest.mark.parametrize("options", [{"upgrade": "maybe"}, {"on_loss": "maybe"}])
def test_a_typing_error_is_refused_when_the_dag_is_read(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not 'maybe'"):
        StreamingSqlOperator(task_id="deploy", pipeline="clicks", sql="SELECT 2", **options)
    with pytest.raises(ValueError, match="not 'maybe'"):
        planning(on_loss="maybe")
