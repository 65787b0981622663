"""What OpenLineage is told of the runs of pipelines: each state once and in order, whatever is lost on the way."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Iterator
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jsonschema
import pytest
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import (
    column_lineage_dataset,
    error_message_run,
    job_type_job,
    parent_run,
    processing_engine_run,
    schema_dataset,
)
from openlineage.client.serde import Serde

from engine.control.lineage_events.events import EventMaker
from engine.control.lineage_events.watch import FileSender, HttpSender, LineageWatch, open_sender
from engine.errors import LineageEventRefusedError, LineageUnreachableError, SettingError
from engine.openlineage.runs import run_id
from engine.settings import OpenLineageSettings, load
from tests.api.conftest import T0, Plane, report
from tests.api.test_lineage import SCRIPT

SCHEMAS = Path(__file__).parents[2] / "docs" / "openlineage"
MINUTES = timedelta(minutes=5)


class Ears:
    """Takes events; `faults` is what befalls the next ones."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.faults: deque[str] = deque()

    def send(self, event: str) -> None:
        fault = self.faults.popleft() if self.faults else ""
        if fault == "lost":
            raise LineageUnreachableError("it is away")
        if fault == "refused":
            raise LineageEventRefusedError("no such event")
        self.events.append(json.loads(event))
        if fault == "unanswered":
            raise LineageUnreachableError("it has taken it, and said nothing")

    def close(self) -> None:
        pass

    @property
    def kinds(self) -> list[str]:
        return [event["eventType"] for event in self.events]


@pytest.fixture
def ears() -> Ears:
    return Ears()


@pytest.fixture
def watch(plane: Plane, ears: Ears) -> LineageWatch:
    return start(plane, ears)


def start(plane: Plane, ears: Ears) -> LineageWatch:
    """Begin to tell, as a control plane does that knows no more than what is stored."""
    return LineageWatch(plane.context, ears, EventMaker(plane.context), MINUTES, chance=lambda: 1.0)


def test_a_run_is_told_from_its_launch_to_its_end(plane: Plane, ears: Ears, watch: LineageWatch) -> None:
    plane.deploy(query=SCRIPT)
    watch.look()
    assert ears.kinds == ["START"]
    plane.let_pass(9)
    plane.come_up()
    watch.look()
    plane.call("heartbeat", {"state": "running", "reports": [report(7, 185)]})
    watch.look()
    assert ears.kinds == ["START", "RUNNING"]
    plane.now += MINUTES
    watch.look()
    plane.end("finished")
    watch.look()
    watch.look()

    assert ears.kinds == ["START", "RUNNING", "RUNNING", "COMPLETE"]
    begun, up, going_on, ended = ears.events
    assert {event["run"]["runId"] for event in ears.events} == {begun["run"]["runId"]}
    assert {(event["job"]["namespace"], event["job"]["name"]) for event in ears.events} == {("arroyo", "orders")}
    assert [at(event) for event in ears.events] == [T0, T0 + timedelta(seconds=9), plane.now, plane.now]
    for event in (begun, ended):
        assert [each["name"] for each in event["inputs"]] == ["/in/clicks.json"]
        assert [each["name"] for each in event["outputs"]] == ["/out/spent.json"]
        assert "columnLineage" in event["outputs"][0]["facets"]
    assert up["inputs"] == going_on["inputs"] == []
    assert going_on["run"]["facets"]["arroyo_epoch"]["epoch"] == 7
    assert datetime.fromisoformat(going_on["run"]["facets"]["arroyo_epoch"]["complete_until"]).hour == 3


