"""What is told of deployments, starts, epochs and savepoints, and what of it a collector of OpenTelemetry is sent."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from engine import server
from engine.control.traces.otel import Traces, open_traces
from engine.control.traces.requested_starts import Span, new_id
from engine.errors import MissingPackageError
from engine.settings import Settings, TraceSettings
from tests.api.conftest import T0, Plane, report


@pytest.fixture
def spans(plane: Plane) -> list[Span]:
    """What the control plane tells from now on."""
    told: list[Span] = []
    app: Any = plane.http.app
    app.state.context = replace(plane.context, emit_span=told.append)
    return told


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def test_a_deployment_is_told_with_its_steps(plane: Plane, spans: list[Span]) -> None:
    plane.deploy("orders")

    [deployed] = spans
    assert (deployed.name, deployed.facts) == ("deploy", {"pipeline": "orders", "dry_run": False})
    assert [step.name for step in deployed.steps] == ["plan", "store"]
    assert deployed.failure is None


def test_a_refused_deployment_is_told_with_its_code(plane: Plane, spans: list[Span]) -> None:
    plane.http.put("/api/v1/pipelines/by-name/orders", json={"query": "bad"})

    [refused] = spans
    assert refused.failure == "sql.refused"
    assert [step.name for step in refused.steps] == ["plan"]


def test_a_start_is_told_from_launch_to_first_epoch(plane: Plane, spans: list[Span]) -> None:
    plane.deploy()
    run = plane.runner.launched[-1]
    plane.let_pass(2)
    plane.call("hello", {"nonce": run.key, "pid": 1})
    plane.let_pass(5)
    plane.call("heartbeat", {"state": "running"})
    plane.call("heartbeat", {"state": "running"})

    [start] = [span for span in spans if span.name == "start"]
    assert (start.begin, start.end) == (at(0), at(7))
    assert start.steps == (Span("process", at(0), at(2)), Span("first_epoch", at(2), at(7)))
    assert start.facts == {"pipeline": "orders", "job_id": run.job_id, "version": 1, "generation": 1}


def start_of_the_newest_run(plane: Plane, spans: list[Span]) -> Span:
    """What is told of it once it is up."""
    plane.come_up()
    return [span for span in spans if span.name == "start"][-1]


def die(plane: Plane) -> None:
    """The newest run dies, and another one is launched."""
    generation = plane.runner.launched[-1].generation
    plane.end(None)
    plane.let_pass(5)
    assert plane.runner.launched[-1].generation == generation + 1


def test_a_start_that_a_deployment_has_asked_for_is_in_its_trace(plane: Plane, spans: list[Span]) -> None:
    plane.deploy()
    [deployed] = spans

    start = start_of_the_newest_run(plane, spans)

    assert deployed.id is not None
    assert start.parent == deployed.id


@pytest.mark.parametrize("asked", ["nothing", "the same once more", "a stop that comes to nothing"])
def test_a_start_that_no_deployment_has_asked_for_is_a_trace_of_its_own(
    plane: Plane, spans: list[Span], asked: str
) -> None:
    plane.run()
    if asked == "the same once more":
        plane.deploy()
    elif asked == "a stop that comes to nothing":
        plane.deploy(query="SELECT 2")
        plane.http.patch("/api/v1/pipelines/orders", json={"stop": "force"})
        plane.settle()
        plane.http.patch("/api/v1/pipelines/orders", json={"stop": "none"})
        plane.let_pass(1)
    if asked != "a stop that comes to nothing":
        die(plane)

    assert start_of_the_newest_run(plane, spans).parent is None


def test_start_span_belongs_to_the_newer_of_two_deployments(plane: Plane, spans: list[Span]) -> None:
    plane.run()
    plane.deploy(query="SELECT 2")
    plane.let_pass(1)
    plane.deploy(query="SELECT 3")
    _, second, third = [span for span in spans if span.name == "deploy"]
    plane.end()
    plane.let_pass(1)

    assert start_of_the_newest_run(plane, spans).parent == third.id != second.id


def test_a_run_that_was_launched_before_a_deployment_is_not_its_start(plane: Plane, spans: list[Span]) -> None:
    plane.deploy()
    plane.let_pass(1)
    plane.deploy(query="SELECT 2")

    assert start_of_the_newest_run(plane, spans).parent is None

    plane.end()
    plane.let_pass(1)
    assert start_of_the_newest_run(plane, spans).parent == [span for span in spans if span.name == "deploy"][-1].id


def test_an_epoch_is_told_once_with_its_phases_one_after_the_other(plane: Plane, spans: list[Span]) -> None:
    plane.run()
    phases = {"compute": 1_000_000, "find": 250_000, "log": 0, "of_tomorrow": 5}
    epochs = [report(number, number) | {"duration": 2_000_000, "phases": phases} for number in (1, 2)]
    plane.call("heartbeat", {"state": "running", "reports": epochs[:1]})
    plane.call("heartbeat", {"state": "running", "reports": epochs})

    told = [span for span in spans if span.name == "epoch"]
    assert [(span.facts["epoch"], span.begin, span.end) for span in told] == [
        (1, at(58), at(60)),
        (2, at(118), at(120)),
    ]
    assert told[0].steps == (Span("find", at(58), at(58.25)), Span("compute", at(58.25), at(59.25)))
    assert told[0].facts["rows_in"] == 10


@pytest.mark.parametrize(("label", "failure"), [("fine", None), ("broken", "sql.unknown_table")])
def test_a_savepoint_is_told_whether_it_is_taken_or_not(
    plane: Plane, spans: list[Span], label: str, failure: str | None
) -> None:
    plane.run()
    plane.http.post("/api/v1/pipelines/orders/savepoints", json={"label": label})

    [told] = [span for span in spans if span.name == "savepoint"]
    assert (told.facts["pipeline"], told.failure) == ("orders", failure)
    assert told.facts.get("bytes") == (None if failure else 100)


def test_a_span_that_another_has_brought_about_is_in_its_trace() -> None:
    memory = InMemorySpanExporter()
    traces = Traces(memory, "1.2", "me")
    asked = new_id()
    traces.tell(Span("deploy", at(0), at(1), {}, (Span("plan", at(0), at(0.5)),), id=asked))
    traces.tell(Span("epoch", at(1), at(2)))
    traces.tell(Span("start", at(1), at(7), {}, (Span("process", at(1), at(2)),), parent=asked))
    traces.close()

    told = {span.name: span for span in memory.get_finished_spans()}
    ids = {name: span.context.span_id for name, span in told.items()}
    parents = {name: span.parent and span.parent.span_id for name, span in told.items()}
    in_trace = {name for name, span in told.items() if span.context.trace_id == asked.trace}
    assert ids["deploy"] == asked.span
    assert in_trace == {"deploy", "plan", "start", "process"}
    assert parents == {
        "deploy": None,
        "plan": ids["deploy"],
        "start": ids["deploy"],
        "process": ids["start"],
        "epoch": None,
    }
    assert len(set(ids.values())) == 5


def test_spans_become_those_of_opentelemetry() -> None:
    memory = InMemorySpanExporter()
    traces = Traces(memory, "1.2", "me")
    traces.tell(Span("epoch", at(0), at(2), {"epoch": 7}, (Span("find", at(0), at(0.5)),)))
    traces.tell(Span("deploy", at(3), at(4), failure="sql.refused"))
    traces.close()

    find, epoch, deploy = memory.get_finished_spans()
    nanos = int(T0.timestamp()) * 1_000_000_000
    assert (epoch.name, epoch.start_time, epoch.end_time) == ("epoch", nanos, nanos + 2_000_000_000)
    assert epoch.attributes == {"arroyo.epoch": 7}
    assert epoch.parent is None
    assert find.parent is not None
    assert find.parent.span_id == epoch.context.span_id
    assert (find.start_time, find.end_time) == (nanos, nanos + 500_000_000)
    assert (deploy.status.status_code, deploy.status.description) == (StatusCode.ERROR, "sql.refused")
    assert deploy.context.trace_id != epoch.context.trace_id
    assert epoch.resource.attributes["service.name"] == "arroyo"
    assert epoch.resource.attributes["service.instance.id"] == "me"


class Collector:
    """Takes what is sent to it."""

    def __init__(self) -> None:
        self.received: list[tuple[str, ExportTraceServiceRequest]] = []
        self.http = HTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,))
        self.thread.start()

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()

    def _handler(collector) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.received.append((self.path, ExportTraceServiceRequest.FromString(body)))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


@pytest.fixture
def collector() -> Iterator[Collector]:
    opened = Collector()
    yield opened
    opened.close()


@pytest.mark.parametrize("by_setting", [True, False])
def test_spans_are_sent_to_the_collector_that_is_named(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, by_setting: bool
) -> None:
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", raising=False)
    if by_setting:
        traces = open_traces(f"{collector.url}/", "1.2", "me")
    else:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        traces = open_traces(None, "1.2", "me")
    traces.tell(Span("epoch", at(0), at(2)))
    traces.close()

    [(path, sent)] = collector.received
    assert path == "/v1/traces"
    assert [span.name for span in sent.resource_spans[0].scope_spans[0].spans] == ["epoch"]


def test_error_names_the_package_that_traces_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    monkeypatch.delitem(sys.modules, "engine.control.traces.otel")

    with pytest.raises(MissingPackageError, match="OpenTelemetry") as refused:
        server._open_traces(Settings(traces=TraceSettings(endpoint="http://localhost:1")), "me")

    assert "airflow-provider-arroyo[otel]" in (refused.value.hint or "")


def test_traces_are_opened_only_where_a_collector_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in server.OTEL_ENDPOINTS:
        monkeypatch.delenv(name, raising=False)
    named = Settings(data_dir=tmp_path, traces=TraceSettings(endpoint="http://localhost:1"))

    assert server._open_traces(Settings(data_dir=tmp_path), "me") is None
    opened = server._open_traces(named, "me")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:1")
    by_environment = server._open_traces(Settings(data_dir=tmp_path), "me")

    assert opened is not None
    assert by_environment is not None
    opened.close()
    by_environment.close()
