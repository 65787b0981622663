"""What Jinja makes of an operator's SQL: all that it knows, nothing that it does not, and no secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jinja2
import pytest
from airflow.sdk import DAG

from airflow_provider_arroyo.airflow_versions import AirflowFailException
from airflow_provider_arroyo.errors import TemplateError
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator

LENIENT = {"template_undefined": jinja2.Undefined}
KINDS: list[dict[str, Any]] = [{}, LENIENT, {"render_template_as_native_obj": True}, {**LENIENT, "catchup": False}]


def render(sql: str, context: dict[str, Any] | None = None, **dag: Any) -> str:
    """The script as the task would send it."""
    with DAG("templates", **dag) as owner:
        task = StreamingSqlOperator(task_id="deploy", pipeline="clicks", sql=sql)
    owner.fileloc = dag.get("template_searchpath", "/nowhere") + "/dag.py"
    task.render_template_fields(context or {"ds": "2026-01-31"})
    return task.sql


@pytest.mark.parametrize("dag", KINDS, ids=["usual", "lenient", "native", "lenient too"])
def test_a_variable_that_is_not_defined_is_refused_by_name_and_line(dag: dict[str, Any]) -> None:
    with pytest.raises(TemplateError, match=r"'KAFKA_PASSWORD' is undefined in line 2 of the template") as raised:
        render("SELECT 1;\nSELECT '{{ KAFKA_PASSWORD }}'", **dag)

    assert raised.value.code == "template.undefined"
    assert isinstance(raised.value, AirflowFailException)


def test_an_attribute_that_is_not_there_is_refused_by_name_and_line() -> None:
    with pytest.raises(TemplateError, match="has no attribute 'topic' in line 3"):
        render("SELECT\n1,\n'{{ params.topic }}'", {"params": {"table": "a"}}, **LENIENT)


def test_a_variable_of_a_list_or_a_setting_is_refused_too() -> None:
    with DAG("templates", **LENIENT):
        task = StreamingSqlOperator(
            task_id="deploy", pipeline="clicks", sql="SELECT 1", settings={"memory": "{{ gone }}"}
        )

    with pytest.raises(TemplateError, match="'gone' is undefined"):
        task.render_template_fields({"ds": "2026-01-31"})


def test_a_default_stands_in_for_what_is_not_defined() -> None:
    assert render("SELECT '{{ topic | default('orders') }}', '{{ ds }}'", **LENIENT) == "SELECT 'orders', '2026-01-31'"


def test_the_reference_to_a_secret_passes_through_a_template() -> None:
    sql = "CREATE TABLE t WITH (password = '${secret:KAFKA}', host = '${ARROYO_VAR_HOST}', day = '{{ ds }}')"

    assert render(sql) == sql.replace("{{ ds }}", "2026-01-31")


def test_the_spelling_of_scripts_is_refused_with_the_one_that_works() -> None:
    with pytest.raises(TemplateError, match="in line 2 of the template") as raised:
        render("SELECT 1;\nSELECT '{{ secret:KAFKA }}'")

    assert raised.value.code == "template.syntax"
    assert "${secret:NAME}" in (raised.value.hint or "")


def test_the_line_is_that_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "orders.sql").write_text("-- orders\n\nSELECT '{{ nobody }}'\n")

    with pytest.raises(TemplateError, match=r"'nobody' is undefined in line 3 of .*orders\.sql"):
        render("orders.sql", template_searchpath=str(tmp_path))
