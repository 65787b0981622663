"""A control plane in memory, on the HTTP level. It behaves as a test has configured it, and records the requests. There
is no engine, and nothing is written.

    with FakeControlPlane() as plane, plane.as_connection():
        plane.add("clicks", behind=timedelta(minutes=5))      complete up to five minutes before the plane's clock
        dag.test()                                            a held request turns the clock
        assert plane.matching_requests("PUT")                 what was deployed
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self
from urllib.parse import parse_qs, unquote, urlsplit

from airflow_provider_arroyo.responses import to_micros
from airflow_provider_arroyo.testing.partitions import FakeConsumer, FakeMoves, TurnableClock, differs, new_consumer

TOKEN = "the-token-of-the-fake"  # noqa: S105 - it opens nothing else

Fault = Literal["unavailable", "crashed", "lost answer"]


@dataclass
class FakePipeline:
    """A pipeline with scripted states and watermarks: each poll takes the next one, the last one stays."""

    id: str
    name: str
    body: dict[str, Any] = field(default_factory=dict)
    states: deque[str] = field(default_factory=lambda: deque(["Running"]))
    watermarks: deque[datetime | None] = field(default_factory=lambda: deque([None]))
    behind: timedelta | None = None
    """Distance of its complete output from the clock of its control plane; replaces scripted watermarks."""
    parallelism: int = 1
    run_id: int = 1
    epoch: int | None = None
    stop: str = "none"
    version: int = 1
    failure: tuple[str, str] | None = None
    failure_cause: str | None = None
    has_sessions: bool = False
    certifies: bool = False
    stream_run: dict[str, str] | None = None
    """OpenLineage run id of its certificates."""
    is_about_to_start: bool = False
    """Whether a start was requested while it is stopped."""
    checkpoints: list[dict[str, Any]] = field(default_factory=list)
    savepoints: dict[str, deque[dict[str, Any]]] = field(default_factory=dict)
    plan: dict[str, Any] = field(default_factory=dict)
    tables: list[dict[str, Any]] | None = None
    """Tables that it reads and writes."""
    lineage: dict[str, Any] | None = None
    """Its datasets and their columns; None is a control plane of an earlier version, which does not report them."""
    savepoint_keys: dict[str, str] = field(default_factory=dict)
    retention: dict[str, Any] = field(default_factory=dict)
    fates: list[dict[str, Any]] = field(default_factory=list)
    drill: list[dict[str, Any]] = field(default_factory=list)
    """Scripted savepoint of each poll, once its restore test is requested."""
    drills_asked: int = 0
    rehearsals: dict[str, deque[dict[str, Any]]] = field(default_factory=dict)
    """Scripted rehearsals of each poll, by idempotency key."""
    next_rehearsals: deque[list[dict[str, Any]]] = field(default_factory=deque)
    """Results of rehearsals that are still to be requested; without any, no row differs."""
    origin: str | None = None
    """Pipeline whose input it reads again."""
    hand_over: deque[tuple[str, str | None]] = field(
        default_factory=lambda: deque([("apart", None), ("waiting", None), ("over", None)])
    )
    """Steps of its hand-over, one per poll, with what it waits for or why it was abandoned."""
    events: list[dict[str, Any]] = field(default_factory=list)
    """Its events, oldest first; `happen` adds one."""
    taken_back: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Responses to rollbacks and restores, by idempotency key."""

    def become(self, *states: str) -> None:
        """Set the states in which it will be seen from now on."""
        self.states = deque(states)

    def happen(self, at: datetime, code: str, message: str, level: str = "warn") -> None:
        """Add an event."""
        event = {"id": len(self.events) + 1, "created_at": to_micros(at), "level": level, "details": None, "who": "ann"}
        self.events.append({**event, "code": code, "message": message})

    def to_json(self, state: str) -> dict[str, Any]:
        """Return the pipeline as the control plane reports it."""
        return {
            "id": self.id,
            "name": self.name,
            "state": state,
            "settled": not self.is_about_to_start,
            "parallelism": self.parallelism,
            "job_id": f"job_{self.id}",
            "stop": self.stop,
            "stopped_by": None if self.stop == "none" else "ann",
            "stopped_at": None if self.stop == "none" else 1_767_225_600_000_000,
            "action_in_progress": False,
            "version": self.version,
            "digest": "d",
            "fingerprint": "f1",
            "query": self.body.get("query"),
            "settings": self.body.get("settings", {}),
            "tables": self.tables,
            "graph": {
                "nodes": [
                    {"operator": "Write", "description": "Write counts"},
                    {"operator": "WindowAggregate", "description": "WindowAggregate count(*) by tumble"},
                    {"operator": "Scan", "description": "Scan events (at, key), watermark at"},
                ]
            },
        }

    def job(self) -> dict[str, Any]:
        """Return the job as the control plane reports it."""
        code, message = self.failure or (None, None)
        return {
            "id": f"job_{self.id}",
            "state": self.states[0],
            "run_id": self.run_id,
            "failure_code": code,
            "failure_message": message,
            "failure_hint": "look there",
            "failure_cause": self.failure_cause,
            "epoch": self.epoch,
            "watermark": None,
            "restarts": 0,
        }


