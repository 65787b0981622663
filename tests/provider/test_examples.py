"""The example DAGs can be read: quickly, without asking anybody anything, and as Airflow stores them."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, BaseHook
from airflow.serialization.serialized_objects import DagSerialization

import dags_examples

FOLDER = Path(dags_examples.__file__).parent
EXAMPLES = sorted(
    path.stem for path in FOLDER.glob("*.py") if "DAG(" in path.read_text() or "streaming_dag(" in path.read_text()
)


def read(example: str) -> DAG:
    """The DAG of an example, read afresh."""
    module = importlib.reload(importlib.import_module(f"dags_examples.{example}"))
    dag: DAG = module.dag
    return dag


@pytest.mark.parametrize("example", EXAMPLES)
def test_reading_an_example_asks_for_no_connection(example: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("asked while the file was read")

    monkeypatch.setattr(BaseHook, "get_connection", refuse)
    monkeypatch.setattr("socket.socket.connect", refuse)
    monkeypatch.setattr("sqlite3.connect", refuse)

    assert read(example).dag_id == example


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_comes_back_from_the_database_as_it_was(example: str) -> None:
    dag = read(example)
    stored = DagSerialization.deserialize_dag(DagSerialization.serialize_dag(dag))

    assert set(stored.task_dict) == set(dag.task_dict)
    assert {"arroyo", "example"} <= set(dag.tags)
    assert dag.doc_md


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_tried_again_when_a_worker_dies(example: str) -> None:
    assert all(task.retries for task in read(example).tasks)


def test_what_is_no_dag_is_not_read_as_one() -> None:
    ignored = (FOLDER / ".airflowignore").read_text().split()

    assert ignored == ["demo*"]
    assert all(path.stem in EXAMPLES or path.stem.startswith(("demo", "__")) for path in FOLDER.glob("*.py"))
