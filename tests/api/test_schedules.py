"""Requests that come late, doubled and out of order, against a model of what a control plane has to do with each.

A request is written once and may be sent any number of times, at any later moment. `REQUEST_SCHEDULES` says how many
schedules are played; `make test-all` plays a thousand.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from sqlalchemy import event

from engine.api.http.change_request import etag
from engine.jobs.decisions.states import State
from engine.store.jobs.records import read_record
from engine.store.pipelines import pipelines, versions
from tests.api.conftest import Plane, report

SCHEDULES = int(os.environ.get("REQUEST_SCHEDULES", "20"))
QUERIES = ("SELECT 1", "SELECT 1 -- again", "SELECT 1 INTO b", "SELECT 2")
BASE = "/api/v1/pipelines"


@dataclass(frozen=True)
class Request:
    """What is sent, byte for byte the same each time."""

    method: str
    path: str
    body: dict[str, Any] | None
    key: str | None
    match: str | None

    @property
    def content(self) -> tuple[object, ...]:
        """What a key is bound to: the meaning of a body, whatever the order of its fields."""
        return (self.method, self.path, json.dumps(self.body, sort_keys=True))


@dataclass(frozen=True)
class Wanted:
    """What is desired of a pipeline, as far as requests change it."""

    query: str
    version: int = 1
    parallelism: int = 1
    stop: str = "none"
    restarts: int = 0
    restoring: bool = False


@dataclass(frozen=True)
class Seen:
    """A pipeline as it is: what is desired of it, and where its job stands."""

    wanted: Wanted | None = None
    tag: str | None = None
    state: State | None = None
    has_state: bool = False
    has_failed: bool = False
    """And nobody has asked yet for another start."""
    run: tuple[str, int] | None = None


@dataclass
class Model:
    """The pipeline as it has to be, and what was answered under each key."""

    wanted: Wanted | None = None
    has_savepoints: bool = False
    answers: dict[str, tuple[tuple[object, ...], int, str]] = field(default_factory=dict)

    def expect(self, request: Request, seen: Seen) -> tuple[int, Wanted | None]:
        """The status of the answer, and what is desired afterwards."""
        now, body = self.wanted, request.body or {}
        if request.method != "PUT" and now is None:
            return 404, now
        if request.match not in (None, "*", seen.tag) or (request.match is not None and now is None):
            return 412, now
        if request.method == "PUT":
            return self._put(body, seen)
        assert now is not None
        if request.method == "PATCH":
            return 200, _stop(
                replace(now, parallelism=body.get("parallelism", now.parallelism)), body.get("stop"), seen
            )
        if request.method == "DELETE":
            is_refused = seen.state not in (State.STOPPED, State.FINISHED, State.FAILED) or self.has_savepoints
            return (409, now) if is_refused else (204, None)
        if seen.state is State.FINISHED:
            return 409, now
        return 200, replace(now, stop="none", restarts=now.restarts + 1)

    def _put(self, body: dict[str, Any], seen: Seen) -> tuple[int, Wanted | None]:
        now, query = self.wanted, body["query"]
        if now is None:
            return 201, Wanted(query, parallelism=body.get("parallelism", 1), stop=body["stop"])
        is_same = _meaning(query) == _meaning(now.query)
        if not is_same and seen.has_state and _fingerprint(query) != _fingerprint(now.query) and not body["force"]:
            return 409, now
        after = _stop(replace(now, parallelism=body.get("parallelism", now.parallelism)), body["stop"], seen)
        return 200, after if is_same else replace(after, query=query, version=now.version + 1)


def _meaning(query: str) -> str:
    return query.partition(" --")[0]


def _fingerprint(query: str) -> str:
    return _meaning(query).partition(" INTO ")[0]


def _stop(wanted: Wanted, stop: str | None, seen: Seen) -> Wanted:
    if stop is None:
        return wanted
    return replace(wanted, stop=stop, restarts=wanted.restarts + (stop == "none" and seen.has_failed))


STOPS = st.sampled_from(["none", "checkpoint", "force"])
CONTENTS = st.one_of(
    st.fixed_dictionaries(
        {"query": st.sampled_from(QUERIES), "stop": STOPS, "force": st.booleans()},
        optional={"parallelism": st.integers(1, 3)},
    ).map(lambda body: ("PUT", "/by-name/{}", body)),
    STOPS.map(lambda stop: ("PATCH", "/{}", {"stop": stop})),
    st.integers(1, 3).map(lambda parallelism: ("PATCH", "/{}", {"parallelism": parallelism})),
    st.just(("POST", "/{}/restart", {"force": False})),
    st.just(("POST", "/{}/savepoints", {"label": "one"})),
    st.just(("POST", "/{}/restore", {"savepoint_id": "newest", "allow_replay": True})),
    st.just(("DELETE", "/{}", None)),
)
KEYS = st.sampled_from([None, "a", "b", "c"])
MATCHES = st.sampled_from([None, None, None, "seen", "*", '"old"'])


class Schedules(RuleBasedStateMachine):
    """One pipeline, those who ask for changes of it, and the driver that comes and goes."""

    requests = Bundle("requests")
    plane: Plane
    number = 0

    def __init__(self) -> None:
        super().__init__()
        Schedules.number += 1
        self.name = f"p{Schedules.number}"
        self.model = Model()
        self.savepoint = "sp_aaaaaaaaaaaaaaaa"

    def teardown(self) -> None:
        """Leave nothing for the next schedule to look after."""
        with self.plane.context.database.writing() as connection:
            connection.exec_driver_sql("DELETE FROM pipelines")
        self.plane.runner.work.clear()

    @initialize(target=requests, key=KEYS)
    def deploy(self, key: str | None) -> Request:
        """There is a pipeline."""
        body = {"query": QUERIES[0], "stop": "none", "force": False}
        return self._ask(("PUT", "/by-name/{}", body), key, None, 1)

    @rule(target=requests, content=CONTENTS, key=KEYS, match=MATCHES, times=st.sampled_from([0, 1, 1, 2]))
    def ask(
        self, content: tuple[str, str, dict[str, Any] | None], key: str | None, match: str | None, times: int
    ) -> Request:
        """Somebody asks for a change, by what there is now. It arrives at once, or twice, or at some later time."""
        return self._ask(content, key, match, times)

    @rule(request=requests, times=st.sampled_from([1, 1, 2]))
    def arrive(self, request: Request, times: int) -> None:
        """A request arrives late, or once more."""
        for _ in range(times):
            self._send(request)

    @rule()
    def work(self) -> None:
        """The control plane does what it can, and finishes what it has to do to the state."""
        self.plane.settle()
        self._follow()

    @rule(commits=st.booleans())
    def come_up(self, commits: bool) -> None:
        """The driver runs, and perhaps commits."""
        if self._look().state is State.SCHEDULING and self._run_is_open():
            self.plane.come_up()
            if commits:
                self.plane.call("heartbeat", {"state": "running", "reports": [report(1, 1)]})
            self._follow()

    @rule(outcome=st.sampled_from(["finished", "stopped", "failed"]))
    def go(self, outcome: str) -> None:
        """The driver ends, with whatever outcome."""
        if self._run_is_open():
            self.plane.end(outcome, {"code": "sql.bug", "message": "no"} if outcome == "failed" else None)
            self._follow()

    def _ask(
        self, content: tuple[str, str, dict[str, Any] | None], key: str | None, match: str | None, times: int
    ) -> Request:
        method, path, body = content
        if body is not None and "savepoint_id" in body:
            body = {**body, "savepoint_id": self.savepoint}
        tag = self._look().tag or '"none"' if match == "seen" else match
        request = Request(method, BASE + path.format(self.name), body, key and f"{self.name}-{key}", tag)
        for _ in range(times):
            self._send(request)
        return request

    def _send(self, request: Request) -> None:
        model, before = self.model, self._look()
        headers = {} if request.key is None else {"Idempotency-Key": request.key}
        headers |= {} if request.match is None else {"If-Match": request.match}
        answer = self.plane.http.request(request.method, request.path, json=request.body, headers=headers)
        earlier = model.answers.get(request.key or "")
        if earlier is not None:
            content, status, text = earlier
            assert answer.status_code == (status if content == request.content else 409), answer.text
            assert content != request.content or _same(text, answer.text)
        elif request.path.endswith(("/savepoints", "/restore")):
            self._judge_savepoint(request, answer, before)
        else:
            status, model.wanted = model.expect(request, before)
            assert answer.status_code == status, answer.text
            model.has_savepoints = model.has_savepoints and model.wanted is not None
        if answer.is_success and request.key is not None and earlier is None:
            model.answers[request.key] = (request.content, answer.status_code, answer.text)
        after = self._look()
        assert after.wanted == model.wanted
        assert (before.tag == after.tag) == (before.wanted == after.wanted)

    def _judge_savepoint(self, request: Request, answer: Any, before: Seen) -> None:
        """What must hold of a savepoint and of going back to one; the tests of savepoints say the rest."""
        assert answer.status_code in (201, 202, 404, 409, 412)
        assert not answer.is_success or request.match in (None, "*", before.tag)
        if answer.is_success and request.path.endswith("/savepoints"):
            self.model.has_savepoints, self.savepoint = True, answer.json()["id"]
        elif answer.is_success:
            self._follow()
            assert self.model.wanted is not None
            assert self.model.wanted.restoring

    def _follow(self) -> None:
        """Take over what the control plane changes by itself: a restore sets the parallelism, and is over at last."""
        wanted = self._look().wanted
        if self.model.wanted is not None and wanted is not None:
            parallelism, restoring = wanted.parallelism, wanted.restoring
            self.model.wanted = replace(self.model.wanted, parallelism=parallelism, restoring=restoring)

    def _look(self) -> Seen:
        with self.plane.context.database.reading() as connection:
            pipeline = pipelines.find(connection, self.name)
            if pipeline is None:
                return Seen()
            record = read_record(connection, pipeline.id)
            query = versions.get(connection, pipeline.id, pipeline.version).spec.query
        status, run = record.status, record.run
        return Seen(
            Wanted(
                query,
                pipeline.version,
                pipeline.parallelism,
                pipeline.stop,
                pipeline.restarts_asked,
                pipeline.restore is not None,
            ),
            etag(pipeline),
            status.state,
            status.progress.epoch is not None,
            status.state is State.FAILED and status.restarts_done == pipeline.restarts_asked,
            None if run is None else (run.job_id, run.generation),
        )

    def _run_is_open(self) -> bool:
        launched = self.plane.runner.launched[-1:]
        return [self._look().run] == [(run.job_id, run.generation) for run in launched]


def _same(kept: str, answer: str) -> bool:
    """Whether an answer is the one that was given first; a savepoint is shown as it is by now."""
    return kept == answer or '"sp_' in kept


@pytest.fixture
def quick(plane: Plane) -> Plane:
    """A database that does not wait for the disk."""
    engine = plane.context.database.engine

    def hurry(connection: Any, _: object) -> None:
        connection.execute("PRAGMA synchronous = OFF")

    engine.dispose()
    event.listen(engine, "connect", hurry)
    return plane


@pytest.mark.timeout(900 + SCHEDULES)
def test_late_doubled_and_reordered_requests_do_what_the_model_says(quick: Plane) -> None:
    Schedules.plane = quick
    machine: Callable[[], RuleBasedStateMachine] = Schedules
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=SCHEDULES,
            stateful_step_count=20,
            deadline=None,
            database=None,
            derandomize="REQUEST_SCHEDULES" not in os.environ,
            print_blob=True,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        ),
    )
