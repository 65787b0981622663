"""A folder of scripts is one DAG: all plans before the first deployment, deployments in their order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, BaseHook

from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.operators.upgrade_plan import UpgradePlanOperator
from airflow_provider_arroyo.streaming_dag import read_scripts, streaming_dag
from airflow_provider_arroyo.testing import FakeControlPlane

from .tasks import DagSerialization, Run


def write(folder: Path, **scripts: str) -> Path:
    for name, text in scripts.items():
        (folder / f"{name}.sql").write_text(text)
    return folder


def deployments(dag: DAG) -> dict[str, set[str]]:
    """What is deployed, and what of that right before it."""
    deploys = [task for task in dag.tasks if isinstance(task, StreamingSqlOperator)]
    return {
        task.pipeline: {up.removesuffix(".deploy") for up in task.upstream_task_ids} - {"planned"} for task in deploys
    }


def test_each_file_is_a_pipeline_and_all_are_planned_before_the_first_is_deployed(tmp_path: Path) -> None:
    dag = streaming_dag(write(tmp_path, orders="SELECT 1", hours="SELECT 2", _tables="SELECT 3"), dag_id="shop")

    assert deployments(dag) == {"orders": set(), "hours": set()}
    planned = dag.get_task("planned")
    assert planned.upstream_task_ids == {"orders.plan", "hours.plan"}
    assert planned.downstream_task_ids == {"orders.deploy", "hours.deploy"}


def test_a_file_says_itself_what_comes_before_it_and_the_dag_may_say_more(tmp_path: Path) -> None:
    top = "-- What is sold.\n-- After: orders, clicks.sql\n\nSELECT 1\n-- after: nothing\n"
    folder = write(tmp_path, hours=top, orders="SELECT 1", clicks="SELECT 2", days="-- after: hours\nSELECT 3")

    dag = streaming_dag(folder, after={"clicks": ["orders"]})

    assert deployments(dag) == {"orders": set(), "clicks": {"orders"}, "hours": {"orders", "clicks"}, "days": {"hours"}}
    assert dag.get_task("hours.deploy").doc_md == "What is sold."
    assert dag.dag_id == tmp_path.name


@pytest.mark.parametrize(
    ("scripts", "arguments", "words"),
    [
        ({}, {}, "there is no .sql file"),
        ({"a": "-- after: b"}, {}, "there is no b.sql"),
        ({"a": ""}, {"after": {"b": ["a"]}}, "there is no b.sql"),
        ({"a": "-- after: b", "b": "-- after: a"}, {}, "wait for each other"),
        ({"a": ""}, {"files": {"b": {}}}, "files names b"),
    ],
)
def test_a_folder_that_makes_no_sense_is_refused_when_the_dag_is_read(
    tmp_path: Path, scripts: dict[str, str], arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        streaming_dag(write(tmp_path, **scripts), **arguments)


def test_reading_the_dag_reads_no_further_than_the_first_statement(tmp_path: Path) -> None:
    (tmp_path / "orders.sql").write_bytes(b"-- The orders.\nSELECT 1;\n" + b" " * 100_000 + b"\xff is no text")

    [script] = read_scripts(tmp_path)

    assert script.meaning == "The orders."


def test_reading_the_dag_asks_nobody_and_it_comes_back_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("asked while the file was read")

    monkeypatch.setattr(BaseHook, "get_connection", refuse)
    monkeypatch.setattr("socket.socket.connect", refuse)

    dag = streaming_dag(write(tmp_path, orders="SELECT 1"), operator_args={"settings": {"quick": "true"}})

    stored = DagSerialization.deserialize_dag(DagSerialization.serialize_dag(dag))
    assert set(stored.task_dict) == {"planned", "orders.plan", "orders.deploy"}
    assert dag.fileloc == __file__


def test_arguments_are_of_all_files_or_of_one_and_functions_are_beside_the_scripts(tmp_path: Path) -> None:
    folder = write(tmp_path, orders="SELECT 1", hours="SELECT 2")
    both = {"arroyo_conn_id": "far", "parallelism": 2, "udfs": ["shops.py", "def f():\n    ..."]}

    dag = streaming_dag(folder, operator_args=both, files={"hours": {"parallelism": 4, "reset": ["tumble-1"]}})

    [orders, hours] = [dag.get_task(f"{name}.deploy") for name in ("orders", "hours")]
    plan = dag.get_task("hours.plan")
    assert isinstance(orders, StreamingSqlOperator)
    assert isinstance(hours, StreamingSqlOperator)
    assert isinstance(plan, UpgradePlanOperator)
    assert (orders.parallelism, hours.parallelism, list(orders.reset)) == (2, 4, [])
    assert (plan.arroyo_conn_id, plan.reset, plan.udfs) == ("far", ["tumble-1"], hours.udfs)
    assert orders.udfs == [str(tmp_path / "shops.py"), "def f():\n    ..."]


def test_scripts_bring_in_what_they_share_and_are_rendered_when_they_are_planned(
    tmp_path: Path, plane: FakeControlPlane, airflow_run: Run
) -> None:
    tables = "{% macro orders(kind) %}CREATE TABLE orders WITH (type = '{{ kind }}');{% endmacro %}"
    script = "{% from '_tables.sql' import orders %}{{ orders('sink') }} SELECT '{{ ds }}'"
    dag = streaming_dag(write(tmp_path, _tables=tables, orders=script))
    deploy = dag.get_task("orders.deploy")
    deploy.resolve_template_files()
    deploy.render_template_fields({"ds": "2026-01-31", "dag": dag})

    airflow_run.execute(deploy)

    [request] = plane.matching_requests("PUT")
    assert request.body["query"] == "CREATE TABLE orders WITH (type = 'sink'); SELECT '2026-01-31'"


@pytest.mark.parametrize(("plan", "accepted"), [("88aa", "88aa"), (None, None)])
def test_exactly_the_plan_that_was_approved_is_deployed(
    tmp_path: Path, plane: FakeControlPlane, airflow_run: Run, plan: str | None, accepted: str | None
) -> None:
    dag = streaming_dag(write(tmp_path, orders="SELECT 1"), on_loss="approve")
    deploy = dag.get_task("orders.deploy")
    context = airflow_run.context(deploy)
    airflow_run.pushed["return_value"] = {"id": plan}
    context["ti"].xcom_pull = lambda task_ids: {"orders.plan": {"id": plan}}[task_ids]
    context["dag"] = dag
    deploy.resolve_template_files()
    deploy.render_template_fields(context)

    airflow_run.execute(deploy)

    [request] = plane.matching_requests("PUT")
    assert request.body.get("accept_loss") == accepted
    plan_task = dag.get_task("orders.plan")
    assert isinstance(plan_task, UpgradePlanOperator)
    assert plan_task.on_loss == "approve"
