"""The page about the provider mentions all there is, and each task has a page of its own that says what is true."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import BaseOperator

from airflow_provider_arroyo.get_provider_info import get_provider_info
from airflow_provider_arroyo.notifications.arroyo import ArroyoNotifier
from airflow_provider_arroyo.operators.delete import DeletePipelineOperator
from airflow_provider_arroyo.operators.move import MoveOperator
from airflow_provider_arroyo.operators.next_partition import NextPartitionOperator
from airflow_provider_arroyo.operators.push_partitions import PushPartitionsOperator
from airflow_provider_arroyo.operators.rehearse import RehearseOperator
from airflow_provider_arroyo.operators.rescale import RescaleOperator
from airflow_provider_arroyo.operators.savepoint import SavepointOperator
from airflow_provider_arroyo.operators.savepoint_retention import SavepointRetentionOperator
from airflow_provider_arroyo.operators.start import StartStreamingJobOperator
from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator
from airflow_provider_arroyo.operators.stream_backfill import StreamBackfillOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.sensors.checkpoint import CheckpointSensor
from airflow_provider_arroyo.sensors.freshness import FreshnessSensor
from airflow_provider_arroyo.sensors.job_state import StreamingJobSensor
from airflow_provider_arroyo.sensors.lag import LagSensor
from airflow_provider_arroyo.sensors.watermark import WatermarkSensor
from engine.docs.airflow import GROUPS, airflow_pages, documented, documented_page, parameters_of, templated_of

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "airflow.md").read_text()
TASKS = [
    StreamingSqlOperator,
    StreamBackfillOperator,
    SavepointOperator,
    SavepointRetentionOperator,
    RehearseOperator,
    RescaleOperator,
    MoveOperator,
    StartStreamingJobOperator,
    StopStreamingJobOperator,
    DeletePipelineOperator,
    NextPartitionOperator,
    PushPartitionsOperator,
    WatermarkSensor,
    CheckpointSensor,
    StreamingJobSensor,
    FreshnessSensor,
    LagSensor,
    ArroyoNotifier,
]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.__name__)
def test_every_task_and_each_of_its_parameters_is_explained(task: Any) -> None:
    parameters = [name for name in inspect.signature(task.__init__).parameters if name not in ("self", "kwargs")]

    assert re.search(rf"(`|\*\*){task.__name__}(`|\*\*)", PAGE)
    assert [name for name in parameters if not re.search(rf"`{name}[`=]", PAGE)] == []
    assert all(f":param {name}:" in task.__doc__ for name in parameters)


def test_every_field_of_the_connection_form_is_explained() -> None:
    [kind] = get_provider_info()["connection-types"]
    labels = [field["label"] for field in kind["conn-fields"].values()]

    assert [label for label in [*labels, "Token", "Scheme"] if label not in PAGE] == []


def classes_of(kind: str) -> list[Any]:
    """The operators, sensors or triggers that the provider says it has."""
    names = [name for group in get_provider_info()[kind] for name in group["python-modules"]]
    return [
        value
        for module in map(importlib.import_module, names)
        for name, value in vars(module).items()
        if inspect.isclass(value) and value.__module__ == module.__name__ and name.endswith(kind[:-1].capitalize())
        if not module.__name__.endswith(".base")
    ]


ALL = [kind for kinds in ("operators", "sensors", "triggers") for kind in classes_of(kinds)]


def taken_by(kind: type) -> dict[str, Any]:
    """What a class takes by name, of that which is ours."""
    found: dict[str, Any] = {}
    for known in kind.__mro__:
        if known.__module__.startswith("airflow_provider_arroyo.") and "__init__" in vars(known):
            for name, parameter in list(inspect.signature(vars(known)["__init__"]).parameters.items())[1:]:
                if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
                    found.setdefault(name, parameter.default)
    return found


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_each_has_a_page_that_says_what_it_takes(kind: Any) -> None:
    each = documented()[kind.__name__]
    told, taken = {parameter.name: parameter for parameter in parameters_of(each)}, taken_by(kind)

    assert each.path in airflow_pages()
    assert told.keys() == taken.keys() - each.settled
    required = {name for name, default in taken.items() if default is inspect.Parameter.empty}
    assert {name for name, parameter in told.items() if parameter.default is None} == required
    assert [name for name, parameter in told.items() if not parameter.text] == []
    if issubclass(kind, BaseOperator):
        assert templated_of(each) == set(kind.template_fields)
        assert "## Example" in documented_page(each)
    for name in each.settled:
        assert name not in told, "it is settled"
        with pytest.raises(TypeError, match=name):
            kind(task_id="t", **{name: True}, **dict.fromkeys(required, "x"))


def test_every_public_class_has_a_page_and_an_example() -> None:
    for name in ("ArroyoNotifier", "streaming_sql_task", "streaming_dag", "temporary_pipeline"):
        assert "## Example" in documented_page(documented()[name]), name


def test_each_operator_and_sensor_is_in_one_group_of_the_index() -> None:
    grouped = [name for names in GROUPS.values() for name in names]

    assert sorted(grouped) == sorted(one.__name__ for kind in ("operators", "sensors") for one in classes_of(kind))
