"""Tasks made of functions and of lists, and what another try may mend."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from airflow.sdk import DAG, RetryAction, task
from airflow.serialization.serialized_objects import DagSerialization

from airflow_provider_arroyo import errors
from airflow_provider_arroyo.airflow_versions import AirflowNotFoundException
from airflow_provider_arroyo.decorators.streaming_sql import streaming_sql_task
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.retries import ArroyoRetryPolicy
from airflow_provider_arroyo.testing import FakeControlPlane

from .tasks import Run


def of_function(function: Any, *arguments: Any, **options: Any) -> Any:
    """The task that calling the decorated function makes."""
    with DAG("a_dag", schedule=None):
        decorate: Any = streaming_sql_task(function, pipeline="orders", **options)
        return decorate(*arguments).operator


def test_airflow_knows_the_decorator_by_its_name() -> None:
    with DAG("a_dag", schedule=None) as dag:

        @task.streaming_sql(pipeline="orders")
        def orders() -> str:
            return "SELECT 1"

        orders()

    stored = DagSerialization.deserialize_dag(DagSerialization.serialize_dag(dag))
    assert vars(type(dag.get_task("orders")))["custom_operator_name"] == "@task.streaming_sql"
    assert stored.get_task("orders").task_type == "_StreamingSqlDecoratedOperator"


@pytest.mark.parametrize("deferrable", [False, True])
def test_the_script_that_a_function_returns_is_rendered_and_deployed(
    deferrable: bool, plane: FakeControlPlane, airflow_run: Run
) -> None:
    def script(shops: list[str], ti: Any) -> str:
        return ";".join(f"SELECT '{shop} of {{{{ ti.dag_id }}}} {ti.dag_id}'" for shop in shops)

    result = airflow_run.execute(of_function(script, ["north", "south"], deferrable=deferrable))

    [request] = plane.matching_requests("PUT")
    assert request.body["query"] == "SELECT 'north of a_dag a_dag';SELECT 'south of a_dag a_dag'"
    assert result["state"] == "Running"


@pytest.mark.parametrize("returned", [None, "", "  ", 3])
def test_a_function_without_a_script_deploys_nothing(returned: Any, plane: FakeControlPlane, airflow_run: Run) -> None:
    with pytest.raises(errors.ScriptFunctionError, match="script returned"):
        airflow_run.execute(of_function(_giving(returned)))

    assert plane.matching_requests("PUT") == []


def _giving(returned: Any) -> Any:
    def script() -> Any:
        return returned

    return script


def test_a_task_that_was_approved_asks_its_function_again(airflow_run: Run) -> None:
    of = of_function(_giving("SELECT 2"), on_loss="approve")
    asked: list[str] = []
    of._plan = lambda: asked.append(of.sql)
    of._deploy = lambda context, wish: {"wish": wish.accept_loss}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("airflow_provider_arroyo.approval.check_answer", lambda *_: "p1")
        patch.setattr("airflow_provider_arroyo.approval.check_same", lambda *_: None)
        assert of.execute_approved(airflow_run.context(of)) == {"wish": "p1"}

    assert asked == ["SELECT 2"]


def test_a_list_of_pipelines_is_a_task_for_each(plane: FakeControlPlane, airflow_run: Run) -> None:
    with DAG("a_dag", schedule=None) as dag:
        mapped = StreamingSqlOperator.partial(task_id="deploy", deferrable=True).expand_kwargs(
            [{"pipeline": name, "sql": f"SELECT '{name}'"} for name in ("north", "south")]
        )
    DagSerialization.deserialize_dag(DagSerialization.serialize_dag(dag))

    for number, name in enumerate(("north", "south")):
        one = mapped.unmap({"pipeline": name, "sql": f"SELECT '{name}'"})
        airflow_run.store = type(airflow_run.store)() if airflow_run.store is not None else None
        assert airflow_run.execute(one)["name"] == name, number

    assert sorted(pipeline.name for pipeline in plane.pipelines.values()) == ["north", "south"]


POLICY = ArroyoRetryPolicy(timedelta(seconds=10), timedelta(seconds=60))


@pytest.mark.parametrize(
    ("error", "action"),
    [
        (errors.UnreachableError("gone"), RetryAction.RETRY),
        (errors.UnavailableError("busy"), RetryAction.RETRY),
        (errors.DetachedError("told to end"), RetryAction.RETRY),
        (errors.JobEndedError("lost its broker", code="source.gone"), RetryAction.DEFAULT),
        (errors.DeadlineError("not in time"), RetryAction.DEFAULT),
        (errors.BadAnswerError("html"), RetryAction.FAIL),
        (AirflowNotFoundException("no connection"), RetryAction.FAIL),
        (ValueError("no time"), RetryAction.FAIL),
        (json.JSONDecodeError("cut off", "{", 1), RetryAction.DEFAULT),
        (OSError("somebody else's"), RetryAction.DEFAULT),
    ],
)
def test_an_error_that_a_retry_may_resolve_is_retried(error: Exception, action: RetryAction) -> None:
    assert POLICY.evaluate(error, 1, 3).action is action


def test_a_control_plane_that_stays_away_is_asked_less_and_less() -> None:
    delays = [POLICY.evaluate(errors.UnreachableError("gone"), number, 99).retry_delay for number in (1, 2, 3, 4, 90)]

    assert delays == [timedelta(seconds=seconds) for seconds in (10, 20, 40, 60, 60)]
    assert POLICY.evaluate(errors.DetachedError("told to end"), 5, 9).retry_delay == timedelta(0)


def test_a_policy_comes_back_from_json_as_it_was() -> None:
    again = ArroyoRetryPolicy.deserialize(POLICY.serialize())

    assert (again.first_delay, again.most_delay) == (POLICY.first_delay, POLICY.most_delay)
    with pytest.raises(ValueError, match="first_delay"):
        ArroyoRetryPolicy(timedelta(0))
