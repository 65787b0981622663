"""A request that arrives again: late, doubled, with another body, or on top of somebody else's change."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from tests.api.conftest import Plane

BASE = "/api/v1/pipelines/orders"
BY_NAME = "/api/v1/pipelines/by-name/orders"


def put(plane: Plane, query: str, *, key: str | None = None, match: str | None = None, **body: Any) -> Any:
    answer = plane.http.put(BY_NAME, json={"query": query, **body}, headers=headers(key, match))
    plane.settle()
    return answer


def patch(plane: Plane, body: dict[str, Any], *, key: str | None = None, match: str | None = None) -> Any:
    answer = plane.http.patch(BASE, json=body, headers=headers(key, match))
    plane.settle()
    return answer


def headers(key: str | None, match: str | None) -> dict[str, str]:
    return {
        **({} if key is None else {"Idempotency-Key": key}),
        **({} if match is None else {"If-Match": match}),
    }


def stop(plane: Plane) -> None:
    patch(plane, {"stop": "force"})
    assert plane.state() == "Stopped"


def test_a_late_retry_is_given_its_first_answer_and_leaves_the_later_version(plane: Plane) -> None:
    first = put(plane, "SELECT 1", key="a")
    assert put(plane, "SELECT 2", key="b").json()["version"] == 2

    late = put(plane, "SELECT 1", key="a")

    assert (late.status_code, late.json(), late.headers["etag"]) == (201, first.json(), first.headers["etag"])
    assert late.headers["idempotency-replayed"] == "true"
    assert "idempotency-replayed" not in first.headers
    assert (plane.get("/pipelines/orders")["version"], plane.get("/pipelines/orders")["query"]) == (2, "SELECT 2")


def test_a_late_retry_does_not_start_what_was_stopped(plane: Plane) -> None:
    put(plane, "SELECT 1", key="a")
    stop(plane)

    late = put(plane, "SELECT 1", key="a")

    assert (late.status_code, late.json()["stop"]) == (201, "none")
    assert (plane.state(), len(plane.runner.launched)) == ("Stopped", 1)


def test_a_late_retry_does_not_make_a_deleted_pipeline_anew(plane: Plane) -> None:
    first = put(plane, "SELECT 1", key="a").json()
    stop(plane)
    assert plane.http.delete(BASE, headers=headers("d", None)).status_code == 204

    assert put(plane, "SELECT 1", key="a").json() == first
    assert plane.http.get(BASE).status_code == 404
    assert plane.http.delete(BASE, headers=headers("d", None)).status_code == 204
    assert plane.http.delete(BASE, headers=headers("e", None)).status_code == 404


def test_a_key_that_comes_with_another_body_is_refused(plane: Plane) -> None:
    put(plane, "SELECT 1", key="a")

    refused = put(plane, "SELECT 2", key="a")

    assert (refused.status_code, refused.json()["code"]) == (409, "pipeline.key_reused")
    assert plane.get("/pipelines/orders")["version"] == 1


def test_a_key_that_comes_with_another_request_is_refused(plane: Plane) -> None:
    put(plane, "SELECT 1", key="a")

    refused = patch(plane, {"stop": "force"}, key="a")
    elsewhere = plane.http.put(
        "/api/v1/pipelines/by-name/clicks", json={"query": "SELECT 1"}, headers=headers("a", None)
    )

    assert (refused.status_code, refused.json()["code"]) == (409, "pipeline.key_reused")
    assert (elsewhere.status_code, elsewhere.json()["code"]) == (409, "pipeline.key_reused")
    assert plane.get("/pipelines/orders")["stop"] == "none"


def test_the_order_of_a_body_and_where_its_key_stands_do_not_matter(plane: Plane) -> None:
    first = plane.http.put(BY_NAME, json={"query": "SELECT 1", "parallelism": 2}, headers=headers("a", None))

    again = plane.http.put(BY_NAME, json={"parallelism": 2, "idempotency_key": "a", "query": "SELECT 1"})

    assert (first.status_code, again.json()) == (201, first.json())
    assert again.headers["idempotency-replayed"] == "true"


def test_a_request_that_was_refused_may_be_sent_again_with_its_key(plane: Plane) -> None:
    assert put(plane, "bad", key="a").status_code == 400
    assert put(plane, "SELECT 1", key="a").status_code == 201


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", "", {"stop": "force"}),
        ("PATCH", "", {"parallelism": 3}),
        ("POST", "/restart", {"force": False}),
        ("POST", "/restore", {"savepoint_id": "?", "allow_replay": True}),
    ],
)
def test_every_change_is_done_once_for_its_key(plane: Plane, method: str, path: str, body: dict[str, Any]) -> None:
    plane.run()
    savepoint = plane.http.post(f"{BASE}/savepoints").json()["id"]
    sent = {name: savepoint if value == "?" else value for name, value in body.items()}
    first = plane.http.request(method, BASE + path, json=sent, headers=headers("k", None))
    assert first.is_success, first.text
    plane.settle()
    between = patch(plane, {"stop": "none", "parallelism": 5})

    again = plane.http.request(method, BASE + path, json=sent, headers=headers("k", None))

    assert (again.status_code, again.json()) == (first.status_code, first.json())
    now = plane.http.get(BASE)
    assert (now.headers["etag"], now.json()["parallelism"]) == (between.headers["etag"], 5)


def test_a_savepoint_is_taken_once_for_its_key(plane: Plane) -> None:
    plane.run()
    first = plane.http.post(f"{BASE}/savepoints", json={"label": "x"}, headers=headers("k", None)).json()

    again = plane.http.post(f"{BASE}/savepoints", json={"label": "x"}, headers=headers("k", None))
    other_answer = plane.http.post(f"{BASE}/savepoints", json={"label": "y"}, headers=headers("k", None))

    assert (again.status_code, again.json()) == (201, first)
    assert (other_answer.status_code, other_answer.json()["code"]) == (409, "pipeline.key_reused")
    assert len(plane.get("/pipelines/orders/savepoints")["data"]) == 1


def test_twenty_requests_with_one_key_at_once_have_one_answer(plane: Plane) -> None:
    with ThreadPoolExecutor(20) as threads:
        sent = {"json": {"query": "SELECT 1"}, "headers": headers("a", None)}
        answers = list(threads.map(lambda _: plane.http.put(BY_NAME, **sent), range(20)))

    assert {(answer.status_code, answer.text) for answer in answers} == {(201, answers[0].text)}
    assert sum("idempotency-replayed" not in answer.headers for answer in answers) == 1


def test_a_key_is_kept_for_thirty_days(plane: Plane) -> None:
    put(plane, "SELECT 1", key="a")
    put(plane, "SELECT 2", key="b")

    plane.now += timedelta(days=30)
    assert put(plane, "SELECT 1", key="a").json()["version"] == 1

    plane.now += timedelta(seconds=1)
    put(plane, "SELECT 3", key="c")
    assert put(plane, "SELECT 1", key="a").json()["version"] == 4


def test_a_change_names_the_state_it_was_made_for(plane: Plane) -> None:
    etag = put(plane, "SELECT 1").headers["etag"]
    assert plane.http.get(BASE).headers["etag"] == etag
    after = patch(plane, {"parallelism": 2}, match=etag)

    assert after.headers["etag"] != etag
    assert patch(plane, {"parallelism": 3}, match=f'"other", {after.headers["etag"]}').status_code == 200
    assert patch(plane, {"parallelism": 4}, match="*").status_code == 200
    refused = patch(plane, {"parallelism": 5}, match=etag)
    assert (refused.status_code, refused.json()["code"]) == (412, "pipeline.changed")
    assert plane.get("/pipelines/orders")["parallelism"] == 4


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "by-name/orders", {"query": "SELECT 2"}),
        ("PATCH", "orders", {"stop": "checkpoint"}),
        ("POST", "orders/restart", None),
        ("POST", "orders/restore", {"savepoint_id": "?"}),
        ("POST", "orders/savepoints", None),
        ("DELETE", "orders", None),
        ("PUT", "by-name/new", {"query": "SELECT 2"}),
    ],
)
def test_no_change_is_made_to_what_has_changed(
    plane: Plane, method: str, path: str, body: dict[str, Any] | None
) -> None:
    put(plane, "SELECT 1")
    savepoint = plane.http.post(f"{BASE}/savepoints").json()["id"]
    before = plane.http.get(BASE)
    sent = body and {name: savepoint if value == "?" else value for name, value in body.items()}

    refused = plane.http.request(method, f"/api/v1/pipelines/{path}", json=sent, headers=headers(None, '"old"'))

    assert (refused.status_code, refused.json()["code"]) == (412, "pipeline.changed")
    assert plane.http.get(BASE).json() == before.json()
    assert len(plane.get("/pipelines")["data"]) == 1
    assert len(plane.get("/pipelines/orders/savepoints")["data"]) == 1


def test_only_one_of_twenty_changes_for_one_state_is_applied(plane: Plane) -> None:
    etag = put(plane, "SELECT 0").headers["etag"]

    def deploy(number: int) -> int:
        body = {"query": f"SELECT {number}"}
        return plane.http.put(BY_NAME, json=body, headers={"If-Match": etag}).status_code

    with ThreadPoolExecutor(20) as threads:
        statuses = list(threads.map(deploy, range(1, 21)))

    assert sorted(statuses) == [200] + [412] * 19
    assert plane.get("/pipelines/orders")["version"] == 2


def test_a_retry_with_its_key_is_answered_though_its_own_change_came_in_between(plane: Plane) -> None:
    etag = put(plane, "SELECT 1").headers["etag"]
    first = put(plane, "SELECT 2", key="k", match=etag)

    assert put(plane, "SELECT 2", key="k", match=etag).json() == first.json()
