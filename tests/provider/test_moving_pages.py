"""What the pages for those who come from elsewhere say of our tasks is true of the code."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, task

from airflow_provider_arroyo.get_provider_info import get_provider_info

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted((DOCS / "how-to").glob("moving-from-*.md"))


def test_there_is_a_page_for_each_and_a_way_to_it() -> None:
    assert [page.stem for page in PAGES] == [
        f"moving-from-{place}" for place in ("databricks", "flink", "spark-submit")
    ]
    for page in PAGES:
        assert f"({page.name})" in (DOCS / "how-to" / "airflow.md").read_text()
        assert f"(how-to/{page.name})" in (DOCS / "index.md").read_text()
        assert f"how-to/{page.name}" in (DOCS.parent / "mkdocs.yml").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_snippet_that_a_page_ends_in_makes_tasks_of_ours(page: Path) -> None:
    [snippet] = re.findall(r"^## After\n\n```python\n(.*?)```", page.read_text(), re.DOTALL | re.MULTILINE)

    with DAG("a_dag", schedule=None) as dag:

        @task
        def read_hour() -> None:
            """Read what is complete."""

        exec(snippet, {"read_hour": read_hour, "timedelta": timedelta})

    [last] = dag.leaves
    assert last.task_id == "read_hour"
    assert {type(each).__module__.split(".")[0] for each in last.upstream_list} == {"airflow_provider_arroyo"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_features_that_the_comparison_claims_exist(page: Path) -> None:
    ours = "\n".join(row.split(" | ")[1] for row in page.read_text().splitlines() if row.startswith("| "))
    classes = _tasks()

    assert set(re.findall(r"\b[A-Z]\w+(?:Operator|Sensor)\b", ours)) <= set(classes)
    parameters = {name for each in classes.values() for kind in each.__mro__ for name in _names_of(kind)}
    written = set(re.findall(r"\b(\w+)=", ours)) | set(re.findall(r"`(\w+_\w+)`", ours))
    assert written - parameters - {"max_epoch_rows", "start_from"} == set()


def _tasks() -> dict[str, Any]:
    import importlib

    info = get_provider_info()
    modules = [name for kind in ("operators", "sensors") for entry in info[kind] for name in entry["python-modules"]]
    loaded = [vars(importlib.import_module(name)) for name in modules]
    return {name: each for module in loaded for name, each in module.items() if re.search("(Operator|Sensor)$", name)}


def _names_of(kind: type) -> tuple[str, ...]:
    """The parameters of a class's own constructor; Airflow wraps that."""
    own: Any = vars(kind).get("__init__")
    code: Any = getattr(getattr(own, "__wrapped__", own), "__code__", None)
    return () if code is None else tuple(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
