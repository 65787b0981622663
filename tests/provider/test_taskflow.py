"""Tasks made of functions and of lists, and what another try may mend."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.sdk import DAG, task

from airflow_provider_arroyo import errors
from airflow_provider_arroyo.decorators.streaming_sql import streaming_sql_task
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.testing import FakeControlPlane

from .tasks import DagSerialization, Run


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
