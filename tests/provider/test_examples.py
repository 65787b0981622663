"""The example DAGs can be read: quickly, without asking anybody anything, and as Airflow stores them."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import airflow.sdk
import pytest
from airflow.sdk import DAG, BaseHook

import dags_examples

from .tasks import DagSerialization

FOLDER = Path(dags_examples.__file__).parent
EXAMPLES = sorted(
    path.stem
    for path in FOLDER.glob("*.py")
    if ("DAG(" in (text := path.read_text()) or "streaming_dag(" in text)
    and (hasattr(airflow.sdk, "PartitionedAssetTimetable") or "PartitionedAssetTimetable" not in text)
)
"""An Airflow without partitions cannot read those that use them."""
SYSTEM_TESTS = Path(__file__).parents[1] / "system"
PARTITIONED = {"batch_by_partitions", "pushed_hours"}
TOLD = {
    "the_whole_story": FOLDER / "demo_run.py",
    "spark_cluster": Path(__file__).with_name("test_spark_cluster_example.py"),
}
"""Examples that are played elsewhere: by `make demo`, which `test_example_dag.py` plays, and by a test of its own."""


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


def test_a_file_without_a_dag_is_not_read_as_one() -> None:
    ignored = (FOLDER / ".airflowignore").read_text().split()

    assert ignored == ["demo*"]
    others = {path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith(("demo", "__"))} - set(EXAMPLES)
    assert others <= (set() if hasattr(airflow.sdk, "PartitionedAssetTimetable") else PARTITIONED)


def test_every_example_is_played_by_a_test() -> None:
    played = {text for path in SYSTEM_TESTS.glob("test_*.py") for text in texts_of_plays(path)}

    assert set(EXAMPLES) <= played | set(TOLD)
    assert all(f"from dags_examples.{example} import dag" in runs.read_text() for example, runs in TOLD.items())


def texts_of_plays(path: Path) -> Iterator[str]:
    """The texts in those tests of a file that play examples, those of their parameters included."""
    for test in ast.parse(path.read_text()).body:
        nodes = list(ast.walk(test))
        if isinstance(test, ast.FunctionDef) and any(_is_play(node) for node in nodes):
            yield from (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_play(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("play", "play_all", "RealAirflow")
    )
