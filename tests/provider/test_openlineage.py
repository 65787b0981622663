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
from airflow_provider_arroyo.operators.fork import ForkOperator
from airflow_provider_arroyo.operators.move import MoveOperator
from airflow_provider_arroyo.operators.next_partition import NextPartitionOperator
from airflow_provider_arroyo.operators.reprocess import ReprocessOperator
from airflow_provider_arroyo.operators.rescale import RescaleOperator
from airflow_provider_arroyo.operators.restore import RestoreOperator
from airflow_provider_arroyo.operators.rollback import RollbackOperator
from airflow_provider_arroyo.operators.savepoint import SavepointOperator
from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator
from airflow_provider_arroyo.operators.stream_backfill import StreamBackfillOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.sensors.checkpoint import CheckpointSensor
from airflow_provider_arroyo.sensors.watermark import WatermarkSensor
from airflow_provider_arroyo.testing import FakeControlPlane
from engine.compile import compile_script
from engine.openlineage.datasets import JobName, datasets_of

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

    def root(self, task_instance: Any) -> str:
        return f"airflow://prod/eu/{task_instance.dag_id}/0190c2f4-5a5c-7a4f-8f6a-000000000002"


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> OpenLineageProvider:
    provider, name = OpenLineageProvider(), "airflow.providers.openlineage"
    package, plugins, macros = (ModuleType(name + part) for part in ("", ".plugins", ".plugins.macros"))
    vars(package)["conf"] = SimpleNamespace(is_disabled=lambda: provider.is_off)
    vars(plugins)["macros"] = macros
    vars(macros).update(lineage_parent_id=provider.parent, lineage_root_parent_id=provider.root)
    for module in (package, plugins, macros):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return provider


def named_by(plane: FakeControlPlane, airflow_run: tasks.Run, task: Any) -> list[tuple[str, str | None, str | None]]:
    """The requests in which a task names runs, with its own and that of its DAG."""
    heads: list[dict[str, str]] = []
    plane.on_head = heads.append
    before = len(plane.requests)
    airflow_run.execute(task)
    asked = [f"{request.method} {request.path.rpartition('/')[2]}" for request in plane.requests[before:]]
    calls = [head for head in heads if head["Accept"] != "text/event-stream"]
    named = [(head.get("OpenLineage-Parent"), head.get("OpenLineage-Root")) for head in calls]
    return [(request, *runs) for request, runs in zip(asked, named, strict=True) if any(runs)]


def deploying() -> StreamingSqlOperator:
    return StreamingSqlOperator(task_id="t", pipeline="orders", sql="SELECT 1")


TASK = "airflow://prod/eu/a_dag.t%C3%A4glich/0190c2f4-5a5c-7a4f-8f6a-000000000001"
DAG = "airflow://prod/eu/a_dag/0190c2f4-5a5c-7a4f-8f6a-000000000002"
ASKING_FOR_RUNS: dict[str, Any] = {
    "PUT orders": deploying,
    "POST fork": lambda: ForkOperator(task_id="t", pipeline="copy", savepoint="sp_1", sql="SELECT 2"),
    "POST rollback": lambda: RollbackOperator(task_id="t", pipeline="clicks"),
    "POST restore": lambda: RestoreOperator(task_id="t", pipeline="clicks", savepoint="sp_1"),
    "POST reprocess": lambda: ReprocessOperator(task_id="t", pipeline="clicks", into="again", since="2026-01-01"),
    "PATCH pl_1": lambda: RescaleOperator(task_id="t", pipeline="clicks", parallelism=7),
}


@pytest.mark.parametrize("asked", ASKING_FOR_RUNS)
def test_a_task_names_its_run_and_that_of_its_dag_where_it_asks_for_runs_of_a_pipeline(
    plane: FakeControlPlane, airflow_run: tasks.Run, provider: OpenLineageProvider, asked: str
) -> None:
    plane.new_pipelines_become("Running")
    plane.add("clicks").version = 2

    assert named_by(plane, airflow_run, ASKING_FOR_RUNS[asked]()) == [(asked, TASK, DAG)]


def test_a_backfill_names_its_run(
    plane: FakeControlPlane, airflow_run: tasks.Run, provider: OpenLineageProvider
) -> None:
    plane.new_pipelines_become("Finished")
    task = StreamBackfillOperator(task_id="t", pipeline="o", sql="SELECT 1", start="2026-01-01", end="2026-01-02")

    assert [runs for _, *runs in named_by(plane, airflow_run, task)] == [[TASK, DAG]]


@pytest.mark.parametrize("deferrable", [False, True])
def test_a_hand_over_names_the_run_that_asks_for_it(
    plane: FakeControlPlane, airflow_run: tasks.Run, provider: OpenLineageProvider, deferrable: bool
) -> None:
    plane.add("clicks")
    task = ReprocessOperator(
        task_id="t", pipeline="clicks", into="again", since="2026-01-01", hand_over=True, deferrable=deferrable
    )

    named = named_by(plane, airflow_run, task)

    assert named == [("POST reprocess", TASK, DAG), ("POST hand-over", TASK, DAG)]


def test_a_move_names_its_run_where_the_pipeline_starts(
    plane: FakeControlPlane, airflow_run: tasks.Run, provider: OpenLineageProvider
) -> None:
    plane.add("clicks")
    with FakeControlPlane() as there, there.as_connection("arroyo_there"):
        there.add("clicks")
        heads: list[dict[str, str]] = []
        there.on_head = heads.append
        airflow_run.execute(MoveOperator(task_id="t", pipeline="clicks", to_conn_id="arroyo_there", via="s3://a/b"))
        [start] = there.matching_requests("POST", "/start")

    assert [head.get("OpenLineage-Parent") for head in heads].count(TASK) == 1
    assert heads[there.requests.index(start)]["OpenLineage-Root"] == DAG


def test_a_task_that_starts_what_has_failed_names_its_run(
    plane: FakeControlPlane, airflow_run: tasks.Run, provider: OpenLineageProvider
) -> None:
    plane.new_pipelines_become("Running")
    airflow_run.execute(deploying())
    [pipeline] = plane.pipelines.values()
    pipeline.become("Failed")

    assert named_by(plane, airflow_run, deploying()) == [("POST restart", TASK, DAG)]


@pytest.mark.parametrize("task", [SavepointOperator, StopStreamingJobOperator])
def test_a_task_that_asks_for_no_run_names_none(
    plane: FakeControlPlane, airflow_run: tasks.Run, provider: OpenLineageProvider, task: Any
) -> None:
    plane.add("clicks")

    assert named_by(plane, airflow_run, task(task_id="t", pipeline="clicks")) == []


@pytest.mark.parametrize("fault", ["not installed", "off", "fails"])
def test_a_deployment_without_openlineage_succeeds_and_names_no_run(
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

    assert named_by(plane, airflow_run, deploying()) == []
    assert plane.matching_requests("PUT", "/pipelines/by-name/orders")


def test_an_openlineage_that_knows_no_roots_has_the_task_named_alone(
    plane: FakeControlPlane, airflow_run: tasks.Run, provider: OpenLineageProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane.new_pipelines_become("Running")
    monkeypatch.delattr(sys.modules["airflow.providers.openlineage.plugins.macros"], "lineage_root_parent_id")

    assert named_by(plane, airflow_run, deploying()) == [("PUT orders", TASK, None)]


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
