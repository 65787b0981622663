"""What the API's description promises, against random requests: those that it allows, those that it does not, and those
that no client of ours would send. `CONTRACT_CASES` says how many; `make test-all` plays five thousand."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from inspect import iscoroutinefunction
from typing import Any

import pytest
import schemathesis
from fastapi.routing import APIRoute
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.api.conftest import TOKEN, Plane, report

CASES = int(os.environ.get("CONTRACT_CASES", "200"))
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
HOSTILE_BODIES = [
    b"{",
    b"null",
    b"[]",
    b'"text"',
    b"\xff\xfe",
    b'{"query": "SELECT \\ud800"}',
    b'{"query": "SELECT 1", "settings": {"\\udfff": "1"}}',
    b'{"query": "SELECT 1", "settings": {"memory": "\\ud800"}}',
    b'{"query": "SELECT 1", "secrets": {"A": "\\ud800"}}',
    b'{"query": "SELECT \\u0000", "udfs": ["\\u0000", "\\ud800"]}',
    b'{"query": "SELECT 1", "idempotency_key": "\\ud800"}',
    b'{"query": "SELECT 1", "parallelism": NaN, "checkpoint_interval_micros": 1e999}',
    b'{"query": "SELECT 1", "checkpoint_interval_micros": 1e400}',
    b'{"parallelism": ' + b"9" * 5_000 + b"}",
    b'{"parallelism": ' + b"9" * 100 + b"}",
    b'{"label": "\\ud800", "creator": "\\u0000", "reason": "\\udc00"}',
    b'{"savepoint_id": "\\ud800"}',
    b'{"\\ud800": 1}',
    b'{"name": "\\ud800"}',
    b'{"name": "a", "expires_at": 1e300}',
    b'{"a": ' * 900 + b"1" + b"}" * 900,
    b"[" * 100_000 + b"]" * 100_000,
    b'{"query": "' + b"x" * (2 * 1024 * 1024) + b'"}',
]
HOSTILE_HEADERS: list[dict[str, str | bytes]] = [
    {},
    {"Content-Type": "text/plain"},
    {"Content-Type": "application/json; charset=utf-16"},
    {"Content-Type": "multipart/form-data; boundary="},
    {"Content-Type": ""},
    {"If-Match": 'W/"x", *, "'},
    {"If-Match": b"\xff\xfe"},
    {"Idempotency-Key": b"\xe4\x00".replace(b"\x00", b"")},
    {"Idempotency-Key": "k" * 257},
    {"Content-Length": "\u00b2".encode("latin-1")},
    {"Content-Length": "-1"},
    {"Authorization": b"Bearer \xff"},
    {"Authorization": "Bearer"},
    {"User-Agent": b"\xff\xfe"},
    {"Host": ""},
    {"Host": "[::1"},
]
HOSTILE_VALUES = [
    "",
    "\x00",
    "a/b",
    "..",
    "\U0010ffff",
    "x" * 5_000,
    "nan",
    "inf",
    "-1",
    "1" * 5_000,
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59-23:59",
    "253402300800000000",
    "\u00b2",
    "true",
    "%",
]
"""Also as cursors, which are not ours then."""


@dataclass(frozen=True)
class World:
    """A control plane with something in it, and the names of that."""

    plane: Plane
    names: Mapping[str, list[str]]

    def send(self, case: Case[Any], headers: Mapping[str, str | bytes], content: bytes | None) -> Any:
        """Send a request as it was made up."""
        sent = case.as_transport_kwargs(base_url="http://testserver")
        body = {"json": sent["json"]} if "json" in sent else {"content": sent.get("data")}
        return self.plane.http.request(
            sent["method"],
            sent["url"],
            params=sent["params"],
            headers={**sent["headers"], **headers},
            **(body if content is None else {"content": content}),
        )


@pytest.fixture
def world(plane: Plane) -> World:
    plane.http.app.state.context = replace(plane.context, long_poll_max=timedelta(0), stream_max=timedelta(0))  # type: ignore[attr-defined]
    pipeline = plane.run("orders")
    plane.run("clicks", query="SELECT 2 INTO file:/clicks")
    plane.http.patch("/api/v1/pipelines/clicks", json={"stop": "graceful"})
    plane.settle()
    plane.end()
    savepoint = plane.http.post("/api/v1/pipelines/orders/savepoints").json()
    plane.http.post("/api/v1/tokens", json={"name": "guest"})
    names = {
        "pipeline": ["orders", "clicks", pipeline["id"]],
        "name": ["orders", "guest", "new"],
        "job": [pipeline["job_id"]],
        "epoch": ["0", "1"],
        "savepoint": [savepoint["id"]],
    }
    return World(plane, names)


@pytest.mark.timeout(3600)
def test_random_requests_are_answered_as_described(world: World) -> None:
    operations = list(_operations(world))
    broken = []
    for operation in operations:
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            broken += _play(world, operation, mode, max(CASES // len(operations) // 2, 1))

    assert broken == []


def _operations(world: World) -> Iterator[APIOperation[Any, Any, Any, Any]]:
    described = world.plane.http.get("/api/v1/api-docs/openapi.json").json()
    for result in schemathesis.openapi.from_dict(described).get_all_operations():
        operation: APIOperation[Any, Any, Any, Any] = result.ok()  # type: ignore[union-attr]
        yield operation


def _play(world: World, operation: APIOperation[Any, Any, Any, Any], mode: GenerationMode, examples: int) -> list[str]:
    """What is wrong with the answers to so many requests of one kind; nothing where there is no such request."""
    token = st.sampled_from([f"Bearer {TOKEN}"] * 4 + ["", "Bearer wrong"])

    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(_cases(operation, world.names, mode), token, _hostile_headers(), _hostile_bodies(operation))
    def answers_as_described(
        case: Case[Any], authorization: str, headers: dict[str, str | bytes], content: bytes | None
    ) -> None:
        answer = world.send(case, {"Authorization": authorization, **headers}, content)
        world.plane.settle()
        case.validate_response(answer, checks=CHECKS)

    try:
        answers_as_described()
    except Unsatisfiable:
        return []
    except FailureGroup as failures:
        return [f"{operation.label} {mode}: {failure}" for failure in failures.exceptions] + [str(failures)]
    return []


@st.composite
def _cases(
    draw: st.DrawFn, operation: APIOperation[Any, Any, Any, Any], names: Mapping[str, list[str]], mode: GenerationMode
) -> Case[Any]:
    """A request; most are about something that is there."""
    case: Case[Any] = draw(operation.as_strategy(mode))
    for name in list(case.path_parameters or {}):
        if draw(st.integers(0, 3)):
            case.path_parameters[name] = draw(st.sampled_from(names[name]))
    query = {parameter.name for parameter in operation.query}
    if query and draw(st.integers(0, 3)) == 0:
        case.query = {**(case.query or {}), draw(st.sampled_from(sorted(query))): draw(st.sampled_from(HOSTILE_VALUES))}
    return case


def _hostile_headers() -> st.SearchStrategy[dict[str, str | bytes]]:
    return st.integers(0, 3).flatmap(lambda chance: st.just({}) if chance else st.sampled_from(HOSTILE_HEADERS))


def _hostile_bodies(operation: APIOperation[Any, Any, Any, Any]) -> st.SearchStrategy[bytes | None]:
    if not operation.body:
        return st.none()
    return st.integers(0, 2).flatmap(lambda chance: st.none() if chance else st.sampled_from(HOSTILE_BODIES))


def test_every_route_names_its_refusals_and_who_is_let_in(plane: Plane) -> None:
    described = plane.http.get("/api/v1/api-docs/openapi.json").json()
    operations = {
        f"{verb} {path}": operation for path, verbs in described["paths"].items() for verb, operation in verbs.items()
    }
    problems = {
        label: {status for status, answer in operation["responses"].items() if _is_problem(answer)}
        for label, operation in operations.items()
    }

    assert described["components"]["securitySchemes"] == {"bearer": {"type": "http", "scheme": "bearer"}}
    assert {label for label, operation in operations.items() if operation.get("security") != [{"bearer": []}]} == {
        "get /api/v1/ping",
        "get /api/v1/session",
        "post /api/v1/session",
    }
    assert [label for label, statuses in problems.items() if not statuses >= {"403", "413", "422", "500"}] == []
    assert [label for label, statuses in problems.items() if "401" not in statuses] == ["get /api/v1/ping"]
    assert [label for label, statuses in problems.items() if "{pipeline}" in label and "404" not in statuses] == []
    assert [
        label for label, asked in operations.items() if "requestBody" in asked and "400" not in problems[label]
    ] == []
    assert "HTTPValidationError" not in json.dumps(described)
    assert [
        label
        for label, operation in operations.items()
        for status, answer in operation["responses"].items()
        if status >= "4" and not _is_problem(answer)
    ] == []


def _is_problem(answer: dict[str, Any]) -> bool:
    return answer.get("content") == {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}


def test_dependencies_of_handlers_use_no_thread(plane: Plane) -> None:
    app: Any = plane.http.app
    waiting = [route.dependant for route in app.routes if isinstance(route, APIRoute)]
    taking = set()
    while waiting:
        some = waiting.pop().dependencies
        waiting.extend(some)
        taking |= {str(each.call) for each in some if not iscoroutinefunction(each.call)}

    assert taking == set()


def test_request_without_a_driver_token_is_refused(plane: Plane) -> None:
    job = plane.run("orders")["job_id"]
    bodies = {"hello": {"nonce": "n", "pid": 1}, "heartbeat": {"state": "running"}, "goodbye": {"outcome": "stopped"}}

    refusals = {
        (call, generation, authorization): plane.http.post(
            f"/api/v1/runs/{job}/{generation}/{call}", json=body, headers={"Authorization": authorization}
        ).status_code
        for call, body in bodies.items()
        for generation in ("1", "0", "-1", "x", "9" * 30, "1e3")
        for authorization in (b"", b"Bearer \xff")
    }

    assert {request: status for request, status in refusals.items() if status not in (401, 422)} == {}


def test_no_body_is_an_error_of_the_control_plane(world: World) -> None:
    """Each to every route that takes a body, also to those that are for drivers."""
    run = world.plane.runner.launched[0]
    routes = [
        ("PUT", "/pipelines/by-name/orders"),
        ("PATCH", "/pipelines/orders"),
        ("POST", "/pipelines/orders/restart"),
        ("POST", "/pipelines/orders/savepoints"),
        ("POST", "/pipelines/orders/restore"),
        ("POST", "/pipelines/validate_query"),
        ("POST", "/tokens"),
        *(("POST", f"/runs/{run.job_id}/{run.generation}/{call}") for call in ("hello", "heartbeat", "goodbye")),
    ]
    headers = {"Content-Type": "application/json"}

    answers = {
        (path, content[:80]): world.plane.http.request(
            verb,
            f"/api/v1{path}",
            content=content,
            headers=headers | ({"Authorization": f"Bearer {run.key}"} if path.startswith("/runs") else {}),
        )
        for content in HOSTILE_BODIES
        for verb, path in routes
    }

    assert [request for request, answer in answers.items() if answer.status_code >= 500] == []
    assert [
        request for request, answer in answers.items() if not answer.is_success and "code" not in answer.json()
    ] == []


NONSENSE = [
    {"outcome": "failed", "error": {"code": "\ud800", "message": "\ud800"}},
    {"outcome": "failed", "error": {"code": "a", "message": "\x00"}},
    {"outcome": "stopped", "reports": [{"epoch": 10**30}]},
    *(
        {"outcome": "stopped", "reports": [{**report(1, 1), field: value}]}
        for field, value in [
            ("epoch", 2**63),
            ("watermark", 2**62),
            ("at", -(2**62)),
            ("rows_in", 2**64),
            ("duration", 2**63),
            ("rows_per_second", float("nan")),
            ("source_watermarks", {"\ud800": 1}),
            ("sinks", {"a": {"complete_until": 2**63}}),
            ("lineage", "\udfff"),
        ]
    ),
]


def test_a_driver_that_talks_nonsense_is_an_error_of_its_own(plane: Plane) -> None:
    plane.run("orders")
    run = plane.runner.launched[-1]

    answers = [
        plane.http.post(
            f"/api/v1/runs/{run.job_id}/{run.generation}/goodbye",
            content=json.dumps(body),
            headers={"Authorization": f"Bearer {run.key}", "Content-Type": "application/json"},
        )
        for body in NONSENSE
    ]

    assert [answer.status_code for answer in answers if answer.status_code not in (200, 422)] == []
    for path in ("", "/watermark", "/jobs", f"/jobs/{run.job_id}/checkpoints", "/events"):
        assert plane.get(f"/pipelines/orders{path}")


def test_no_instant_is_an_error_of_the_control_plane(plane: Plane) -> None:
    plane.run("orders")
    asked = [*HOSTILE_VALUES, "-99999999999999999999", "-62135596800000001", "0001-01-01"]

    statuses = {
        past: plane.http.get(
            "/api/v1/pipelines/orders/watermark", params={"past": past, "dag_id": "d", "run_id": "r"}
        ).status_code
        for past in asked
    }

    assert {past: status for past, status in statuses.items() if status not in (200, 422)} == {}


def test_no_header_is_an_error_of_the_control_plane(plane: Plane) -> None:
    plane.run("orders")

    statuses = {
        repr(headers): plane.http.patch(
            "/api/v1/pipelines/orders", json={"parallelism": 2}, headers=headers
        ).status_code
        for headers in HOSTILE_HEADERS
    }

    assert {headers: status for headers, status in statuses.items() if status >= 500} == {}


def test_no_cursor_is_an_error_of_the_control_plane(plane: Plane) -> None:
    plane.run("orders")
    asked = [
        ("/pipelines", "starting_after"),
        ("/events", "after"),
        ("/events", "before"),
        ("/events", "since"),
        ("/pipelines/orders/events", "after"),
        ("/pipelines/orders/logs", "after"),
    ]

    statuses = {
        (path, name, value): plane.http.get(f"/api/v1{path}", params={name: value}).status_code
        for path, name in asked
        for value in [*HOSTILE_VALUES, "0-0", "999999999-999999999999999", str(2**62), str(2**63), "9" * 30]
    }

    assert {request: status for request, status in statuses.items() if status not in (200, 404, 422)} == {}