@dataclass(frozen=True)
class Request:
    """A request that was received."""

    method: str
    path: str
    query: dict[str, str]
    body: Any
    key: str | None
    requested_by: str | None = None
    """The requesting task, according to the request."""


@dataclass(frozen=True)
class Answer:
    """A response."""

    status: int
    body: Any


def problem(status: int, code: str, detail: str, hint: str | None = None) -> Answer:
    """Return a refusal in the form of a control plane."""
    return Answer(status, {"title": "refused", "status": status, "code": code, "detail": detail, "hint": hint})


class FakeControlPlane:
    """Serves on a free port of this machine while it is entered.

    :param clock: the clock of pipelines with `behind`. A held request turns it until its gate opens, or the next
        scheduled action happens.
    """

    def __init__(self, clock: TurnableClock | None = None) -> None:
        self.clock = clock or TurnableClock()
        self.per_request = timedelta(0)
        """How much time passes with each request, for tasks that look and look again."""
        self.pipelines: dict[str, FakePipeline] = {}
        self.consumers: dict[str, FakeConsumer] = {}
        """Those of partitions, by their names."""
        self.requests: list[Request] = []
        self.faults: list[tuple[str, str, Fault]] = []
        self.refusals: dict[tuple[str, str], Answer] = {}
        self.on_patch: Callable[[FakePipeline, dict[str, Any]], None] = _patch
        self.answered: dict[str, Answer] = {}
        self.forks: dict[str, FakePipeline] = {}
        self.moves = FakeMoves()
        self.hand_over_steps: deque[tuple[str, str | None]] | None = None
        self.on_head: Callable[[dict[str, str]], object] | None = None
        """Told of the headers of each request."""
        self.more_headers: dict[str, str] = {}
        """What each answer has besides."""
        self.kind = "application/json"
        """What each answer says it is."""
        self.gate: threading.Event | None = None
        self.waiting = threading.Event()
        self.lock = threading.Lock()
        self._server: _Server | None = None
        self._port = 0
        self._made = 0
        self._pipelines_made = 0

    @property
    def url(self) -> str:
        """Return the address at which it listens."""
        return f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> Self:
        self.come_back()
        return self

    def __exit__(self, *error: object) -> None:
        self.go_away()

    @contextmanager
    def as_connection(self, conn_id: str = "arroyo_default") -> Iterator[None]:
        """Let the connection of this name lead here, in this process and in its child processes."""
        variable = f"AIRFLOW_CONN_{conn_id.upper()}"
        before = os.environ.get(variable)
        os.environ[variable] = json.dumps({"conn_type": "arroyo", "host": self.url, "password": TOKEN})
        try:
            yield
        finally:
            if before is None:
                del os.environ[variable]
            else:
                os.environ[variable] = before

    def come_back(self) -> None:
        """Listen again, at the same address."""
        self._server = _Server(("127.0.0.1", self._port), _handler(self))
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def go_away(self) -> None:
        """Refuse connections."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def add(self, name: str = "clicks", **script: Any) -> FakePipeline:
        """Add a pipeline."""
        self._pipelines_made += 1
        pipeline = FakePipeline(f"pl_{self._pipelines_made}", name, **script)
        self.pipelines[pipeline.id] = pipeline
        return pipeline

    def consume(self, name: str, pipeline: str, **body: Any) -> FakeConsumer:
        """Add a consumer of partitions, as a request with this body does."""
        followed = self._find(pipeline)
        if followed is None:
            raise ValueError(f"there is no pipeline {pipeline!r}")
        self._made += 1
        complete = self._complete_until(followed, {})
        wanted, names = {"pipeline": pipeline, **body}, (followed.id, followed.name)
        made = new_consumer(self._made, name, names, wanted, complete_until=complete, now=self.clock.now)
        self.consumers[name] = made
        return made

    def fail(self, method: str, path: str, *faults: Fault) -> None:
        """Make the next requests of this kind fail. A lost answer is lost after the request was processed."""
        self.faults += [(method, path, fault) for fault in faults]

    def next_fault(self, request: Request) -> Fault | None:
        """Return the fault for this request."""
        for number, (method, path, fault) in enumerate(self.faults):
            if request.method == method and re.search(path, request.path):
                del self.faults[number]
                return fault
        return None

    def matching_requests(self, method: str, path: str = "") -> list[Request]:
        """Return the requests of this method to paths that match."""
        return [request for request in self.requests if request.method == method and re.search(path, request.path)]

    def answer(self, request: Request) -> Answer:
        """Process a request, and record it."""
        if request.path.endswith("/changes/stream"):
            return problem(404, "http.unknown_path", "this control plane has no stream, like those of earlier versions")
        self.clock.turn(self.per_request)
        self.requests.append(request)
        if request.key is not None and request.method != "POST" and request.key in self.answered:
            return self.answered[request.key]
        answer = self._answer(request)
        if request.key is not None and answer.status < 400:
            self.answered[request.key] = answer
        return answer

    def _answer(self, request: Request) -> Answer:
        for (method, path), refusal in self.refusals.items():
            if request.method == method and re.search(path, request.path):
                return refusal
        parts = [unquote(part) for part in request.path.removeprefix("/api/v1/").split("/")]
        match request.method, parts:
            case "GET", ["ping"]:
                return Answer(200, {"pong": True, "version": "0.1.0", "instance": "fake"})
            case "GET", ["session"]:
                return Answer(200, {"session": {"who": "admin", "version": "0.1.0"}})
            case "PUT", ["pipelines", "by-name", name]:
                return self._upsert(name, request)
            case "GET", ["pipelines"]:
                return self._page(request.query.get("starting_after"))
            case "POST", ["savepoints", savepoint, "fork"]:
                return self._fork(savepoint, request)
            case "PUT", ["partitions", name]:
                return self._put_consumer(name, request)
            case "GET", ["partitions"]:
                return _list([consumer.to_json() for consumer in self.consumers.values()])
            case method, ["partitions", name, *segments]:
                if name not in self.consumers:
                    return problem(404, "partition.not_found", f"there is no consumer of partitions {name!r}")
                return self._of_consumer(method, self.consumers[name], segments, request)
            case method, ["arrivals", *rest]:
                return _found(self.moves.arrive(method, rest, request.body), request)
            case method, ["pipelines", name, *segments]:
                pipeline = self._find(name)
                if pipeline is None:
                    return problem(404, "pipeline.not_found", f"there is no pipeline {name!r}")
                return self._of_pipeline(method, pipeline, segments, request)
        return problem(404, "http.unknown_path", request.path)

    def _put_consumer(self, name: str, request: Request) -> Answer:
        if self._find(request.body["pipeline"]) is None:
            return problem(404, "pipeline.not_found", f"there is no pipeline {request.body['pipeline']!r}")
        if name not in self.consumers:
            self.consume(name, **request.body)
        if differs(self.consumers[name], request.body):
            return problem(409, "partition.differs", f"the consumer of partitions {name!r} follows other buckets")
        if "push" in request.body:
            self.consumers[name].body["push"] = request.body["push"]
        if request.body.get("late"):
            self.consumers[name].body["late"] = request.body["late"]
        return Answer(200, self.consumers[name].to_json())

    def _of_consumer(self, method: str, consumer: FakeConsumer, segments: list[str], request: Request) -> Answer:
        match method, segments:
            case "GET", []:
                return Answer(200, consumer.to_json())
            case "DELETE", []:
                del self.consumers[consumer.name]
                return Answer(204, None)
            case "GET", ["next"]:
                pipeline = self.pipelines[consumer.pipeline_id]
                if (
                    int(request.query.get("timeout_seconds", 0))
                    and not consumer.waiting
                    and pipeline.behind is not None
                ):
                    self.clock.turn_towards(consumer.due + pipeline.behind)
                consumer.close(self._complete_until(pipeline, {}), self.clock.now)
                limit = int(request.query.get("limit", 100))
                given = [consumer.told(delivery) for delivery in consumer.waiting]
                body = {"consumer": consumer.to_json(), "data": given[:limit], "has_more": len(given) > limit}
                return Answer(200, body)
            case "POST", ["ack"]:
                if request.body.get("id") not in (None, consumer.id):
                    return problem(409, "partition.differs", f"{consumer.name!r} is another consumer now")
                if request.body["up_to"] > len(consumer.deliveries):
                    return problem(409, "partition.not_delivered", f"{consumer.name!r} was not given that delivery")
                consumer.acked = max(consumer.acked, request.body["up_to"])
                return Answer(200, consumer.to_json())
        return problem(404, "http.unknown_path", request.path)

    def _page(self, after: str | None) -> Answer:
        """Return at most a hundred pipelines, those after one or the first."""
        pipelines = list(self.pipelines.values())
        ids = [pipeline.id for pipeline in pipelines]
        begin = 0 if after is None else ids.index(after) + 1
        shown = [pipeline.to_json(pipeline.states[0]) for pipeline in pipelines[begin : begin + 100]]
        is_more = len(pipelines) > begin + 100
        return Answer(200, {"data": shown, "has_more": is_more, "hasMore": is_more})

    def _find(self, name: str) -> FakePipeline | None:
        return self.pipelines.get(name) or next(
            (pipeline for pipeline in self.pipelines.values() if pipeline.name == name), None
        )

    def _upsert(self, name: str, request: Request) -> Answer:
        pipeline = self._find(name)
        if pipeline is None:
            pipeline = self.add(name, body=request.body, parallelism=request.body.get("parallelism", 1))
            if self._next_states:
                pipeline.become(*self._next_states)
            return Answer(201, pipeline.to_json(pipeline.states[0]))
        pipeline.stop = "none"
        is_new = pipeline.body.get("query") != request.body["query"]
        pipeline.version += is_new
        pipeline.body = request.body
        pipeline.parallelism = request.body.get("parallelism", pipeline.parallelism)
        if is_new and self.upserts_take_effect:
            pipeline.run_id += 1
            pipeline.become("CheckpointStopping", "Scheduling", "Running")
        if pipeline.states[0] in ("Stopped", "Failed"):
            pipeline.run_id += 1
            pipeline.become("Scheduling", "Running")
        return Answer(200, pipeline.to_json(pipeline.states[0]))

    def _reprocess(self, origin: FakePipeline, request: Request) -> Answer:
        if request.key not in self.forks:
            name = request.body.get("name") or f"{origin.name}-{request.body['into']}"
            if self._find(name) is not None:
                return problem(409, "pipeline.exists", "there is a pipeline of that name already")
            made = self.forks[str(request.key)] = self.add(name, body=request.body)
            made.become("Created", "Scheduling", "Running")
            made.origin = origin.name
            if self.hand_over_steps is not None:
                made.hand_over = self.hand_over_steps
        made = self.forks[str(request.key)]
        writes = ["counts: again-counts instead of counts"]
        return Answer(201, made.to_json(made.states[0]) | {"reprocesses": {"name": made.name, "writes": writes}})

    @staticmethod
    def _hand_over(method: str, copy: FakePipeline) -> Answer:
        if copy.origin is None:
            return problem(409, "pipeline.hand_over", "it does not read the input of another one again")
        is_apart = copy.hand_over[0][0] == "apart"
        if is_apart == (method == "POST") and len(copy.hand_over) > 1:
            copy.hand_over.popleft()
        step, why = copy.hand_over[0]
        shown = {"pipeline": copy.origin, "copy_name": copy.name, "step": step, "waits_for": why, "version": 2}
        return Answer(202 if method == "POST" else 200, shown)

    def _fork(self, savepoint: str, request: Request) -> Answer:
        if request.key not in self.forks:
            if self._find(request.body["name"]) is not None:
                return problem(409, "pipeline.exists", "there is a pipeline of that name already")
            self.forks[str(request.key)] = self.add(request.body["name"], body=request.body)
            self.forks[str(request.key)].become("Created", "Scheduling", "Running")
        fork = self.forks[str(request.key)]
        return Answer(201, fork.to_json(fork.states[0]) | {"forked_from": {"savepoint_id": savepoint}})

    @staticmethod
    def _take_back(pipeline: FakePipeline, request: Request, more: dict[str, Any]) -> Answer:
        key = str(request.key)
        if key not in pipeline.taken_back:
            pipeline.version += 1
            pipeline.run_id += 1
            pipeline.become("CheckpointStopping", "Scheduling", "Running")
            pipeline.taken_back[key] = pipeline.to_json("Running") | more
        return Answer(202, pipeline.taken_back[key])

    upserts_take_effect = True
    """False: deployments are recorded, and the old run still appears to be running."""
    _next_states: tuple[str, ...] = ()

    def new_pipelines_become(self, *states: str) -> None:
        """Set the states of pipelines that are deployed from now on."""
        self._next_states = states

    def _of_pipeline(self, method: str, pipeline: FakePipeline, segments: list[str], request: Request) -> Answer:
        match method, segments:
            case "GET", []:
                return Answer(200, pipeline.to_json(_next(pipeline.states)))
            case "PATCH", []:
                self.on_patch(pipeline, request.body)
                return Answer(200, pipeline.to_json(pipeline.states[0]))
            case "DELETE", []:
                if pipeline.states[0] not in ("Stopped", "Failed", "Finished"):
                    return problem(409, "pipeline.busy", f"pipeline {pipeline.name!r} is {pipeline.states[0]}")
                del self.pipelines[pipeline.id]
                return Answer(204, None)
            case "POST", ["restart"]:
                pipeline.run_id += 1
                pipeline.become("Scheduling", "Running")
                return Answer(200, pipeline.to_json("Scheduling"))
            case "GET", ["lineage"] if pipeline.lineage is not None:
                return Answer(200, {"namespace": "arroyo", "name": pipeline.name, "version": 1, **pipeline.lineage})
            case "GET", ["jobs"]:
                return _list([pipeline.job()])
            case "GET", ["jobs", _, "checkpoints"]:
                return _list(pipeline.checkpoints)
            case "GET", ["events"]:
                worse = {"info": {"info", "warn", "error"}, "warn": {"warn", "error"}, "error": {"error"}}
                levels, since = worse[request.query.get("severity", "info")], int(request.query.get("since", 0))
                shown = [event for event in pipeline.events if event["level"] in levels]
                return _list([event for event in reversed(shown) if event["created_at"] >= since])
            case "POST", ["rollback"]:
                way = {"version": request.body.get("to", 1), "savepoint_id": "sp_1", "epoch": 7}
                way["ahead"] = [{"table": "topic", "connector": "kafka", "epochs": 2, "rows": 9}]
                return self._take_back(pipeline, request, {"rollback": way})
            case "POST", ["reprocess"]:
                return self._reprocess(pipeline, request)
            case "GET" | "POST", ["hand-over"]:
                return self._hand_over(method, pipeline)
            case "POST", ["restore"]:
                return self._take_back(pipeline, request, {})
            case _, ["departure", *action]:
                is_dry = request.query.get("dry_run") == "true"
                return _found(self.moves.depart(method, action, pipeline, request.body, is_dry=is_dry), request)
            case "POST", ["plan"]:
                return Answer(200, pipeline.plan)
            case "POST", ["rehearsals"]:
                return _rehearse(pipeline, str(request.key))
            case "GET", ["rehearsals", rehearsal]:
                [script] = [script for script in pipeline.rehearsals.values() if script[0]["id"] == rehearsal]
                return Answer(200, _next(script))
            case "POST", ["savepoints"]:
                savepoint_id = pipeline.savepoint_keys.setdefault(
                    str(request.key), f"sp_{len(pipeline.savepoint_keys) + 1}"
                )
                script = pipeline.savepoints.setdefault(
                    savepoint_id, _savepoint_script(savepoint_id, request.body["label"])
                )
                return Answer(202, script[0])
            case "POST", ["savepoints", "prune"]:
                if not (request.body or pipeline.retention):
                    return problem(400, "setting.savepoint_rule", "all savepoints are kept")
                return Answer(
                    200, {"dry_run": request.query["dry_run"] == "true", "fates": pipeline.fates, "bytes": 12}
                )
            case "PUT", ["savepoint-retention"]:
                pipeline.retention = request.body
                return Answer(200, request.body)
            case "POST", ["savepoints", savepoint, "verify"]:
                pipeline.drills_asked += 1
                pipeline.savepoints[savepoint] = deque(pipeline.drill)
                return Answer(202, _next(pipeline.savepoints[savepoint]))
            case "GET", ["savepoints", savepoint]:
                return Answer(200, _next(pipeline.savepoints[savepoint]))
            case "GET", ["watermark"]:
                return self._watermark(pipeline, request.query)
        return problem(404, "http.unknown_path", request.path)

    def _watermark(self, pipeline: FakePipeline, query: dict[str, str]) -> Answer:
        watermark = self._complete_until(pipeline, query)
        micros = None if watermark is None else to_micros(watermark)
        state = _next(pipeline.states)
        passed = state == "Finished" or (micros is not None and micros >= int(query.get("past", 0)))
        if pipeline.has_sessions and query.get("by") == "input":
            return problem(409, "pipeline.completeness_unknown", "of sink 'visits' it is not known", "by=output")
        body = {
            "pipeline_id": pipeline.id,
            "watermark": micros,
            "epoch": 7,
            "lineage": "1f",
            "passed": passed if "past" in query else None,
            "state": state,
        }
        body |= {"sources": {"events": micros}, "sinks": {"counts": {"complete_until": micros, "output_until": micros}}}
        if not passed:
            remedy = "rows of partition 3 have to come"
            body["held_by"] = {"reason": "oldest_rows", "remedy": remedy, "source": "clicks", "partition": "3"}
        if passed and pipeline.certifies and "dag_id" in query:
            body["certificate"] = {"id": "gate_1", "pipeline_id": pipeline.id, "version": 1, "lineage": "1f"}
            body["certificate"] |= {"epoch": 7, "complete_until": micros, "run_id": query["run_id"], "of_tomorrow": 1}
            body["certificate"] |= {"offsets": {"events": {"0": 12}}, "openlineage": pipeline.stream_run}
        return Answer(200, body)

    def _complete_until(self, pipeline: FakePipeline, query: dict[str, str]) -> datetime | None:
        if pipeline.behind is None:
            watermark: datetime | None = _next(pipeline.watermarks)
            return watermark
        if "past" in query and pipeline.states[0] == "Running":
            past = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=int(query["past"]))
            if int(query.get("timeout_seconds", 0)):
                self.clock.turn_towards(past + pipeline.behind)
        return self.clock.now - pipeline.behind


def _patch(pipeline: FakePipeline, body: dict[str, Any]) -> None:
    if "parallelism" in body:
        pipeline.parallelism = body["parallelism"]
        pipeline.run_id += 1
        pipeline.become("Rescaling", "Scheduling", "Running")
    if body.get("stop") == "none":
        pipeline.stop = "none"
        if pipeline.states[0] in ("Stopped", "Failed"):
            pipeline.run_id += 1
            pipeline.become("Scheduling", "Running")
    elif "stop" in body:
        pipeline.stop = body["stop"]
        pipeline.become("CheckpointStopping", "Stopped")


def _savepoint_script(savepoint: str, label: str | None) -> deque[dict[str, Any]]:
    pending = {"id": savepoint, "label": label, "state": "pending"}
    outcome = {"state": "completed", "epoch": 4, "watermark": 0, "path": f"/savepoints/{savepoint}", "bytes": 12}
    return deque([pending, {**pending, **outcome}])


def _rehearse(pipeline: FakePipeline, key: str) -> Answer:
    """Return the rehearsal of that key: each runs once, and its progress depends on how often it was polled."""
    if key not in pipeline.rehearsals:
        looks = pipeline.next_rehearsals.popleft() if pipeline.next_rehearsals else rehearsal_looks()
        named = {"id": f"reh_{len(pipeline.rehearsals) + 1}", "pipeline_id": pipeline.id, "plan_id": "3f0c"}
        pipeline.rehearsals[key] = deque({**named, **look} for look in looks)
    return Answer(202, pipeline.rehearsals[key][0])


def rehearsal_looks(only_old: int = 0, only_new: int = 0, sink: str = "counts") -> list[dict[str, Any]]:
    """Return a rehearsal that is done after some polls, with that many rows that only one of the scripts writes."""
    differs = bool(only_old or only_new)
    rows = {"rows_old": 100, "rows_new": 100, "only_old": only_old, "only_new": only_new, "examples": []}
    report = {"differs": differs, "plan": "3f0c", "epoch": 4, "rows_in": {"clicks": 100}}
    report["sinks"] = [{"sink": sink, "differs": differs, **rows}]
    text = f"{sink}: {only_old} only in the old one, {only_new} only in the new one\n"
    steps = [{"state": "waiting"}, {"state": "running", "step": "running the old query"}]
    return [*steps, {"state": "done", "differs": differs, "report": report, "text": text}]


def _next(script: deque[Any]) -> Any:
    return script.popleft() if len(script) > 1 else script[0]


def _found(body: dict[str, Any] | None, request: Request) -> Answer:
    return problem(404, "http.unknown_path", request.path) if body is None else Answer(200, body)


def _list(items: list[Any]) -> Answer:
    return Answer(200, {"data": items, "has_more": False, "hasMore": False})


class _Server(ThreadingHTTPServer):
    """Serves until it is asked to end. Ignores clients that disconnect."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _handler(fake: FakeControlPlane) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            address = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(address.query).items()}
            size = int(self.headers.get("Content-Length") or 0)
            content = self.rfile.read(size)
            if len(content) < size:
                raise ConnectionAbortedError("the client has gone away in the middle of its request")
            body = json.loads(content) if size else None
            key, requested_by = self.headers.get("Idempotency-Key"), self.headers.get("X-Requested-By")
            request = Request(self.command, address.path, query, body, key, requested_by)
            if fake.on_head is not None:
                fake.on_head(dict(self.headers))
            if fake.gate is not None:
                fake.waiting.set()
                fake.gate.wait(30)
            with fake.lock:
                fault = fake.next_fault(request)
                if fault == "unavailable":
                    answer = problem(503, "server.starting", "not yet")
                elif fault == "crashed":
                    answer = problem(500, "server.bug", "that should not have happened")
                elif not address.path.endswith("/ping") and self.headers.get("Authorization") != f"Bearer {TOKEN}":
                    answer = problem(401, "auth.token", "the token is not the right one", "See the file token.")
                else:
                    answer = fake.answer(request)
            if fault == "lost answer":
                self.close_connection = True
                return
            content = b"" if answer.status == 204 else json.dumps(answer.body).encode()
            self.send_response(answer.status)
            for name, text in {"Content-Type": fake.kind, **fake.more_headers}.items():
                self.send_header(name, text)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = _serve  # noqa: N815 - names of the standard library

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the standard library's name
            """Log nothing."""

    return Handler
