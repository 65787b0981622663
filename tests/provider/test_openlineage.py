"""What the OpenLineage provider is told of tasks, as its client writes it."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import jsonschema
import pytest
from airflow.sdk import Asset
from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
from openlineage.client.serde import Serde

from airflow_provider_arroyo.lineage import TaskLineage
from airflow_provider_arroyo.operators.next_partition import NextPartitionOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.sensors.checkpoint import CheckpointSensor
from airflow_provider_arroyo.sensors.watermark import WatermarkSensor
from airflow_provider_arroyo.testing import FakeControlPlane
from engine.compile import compile_script
from engine.openlineage.datasets import datasets_of
from engine.openlineage.names import JobName

from . import tasks

FIVE = datetime(2026, 1, 31, 5, tzinfo=UTC)
SCHEMAS = Path(__file__).parents[2] / "docs" / "openlineage"
SCRIPT = """
CREATE TABLE clicks (user TEXT, n BIGINT) WITH (
    connector = 'kafka', bootstrap_servers = 'k:9092', topic = 'clicks', format = 'json', type = 'source'
);
CREATE TABLE counts (user TEXT, n BIGINT) WITH (
    connector = 'filesystem', path = 's3://lake/counts', format = 'json', type = 'sink'
);
CREATE TABLE shown (user TEXT) WITH (connector = 'blackhole', type = 'sink');
INSERT INTO counts SELECT user, n * 2 FROM clicks;
INSERT INTO shown SELECT user FROM clicks;
"""


STREAM = {
    "parentJobNamespace": "arroyo",
    "parentJobName": "orders",
    "parentRunId": "019b76da-a800-7f0e-8f6a-5a5c7a4f0001",
}


def told_by_the_engine(name: str = "orders") -> dict[str, Any]:
    """What a control plane answers."""
    datasets = datasets_of(compile_script(SCRIPT), JobName("arroyo", name))
    told: dict[str, Any] = json.loads(datasets.model_dump_json(by_alias=True))
    return told


def event_of(task: Any) -> dict[str, Any]:
    """The event that is sent when the task has ended well."""
    lineage = task.get_openlineage_facets_on_complete(None)
    assert isinstance(lineage, TaskLineage)
    run = Run("0190c2f4-5a5c-7a4f-8f6a-000000000001", lineage.run_facets)
    event = RunEvent(
        eventType=RunState.COMPLETE,
        eventTime="2026-01-31T05:00:00Z",
        run=run,
        job=Job("airflow", "dag.task"),
        inputs=lineage.inputs,
        outputs=lineage.outputs,
    )
    sent: dict[str, Any] = json.loads(Serde.to_json(event))
    return sent


def names(datasets: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(dataset["namespace"], dataset["name"]) for dataset in datasets]


def test_a_deployment_tells_what_its_pipeline_reads_and_writes(plane: FakeControlPlane, airflow_run: tasks.Run) -> None:
    plane.add("orders", body={"query": "SELECT 1"}, lineage=told_by_the_engine())
    task = StreamingSqlOperator(task_id="t", pipeline="orders", sql="SELECT 1")
    airflow_run.execute(task)

    event = event_of(task)

    assert names(event["inputs"]) == [("kafka://k:9092", "clicks")]
    assert names(event["outputs"]) == [("s3://lake", "counts"), ("arroyo", "orders.shown")]
    assert [set(dataset["facets"]) for dataset in event["inputs"]] == [{"schema", "arroyo_table"}]
    ours = told_by_the_engine()["outputs"][0]["facets"]["columnLineage"]
    assert {**event["outputs"][0]["facets"]["columnLineage"], "_producer": ours["_producer"]} == ours
    assert "arroyo_certificate" not in event["run"]["facets"]


@dataclass
class OpenLineageProvider:
    """What a task asks of `apache-airflow-providers-openlineage`, which is not among what tests install."""

    is_off: bool = False
    fault: Exception | None = None

    def parent(self, task_instance: Any) -> str:
        if self.fault is not None:
            raise self.fault
        return f"airflow://prod/eu/{task_instance.dag_id}.täglich/0190c2f4-5a5c-7a4f-8f6a-000000000001"


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> OpenLineageProvider:
    provider, name = OpenLineageProvider(), "airflow.providers.openlineage"
    package, macros = ModuleType(name), ModuleType(f"{name}.plugins.macros")
    vars(package)["conf"] = SimpleNamespace(is_disabled=lambda: provider.is_off)
    vars(macros)["lineage_parent_id"] = provider.parent
    for module in (package, ModuleType(f"{name}.plugins"), macros):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return provider


def named_by_a_deployment(plane: FakeControlPlane, airflow_run: tasks.Run) -> list[str | None]:
    """The runs that a task names in its requests; all but that of the deployment name none."""
    heads: list[Any] = []
    plane.on_head = heads.append
    airflow_run.execute(StreamingSqlOperator(task_id="t", pipeline="orders", sql="SELECT 1"))
    assert plane.matching_requests("PUT", "/pipelines/by-name/orders")
    assert len(heads) > 1
    return [head["OpenLineage-Parent"] for head in heads if "OpenLineage-Parent" in head]


def test_a_deployment_names_the_run_of_its_task(
    plane: FakeControlPlane, airflow_run: tasks.Run, provider: OpenLineageProvider
) -> None:
    plane.new_pipelines_become("Running")

    assert named_by_a_deployment(plane, airflow_run) == [
        "airflow://prod/eu/a_dag.t%C3%A4glich/0190c2f4-5a5c-7a4f-8f6a-000000000001"
    ]


@pytest.mark.parametrize("fault", ["not installed", "off", "fails"])
def test_a_deployment_without_openlineage_names_no_run_and_is_made_all_the_same(
    plane: FakeControlPlane,
    airflow_run: tasks.Run,
    provider: OpenLineageProvider,
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
) -> None:
    plane.new_pipelines_become("Running")
    provider.is_off = fault == "off"
    provider.fault = UnboundLocalError("dag_run") if fault == "fails" else None
    if fault == "not installed":
        monkeypatch.setitem(sys.modules, "airflow.providers.openlineage", None)

    assert named_by_a_deployment(plane, airflow_run) == []


@pytest.mark.parametrize("deferrable", [False, True])
def test_a_gate_tells_the_table_that_it_waits_for_and_its_certificate(
    plane: FakeControlPlane, airflow_run: tasks.Run, deferrable: bool
) -> None:
    plane.add("orders", watermarks=deque([None, FIVE]), certifies=True, lineage=told_by_the_engine())
    gate = WatermarkSensor(task_id="g", pipeline="orders/counts", past=FIVE, deferrable=deferrable)
    result = airflow_run.execute(gate)

    event = event_of(gate)

    assert names(event["inputs"]) == [("s3://lake", "counts")]
    assert event["outputs"] == []
    (certificate,) = event["run"]["facets"]["arroyo_certificate"]["certificates"]
    relied_on = {key: result["certificate"][key] for key in ("id", "pipeline", "version", "lineage", "epoch")}
    assert certificate == {
        "namespace": "arroyo",
        "name": "orders",
        "complete_until": result["certificate"]["complete_until"],
        **relied_on,
    }


def test_a_gate_depends_on_the_run_of_the_stream_that_its_certificate_is_of(
    plane: FakeControlPlane, airflow_run: tasks.Run
) -> None:
    plane.add("orders", watermarks=deque([FIVE]), certifies=True, stream_run=STREAM, lineage=told_by_the_engine())
    gate = WatermarkSensor(task_id="g", pipeline="orders", past=FIVE)
    result = airflow_run.execute(gate)

    event = event_of(gate)

    assert result["certificate"]["openlineage"] == STREAM
    (upstream,) = event["run"]["facets"]["jobDependencies"]["upstream"]
    assert (upstream["job"], upstream["run"]) == (
        {"namespace": "arroyo", "name": "orders"},
        {"runId": STREAM["parentRunId"]},
    )
    assert upstream["dependency_type"] == "IMPLICIT_DEPENDENCY"


def test_several_gates_tell_the_certificates_of_all(plane: FakeControlPlane, airflow_run: tasks.Run) -> None:
    for name in ("orders", "clicks"):
        plane.add(name, watermarks=deque([FIVE]), certifies=True, lineage=told_by_the_engine(name))
    gate = WatermarkSensor(task_id="g", pipeline=["orders/shown", "clicks"], past=FIVE)
    airflow_run.execute(gate)

    event = event_of(gate)

    assert names(event["inputs"]) == [("arroyo", "orders.shown"), ("s3://lake", "counts"), ("arroyo", "clicks.shown")]
    assert [each["name"] for each in event["run"]["facets"]["arroyo_certificate"]["certificates"]] == [
        "orders",
        "clicks",
    ]


def test_a_bucket_that_is_handed_on_tells_its_certificate(
    plane: FakeControlPlane, airflow_run: tasks.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane.add("orders", lineage=told_by_the_engine())
    task = NextPartitionOperator(
        task_id="t", pipeline="orders", table="counts", partitions=Asset("hours"), every="1 hour", consumer="c"
    )
    task._told = {"certificate": {"id": "ct_1", "pipeline": "pl_1", "epoch": 7}, "openlineage": STREAM}

    facets = event_of(task)["run"]["facets"]
    (certificate,) = facets["arroyo_certificate"]["certificates"]
    assert [each["run"]["runId"] for each in facets["jobDependencies"]["upstream"]] == [STREAM["parentRunId"]]

    assert (certificate["id"], certificate["name"], certificate["epoch"]) == ("ct_1", "orders", 7)


def test_the_facets_of_ours_are_as_they_are_described(plane: FakeControlPlane, airflow_run: tasks.Run) -> None:
    plane.add("orders", watermarks=deque([FIVE]), certifies=True, lineage=told_by_the_engine())
    gate = WatermarkSensor(task_id="g", pipeline="orders", past=FIVE)
    airflow_run.execute(gate)
    event = event_of(gate)

    facets = [event["run"]["facets"]["arroyo_certificate"]]
    facets += [dataset["facets"]["arroyo_table"] for dataset in event["inputs"]]
    for facet in facets:
        file, _, kind = facet["_schemaURL"].rpartition("/docs/openlineage/")[2].partition("#/$defs/")
        described = json.loads((SCHEMAS / file).read_text())["$defs"][kind]["allOf"][1]
        jsonschema.validate(facet, described)
        for name in described["required"]:
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate({key: value for key, value in facet.items() if key != name}, described)


def test_a_control_plane_that_says_nothing_leaves_a_task_without_datasets(
    plane: FakeControlPlane, airflow_run: tasks.Run
) -> None:
    plane.add("clicks", watermarks=deque([FIVE]), certifies=True)
    gate = WatermarkSensor(task_id="g", pipeline="clicks", past=FIVE)
    airflow_run.execute(gate)

    event = event_of(gate)

    assert event["inputs"] == []
    assert event["run"]["facets"]["arroyo_certificate"]["certificates"][0]["id"]


def test_a_control_plane_that_hangs_is_asked_once_and_not_for_long(
    plane: FakeControlPlane, airflow_run: tasks.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("orders", "clicks"):
        plane.add(name, watermarks=deque([FIVE]), certifies=True, lineage=told_by_the_engine(name))
    gate = WatermarkSensor(task_id="g", pipeline=["orders", "clicks"], past=FIVE)
    airflow_run.execute(gate)
    asked: list[object] = []
    monkeypatch.setattr("airflow_provider_arroyo.lineage.PATIENCE", timedelta(seconds=0.2))
    plane.on_head, plane.gate = asked.append, threading.Event()

    begun = time.monotonic()

    try:
        event = event_of(gate)
    finally:
        plane.gate.set()

    assert time.monotonic() - begun < 10, "OpenLineage has given it up before"
    assert len(asked) == 1
    assert event["inputs"] == []
    assert len(event["run"]["facets"]["arroyo_certificate"]["certificates"]) == 2


def test_an_embedded_control_plane_is_not_started_for_it(
    plane: FakeControlPlane, airflow_run: tasks.Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plane.add("clicks", watermarks=deque([FIVE]), certifies=True)
    gate = WatermarkSensor(task_id="g", pipeline="clicks", past=FIVE)
    airflow_run.execute(gate)
    extra = {"embedded": True, "data_dir": str(tmp_path)}
    monkeypatch.setenv("AIRFLOW_CONN_ARROYO_DEFAULT", json.dumps({"conn_type": "arroyo", "extra": extra}))
    monkeypatch.setattr("airflow_provider_arroyo.embedded._start", lambda *_: pytest.fail("it is started"))

    assert event_of(gate)["inputs"] == []
    assert list(tmp_path.iterdir()) == []


def test_a_task_that_has_come_to_nothing_tells_nothing(plane: FakeControlPlane) -> None:
    plane.add("clicks")

    assert CheckpointSensor(task_id="g", pipeline="clicks").get_openlineage_facets_on_complete(None) is None