def at(event: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(event["eventTime"])


@pytest.mark.parametrize(
    ("ending", "kind", "message"),
    [
        ("stopped", "ABORT", None),
        ("stop by force", "ABORT", None),
        ("failed", "FAIL", "run.data: no such column"),
        ("died", "FAIL", "run.died: the driver has ended without a word"),
        ("deleted", "ABORT", None),
    ],
)
def test_each_way_to_end_is_told_as_what_it_is(
    plane: Plane, ears: Ears, watch: LineageWatch, ending: str, kind: str, message: str | None
) -> None:
    plane.run(query=SCRIPT)
    watch.look()
    if ending == "died":
        plane.end(None)
    elif ending == "failed":
        plane.end("failed", {"code": "run.data", "message": "no such column", "cause": "mistake"})
    elif ending == "stop by force":
        plane.http.patch("/api/v1/pipelines/orders", json={"stop": "force"})
        plane.settle()
    else:
        plane.http.patch("/api/v1/pipelines/orders", json={"stop": "checkpoint"})
        plane.settle()
        plane.end("stopped")
    if ending == "deleted":
        assert plane.http.delete("/api/v1/pipelines/orders").is_success
        watch = start(plane, ears)  # what it is told after a restart is what is stored
    watch.look()

    assert ears.kinds[:3] == ["START", "RUNNING", kind]
    facets = ears.events[2]["run"]["facets"]
    assert facets.get("errorMessage", {}).get("message") == message
    watch.look()
    assert ears.kinds.count(kind) == 1


def die(plane: Plane) -> None:
    """The newest run dies, and the next one is up."""
    launched = len(plane.runner.launched)
    plane.end(None)
    for _ in range(60):
        if len(plane.runner.launched) > launched:
            return plane.come_up()
        plane.let_pass(1)
    raise AssertionError(plane.state())


def start_again(plane: Plane) -> None:
    """The pipeline is stopped, started, and is up."""
    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "checkpoint"})
    plane.settle()
    plane.end("stopped")
    plane.now += timedelta(seconds=2)
    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "none"})
    plane.settle()
    plane.come_up()


def test_every_start_is_a_run_of_its_own_and_none_is_left_out(plane: Plane, ears: Ears, watch: LineageWatch) -> None:
    plane.run(query=SCRIPT)
    watch.look()
    for _ in range(2):  # nobody looks meanwhile
        die(plane)
    watch.look()

    assert ears.kinds == ["START", "RUNNING", *["FAIL", "START", "RUNNING"] * 2]
    assert len({event["run"]["runId"] for event in ears.events}) == 3
    generations = [event["run"]["facets"]["arroyo_run"]["generation"] for event in ears.events]
    assert generations == sorted(generations)


TASKS = [
    ("prod", "nightly.deploy", "0190c2f4-5a5c-7a4f-8f6a-000000000001"),
    ("airflow://prod/eu", "täglich.deploy", "0190c2f4-5a5c-7a4f-8f6a-000000000002"),
]


def deploy_from(plane: Plane, task: tuple[str, str, str] | None, query: str, **body: Any) -> None:
    """Deploy as that task does, or as somebody who is no task."""
    named = {} if task is None else {"OpenLineage-Parent": quote("/".join(task))}
    sent = plane.http.put("/api/v1/pipelines/by-name/orders", json={"query": query, **body}, headers=named)
    assert sent.is_success, sent.text
    plane.settle()


def parent(event: dict[str, Any]) -> tuple[str, str, str] | None:
    told = event["run"]["facets"].get("parent")
    return told and (told["job"]["namespace"], told["job"]["name"], told["run"]["runId"])


def test_the_task_that_deploys_is_the_parent_of_the_runs_that_follow_from_it(
    plane: Plane, ears: Ears, watch: LineageWatch
) -> None:
    deploy_from(plane, TASKS[0], SCRIPT)
    plane.come_up()
    watch.look()
    plane.let_pass(1)
    deploy_from(plane, TASKS[1], SCRIPT)  # it runs already: nothing follows from it
    die(plane)
    plane.let_pass(1)
    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "checkpoint"})
    plane.settle()
    plane.end("stopped")
    plane.let_pass(1)
    deploy_from(plane, TASKS[1], SCRIPT)
    plane.come_up()
    plane.let_pass(1)
    deploy_from(plane, None, SCRIPT, settings={"linger": "1 s"})
    watch.look()
    plane.end("stopped")
    plane.come_up()
    watch.look()

    of_runs = {event["run"]["facets"]["arroyo_run"]["generation"]: parent(event) for event in ears.events}
    ended = [parent(event) for event in ears.events if event["eventType"] in ("FAIL", "ABORT")]
    assert of_runs == {1: TASKS[0], 2: TASKS[0], 3: TASKS[1], 4: None}
    assert ended == [TASKS[0], TASKS[0], TASKS[1]]


