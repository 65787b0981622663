"""Query parameters that a route does not have are refused, as unknown fields of a body are."""

from __future__ import annotations

import pytest

from engine.api.jobs.runs import ROUTER as OF_DRIVERS
from tests.api.conftest import Plane

CODE = "request.unknown_parameter"


@pytest.mark.parametrize(
    ("verb", "path", "name", "hint"),
    [
        ("GET", "/pipelines/orders/watermark?timeout_second=1", "timeout_second", "did you mean 'timeout_seconds'?"),
        ("GET", "/pipelines/orders/watermark?past=0&tabel=x", "tabel", "did you mean 'table'?"),
        ("GET", "/pipelines?LIMIT=1", "LIMIT", "did you mean 'limit'?"),
        ("GET", "/pipelines?zebra=1", "zebra", "known are limit, starting_after, with"),
        ("GET", "/pipelines/orders?x=", "x", "the request takes none"),
        ("DELETE", "/pipelines/orders?forse=true", "forse", "known are dry_run, with_savepoints"),
        ("PATCH", "/pipelines/orders?dryrun=true", "dryrun", "did you mean 'dry_run'?"),
        ("GET", "/ping?" + "y" * 90 + "=1", "y" * 40 + "...", "the request takes none"),
    ],
)
def test_an_unknown_query_parameter_is_refused_and_changes_nothing(
    plane: Plane, verb: str, path: str, name: str, hint: str
) -> None:
    plane.deploy()

    refused = plane.http.request(verb, f"/api/v1{path}", json={"parallelism": 2} if verb == "PATCH" else None)

    assert refused.status_code == 422
    assert (refused.json()["code"], refused.json()["hint"]) == (CODE, hint)
    assert refused.json()["detail"] == f"the query parameter {name!r} is not known here"
    assert plane.get("/pipelines/orders")["parallelism"] == 1


def test_every_route_but_those_of_drivers_refuses_unknown_parameters(plane: Plane) -> None:
    of_drivers = {f"/api/v1{route.path}" for route in OF_DRIVERS.routes}  # type: ignore[attr-defined]
    api = plane.get("/api-docs/openapi.json")

    asked = 0
    for path, verbs in api["paths"].items():
        for verb in verbs:
            url = path.replace("{", "").replace("}", "") + "?no_such_parameter=1"
            answer = plane.http.request(verb.upper(), url)
            assert (CODE in answer.text) == (path not in of_drivers), (verb, path, answer.text)
            asked += 1
    assert asked > 60


@pytest.mark.parametrize(
    ("verb", "path", "body", "hint"),
    [
        ("PUT", "by-name/new", {"query": "SELECT 1", "paralelism": 2}, "did you mean 'parallelism'?"),
        ("PATCH", "orders", {"stopp": "force"}, "did you mean 'stop'?"),
        ("PUT", "by-name/new", {"query": "x", "udfs": [{"definitoin": "x"}]}, "did you mean 'definition'?"),
        ("POST", "orders/restore", {"savepointId": "sp_1"}, "did you mean 'savepoint_id'?"),
        ("POST", "orders/restart", {"zebra": 1}, "known are force, ignore_state"),
    ],
)
def test_an_unknown_field_of_a_body_is_refused_with_the_one_that_is_meant(
    plane: Plane, verb: str, path: str, body: dict[str, object], hint: str
) -> None:
    plane.deploy()

    refused = plane.http.request(verb, f"/api/v1/pipelines/{path}", json=body)

    assert (refused.status_code, refused.json()["code"]) == (422, "request.invalid")
    assert refused.json()["hint"] == hint
    assert hint in [complaint["hint"] for complaint in refused.json()["errors"]]


@pytest.mark.parametrize("sent", ["text/plain; charset=utf-8", "application/x-www-form-urlencoded", ""])
def test_a_body_that_is_not_sent_as_json_is_told_which_header_to_send(plane: Plane, sent: str) -> None:
    plane.deploy()

    refused = plane.http.patch(
        "/api/v1/pipelines/orders", content=b'{"parallelism": 2}', headers={"Content-Type": sent}
    ).json()

    assert refused["code"] == "request.invalid"
    how = f"as {sent.partition(';')[0]}" if sent else "without a content type"
    assert refused["detail"] == (
        f"the body must be JSON, and was sent {how}: send the header Content-Type: application/json"
    )


def test_an_error_names_the_field_that_the_sender_wrote(plane: Plane) -> None:
    refused = plane.http.put("/api/v1/pipelines/by-name/orders", json={"query": 7}).json()

    assert refused["detail"] == "query must be text, and is 7"
