from __future__ import annotations

import pytest

from engine.jobs.address import API_PREFIX
from tests.api.conftest import Plane

PATHS = ["/pipelines", "/pipelines/orders", "/pipelines/orders/watermark", "/pipelines/orders/logs", "/nothing"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("header", ["", "Bearer ", "Bearer wrong", "Basic YTpi", "a-token"])
def test_without_the_token_nothing_is_told(plane: Plane, path: str, header: str) -> None:
    refused = plane.http.get(f"/api/v1{path}", headers={"Authorization": header})

    assert (refused.status_code, refused.json()["code"]) == (401, "auth.denied")
    assert refused.headers["www-authenticate"] == "Bearer"


def test_anybody_may_ask_who_is_there(plane: Plane) -> None:
    answer = plane.http.get("/api/v1/ping", headers={"Authorization": ""})

    assert answer.json() == {"pong": True, "version": "1.2.3", "instance": "me"}


@pytest.mark.parametrize("host", ["evil.example", "evil.example:5115", "testserver.evil.example", ""])
def test_a_page_that_points_its_own_name_at_this_machine_is_refused(plane: Plane, host: str) -> None:
    refused = plane.http.get("/api/v1/ping", headers={"Host": host})

    assert (refused.status_code, refused.json()["code"]) == (403, "auth.host")


def test_a_body_has_a_bearable_size(plane: Plane) -> None:
    refused = plane.http.put(f"{API_PREFIX}/pipelines/by-name/x", content=b"x" * (2 * 1024 * 1024 + 1))

    assert (refused.status_code, refused.json()["code"]) == (413, "request.too_large")


def test_a_body_must_say_how_long_it_is(plane: Plane) -> None:
    refused = plane.http.put(f"{API_PREFIX}/pipelines/by-name/x", content=iter([b"x"]))

    assert (refused.status_code, refused.json()["code"]) == (422, "request.invalid")


def test_an_unknown_path_is_a_problem_too(plane: Plane) -> None:
    refused = plane.http.get("/api/v1/nothing")

    assert (refused.status_code, refused.headers["content-type"]) == (404, "application/problem+json")


def test_the_api_describes_itself(plane: Plane) -> None:
    described = plane.http.get("/api/v1/api-docs/openapi.json", headers={"Authorization": ""}).json()

    assert set(described["paths"]) == {
        f"{API_PREFIX}{path}"
        for path in (
            "/ping",
            "/events",
            "/connectors",
            "/completions",
            "/connection_profiles",
            "/connection_profiles/test",
            "/connection_profiles/{profile}",
            "/connection_tables",
            "/connection_tables/test",
            "/connection_tables/schemas/test",
            "/connection_tables/schemas/infer",
            "/connection_tables/{table}",
            "/udfs",
            "/udfs/{udf}",
            "/udfs/validate",
            "/jobs",
            "/pipelines/preview",
            "/pipelines/{pipeline}/rehearsals",
            "/pipelines/{pipeline}/rehearsals/{rehearsal}",
            "/pipelines/{pipeline}/jobs/{job}/output",
            "/pipelines/{pipeline}/lineage",
            "/pipelines/{pipeline}/state/rows",
            "/pipelines/{pipeline}/written",
            "/pipelines/{pipeline}/written/{table}",
            "/pipelines/{pipeline}/jobs/{job}/operator_metric_groups",
            "/pipelines/{pipeline}/jobs/{job}/checkpoints/{epoch}/operator_checkpoint_groups",
            "/changes",
            "/changes/stream",
            "/pipelines",
            "/pipelines/by-name/{name}",
            "/pipelines/validate_query",
            "/pipelines/{pipeline}",
            "/pipelines/{pipeline}/certificates",
            "/arrivals",
            "/arrivals/check",
            "/arrivals/{pipeline}",
            "/arrivals/{pipeline}/start",
            "/pipelines/{pipeline}/departure",
            "/pipelines/{pipeline}/departure/export",
            "/pipelines/{pipeline}/departure/over",
            "/pipelines/{pipeline}/departure/release",
            "/pipelines/{pipeline}/hand-over",
            "/pipelines/{pipeline}/reprocess",
            "/pipelines/{pipeline}/events",
            "/pipelines/{pipeline}/jobs",
            "/pipelines/{pipeline}/jobs/{job}/checkpoints",
            "/pipelines/{pipeline}/jobs/{job}/errors",
            "/pipelines/{pipeline}/logs",
            "/pipelines/{pipeline}/output",
            "/pipelines/{pipeline}/plan",
            "/pipelines/{pipeline}/restart",
            "/pipelines/{pipeline}/restore",
            "/pipelines/{pipeline}/rollback",
            "/pipelines/{pipeline}/savepoint-imports/{savepoint}",
            "/pipelines/{pipeline}/savepoint-retention",
            "/pipelines/{pipeline}/savepoint-schedule",
            "/pipelines/{pipeline}/savepoints",
            "/pipelines/{pipeline}/savepoints/import",
            "/pipelines/{pipeline}/savepoints/prune",
            "/pipelines/{pipeline}/savepoints/{savepoint}",
            "/pipelines/{pipeline}/savepoints/{savepoint}/export",
            "/pipelines/{pipeline}/savepoints/{savepoint}/verify",
            "/pipelines/{pipeline}/secrets",
            "/pipelines/{pipeline}/state",
            "/pipelines/{pipeline}/watermark",
            "/partitions",
            "/partitions/{name}",
            "/partitions/{name}/ack",
            "/partitions/{name}/deliveries",
            "/partitions/{name}/next",
            "/session",
            "/session/link",
            "/savepoint-schedules",
            "/savepoints/{savepoint}/fork",
            "/storage",
            "/sweep",
            "/tokens",
            "/tokens/{name}",
        )
    }
    assert all(operation.get("description") for path in described["paths"].values() for operation in path.values())


def test_a_bug_is_a_problem_that_says_nothing_of_the_inside(plane: Plane) -> None:
    plane.http.app.state.context = None  # type: ignore[attr-defined]

    broken = plane.http.get("/api/v1/pipelines")

    plane.http.app.state.context = plane.context  # type: ignore[attr-defined]
    assert (broken.status_code, broken.json()["code"]) == (500, "server.internal")
    assert "Traceback" not in broken.text