def test_a_try_that_asks_once_more_is_not_another_request(plane: Plane) -> None:
    body = {"query": SCRIPT, "idempotency_key": "a task"}
    for task in TASKS:
        sent = plane.http.put(
            "/api/v1/pipelines/by-name/orders", json=body, headers={"OpenLineage-Parent": quote("/".join(task))}
        )
        assert sent.status_code == 201, sent.text


@pytest.mark.parametrize("text", ["nightly", "prod/nightly/1", "/nightly/0190c2f4-5a5c-7a4f-8f6a-000000000001", ""])
def test_malformed_parent_run_is_refused_before_the_deployment(plane: Plane, text: str) -> None:
    sent = plane.http.put(
        "/api/v1/pipelines/by-name/orders", json={"query": SCRIPT}, headers={"OpenLineage-Parent": text}
    )

    assert (sent.status_code, sent.json()["code"]) == (422, "request.invalid")
    assert "NAMESPACE/JOB/RUN_ID" in sent.text
    assert plane.http.get("/api/v1/pipelines/orders").status_code == 404


def pass_gate(plane: Plane, run: str, hour: int) -> dict[str, Any]:
    """The certificate of a run of a DAG that relies on an hour."""
    past = f"2026-01-01T{hour:02}:00:00Z"
    answer = plane.get(f"/pipelines/orders/watermark?past={past}&dag_id=report&run_id={run}")
    certificate: dict[str, Any] = answer["certificate"]
    return certificate


def test_gate_certificate_is_emitted_immediately_with_the_run_of_its_epoch(
    plane: Plane, ears: Ears, watch: LineageWatch
) -> None:
    plane.run(query=SCRIPT)
    plane.call("heartbeat", {"state": "running", "reports": [report(7, 185)]})
    watch.look()
    first = pass_gate(plane, "one", 1)
    watch.look()
    plane.end("finished")
    watch.look()
    late = pass_gate(plane, "two", 3)
    watch.look()

    assert ears.kinds == ["START", "RUNNING", "RUNNING", "COMPLETE", "OTHER"]
    told = [event["run"]["facets"].get("arroyo_certificate") for event in ears.events]
    assert [facet and [each["id"] for each in facet["certificates"]] for facet in told] == [
        None,
        None,
        [first["id"]],
        None,
        [late["id"]],
    ]
    assert told[2]["certificates"][0]["epoch"] == 7
    assert (told[2]["certificates"][0]["namespace"], told[2]["certificates"][0]["name"]) == ("arroyo", "orders")
    [run] = {event["run"]["runId"] for event in ears.events}
    stands_on = {"parentJobNamespace": "arroyo", "parentJobName": "orders", "parentRunId": run}
    assert first["openlineage"] == late["openlineage"] == stands_on


@pytest.mark.parametrize("fault", ["lost", "unanswered"])
def test_lost_lineage_event_is_emitted_again_without_blocking_others(
    plane: Plane, ears: Ears, watch: LineageWatch, fault: str
) -> None:
    ears.faults += [fault, "lost", "lost"]
    plane.run(query=SCRIPT)
    watch.look()
    watch.look()
    assert len(ears.faults) == 2, "it is asked again after a pause"
    for _ in range(3):
        plane.let_pass(5)
        watch.look()
    plane.end("finished")
    watch.look()

    told = ["START", "START"] if fault == "unanswered" else ["START"]
    assert ears.kinds == [*told, "RUNNING", "COMPLETE"]
    assert len({event["run"]["runId"] for event in ears.events}) == 1


def test_an_event_that_is_refused_holds_up_no_other(plane: Plane, ears: Ears, watch: LineageWatch) -> None:
    ears.faults += ["refused"]
    plane.run(query=SCRIPT)

    watch.look()

    assert ears.kinds == ["RUNNING"]


def test_over_faults_and_kills_at_any_time_each_state_of_each_run_is_told_in_order(
    plane: Plane, ears: Ears, watch: LineageWatch
) -> None:
    plane.run(query=SCRIPT)
    for number in range(6):
        ears.faults = deque(["lost", "unanswered", ""][number % 3 :])
        watch.look()
        if number % 2:
            watch = start(plane, ears)
        start_again(plane)
    ears.faults.clear()
    for _ in range(2):
        plane.now += MINUTES
        watch.look()

    told = [(event["run"]["runId"], event["eventType"]) for event in ears.events]
    once = list(dict.fromkeys(told))
    assert [kind for _, kind in once] == ["START", "RUNNING", *["ABORT", "START", "RUNNING"] * 6]
    assert [run for run, _ in once] == sorted(run for run, _ in once)


def test_previews_and_what_was_before_it_was_configured_are_not_told(plane: Plane, ears: Ears) -> None:
    plane.run(query=SCRIPT)
    die(plane)

    watch = start(plane, ears)
    watch.look()

    assert ears.kinds == ["START", "RUNNING"]
    assert ears.events[0]["run"]["facets"]["arroyo_run"]["generation"] == 2


def test_the_id_of_a_run_is_always_the_same_and_sorts_by_time() -> None:
    ids = [run_id("job_1", number, T0 + timedelta(seconds=number)) for number in range(50)]

    assert ids == sorted(ids)
    assert ids[3] == run_id("job_1", 3, T0 + timedelta(seconds=3)) != run_id("job_2", 3, T0 + timedelta(seconds=3))
    assert {(each.version, each.variant) for each in ids} == {(7, "specified in RFC 4122")}


STANDARD = {
    "processing_engine": processing_engine_run.ProcessingEngineRunFacet,
    "errorMessage": error_message_run.ErrorMessageRunFacet,
    "jobType": job_type_job.JobTypeJobFacet,
    "parent": parent_run.ParentRunFacet,
}


def test_events_are_what_the_client_of_openlineage_would_write(plane: Plane, ears: Ears, watch: LineageWatch) -> None:
    deploy_from(plane, TASKS[1], SCRIPT)
    plane.come_up()
    plane.call("heartbeat", {"state": "running", "reports": [report(7, 185)]})
    watch.look()
    pass_gate(plane, "one", 1)
    plane.end("failed", {"code": "run.data", "message": "no such column", "cause": "mistake"})
    watch.look()

    assert ears.kinds == ["START", "RUNNING", "RUNNING", "FAIL"]
    seen: set[str] = set()
    for event in ears.events:
        theirs = RunEvent(
            eventType=RunState[event["eventType"]],
            eventTime=event["eventTime"],
            run=Run(event["run"]["runId"]),
            job=Job(event["job"]["namespace"], event["job"]["name"]),
            inputs=[InputDataset(each["namespace"], each["name"]) for each in event["inputs"]],
            outputs=[OutputDataset(each["namespace"], each["name"]) for each in event["outputs"]],
            producer=event["producer"],
        )
        written = json.loads(Serde.to_json(theirs))
        assert written["schemaURL"].rpartition("#")[2] == event["schemaURL"].rpartition("#")[2]
        assert set(event) == set(written)
        for name, facet in {**event["run"]["facets"], **event["job"]["facets"]}.items():
            seen.add(name)
            if name in STANDARD:
                values = {key: value for key, value in facet.items() if not key.startswith("_")}
                made = json.loads(Serde.to_json(STANDARD[name](**values)))
                assert {key: made[key] for key in values} == values
                assert facet["_schemaURL"].rpartition("/")[2] == made["_schemaURL"].rpartition("/")[2]
            else:
                described(facet)
        for dataset in event["outputs"]:
            told = dataset["facets"]["columnLineage"]["fields"]["total"]["inputFields"][0]
            uses = [column_lineage_dataset.Transformation(**use) for use in told["transformations"]]
            field = column_lineage_dataset.InputField(told["namespace"], told["name"], told["field"], uses)
            assert json.loads(Serde.to_json(field)) == told
            columns = [
                schema_dataset.SchemaDatasetFacetFields(**each) for each in dataset["facets"]["schema"]["fields"]
            ]
            assert [each.name for each in columns] == ["user", "total"]
    assert seen == {*STANDARD, "arroyo_run", "arroyo_epoch", "arroyo_certificate"}


def described(facet: dict[str, Any]) -> None:
    """It is as its description says, and nothing that is needed may be left out."""
    file, _, kind = facet["_schemaURL"].rpartition("/docs/openlineage/")[2].partition("#/$defs/")
    description = json.loads((SCHEMAS / file).read_text())["$defs"][kind]["allOf"][1]
    jsonschema.validate(facet, description)
    for name in description["required"]:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({key: value for key, value in facet.items() if key != name}, description)


class Listener:
    """An API of OpenLineage that answers as it is told."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.keys: list[str | None] = []
        self.paths: list[str] = []
        self.status = 201
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                outer.paths.append(self.path)
                outer.keys.append(self.headers["authorization"])
                outer.bodies.append(self.rfile.read(int(self.headers["content-length"])))
                self.send_response(outer.status)
                self.send_header("location", "http://elsewhere/")
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()


@pytest.fixture
def listener() -> Iterator[Listener]:
    there = Listener()
    yield there
    there.server.shutdown()
    there.server.server_close()


def test_events_are_posted_with_the_key(listener: Listener) -> None:
    sender = HttpSender(OpenLineageSettings(url=f"{listener.url}/", api_key="open sesame"))

    sender.send('{"a": 1}')
    sender.close()

    assert (listener.paths, listener.bodies) == (["/api/v1/lineage"], [b'{"a": 1}'])
    assert listener.keys == ["Bearer open sesame"]


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (500, LineageUnreachableError),
        (401, LineageUnreachableError),
        (429, LineageUnreachableError),
        (302, LineageUnreachableError),
        (400, LineageEventRefusedError),
        (422, LineageEventRefusedError),
    ],
)
def test_an_answer_says_whether_an_event_is_sent_again(listener: Listener, status: int, error: type[Exception]) -> None:
    listener.status = status
    sender = HttpSender(OpenLineageSettings(url=listener.url, api_key="open sesame"))

    with pytest.raises(error, match=str(status)) as refusal:
        sender.send("{}")
    sender.close()

    assert "sesame" not in str(refusal.value)
    assert len(listener.bodies) == 1


def test_events_are_added_to_a_file_line_by_line_also_behind_one_that_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "new" / "events.jsonl"
    sender = FileSender(path)
    sender.send('{"a": 1}')
    path.write_bytes(path.read_bytes() + b'{"a": ')

    sender.send('{"a": 2}')
    sender.close()

    assert path.read_text().splitlines() == ['{"a": 1}', '{"a": ', '{"a": 2}']
    with pytest.raises(LineageUnreachableError):
        FileSender(tmp_path).send("{}")


def test_lineage_events_are_off_without_a_url_and_show_no_key() -> None:
    settings = load({}).openlineage
    assert open_sender(settings) is None
    named = load({"ARROYO__OPENLINEAGE__URL": "http://lineage:5000", "ARROYO__OPENLINEAGE__API_KEY": "open sesame"})
    assert isinstance(open_sender(named.openlineage), HttpSender)
    assert "sesame" not in repr(named)
    for wrong in ({"URL": "http://me:pw@lineage"}, {"URL": "http://lineage", "FILE": "/tmp/events"}):
        with pytest.raises(SettingError):
            load({f"ARROYO__OPENLINEAGE__{name}": value for name, value in wrong.items()})
