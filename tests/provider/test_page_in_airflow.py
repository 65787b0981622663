"""The page of a control plane through Airflow: its own login, its own rights, and nothing else of either server."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import pytest
import uvicorn
from airflow import settings
from airflow.api_fastapi.app import create_auth_manager, purge_cached_app
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
from airflow.api_fastapi.core_api.app import init_middlewares
from airflow.models.base import Base
from fastapi import FastAPI
from starlette.testclient import TestClient

from airflow_provider_arroyo.page.allowed import Right, quoted, right_for
from airflow_provider_arroyo.plugin import ArroyoPlugin
from airflow_provider_arroyo.testing.control_plane import TOKEN, Answer, FakeControlPlane
from airflow_provider_arroyo.views import view_of

PAGE = {"X-Arroyo-Page": "1"}
API = "/arroyo/arroyo_default/api/v1"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FastAPI]:
    """What of Airflow's API server is asked: the plugin where Airflow mounts it, and the login."""
    monkeypatch.setenv("AIRFLOW__API_AUTH__JWT_SECRET", "s" * 64)
    monkeypatch.setenv(
        "AIRFLOW__CORE__AUTH_MANAGER", "airflow.api_fastapi.auth.managers.simple.simple_auth_manager.SimpleAuthManager"
    )
    monkeypatch.delenv("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS", raising=False)
    wanted = {"revoked_token", "connection"}  # Airflow revokes tokens from 3.2 on
    tables = [table for name, table in Base.metadata.tables.items() if name in wanted]
    engine = settings.get_engine() if hasattr(settings, "get_engine") else settings.engine
    Base.metadata.create_all(engine, tables=tables)
    purge_cached_app()
    create_auth_manager()
    app = FastAPI()
    init_middlewares(app)
    for mounted in ArroyoPlugin.fastapi_apps:
        app.mount(mounted["url_prefix"], mounted["app"])
    yield app
    purge_cached_app()


def visitor(server: FastAPI, role: str | None = "admin", name: str = "ann") -> TestClient:
    """A browser in which somebody of a role has logged in to Airflow; without a role nobody has."""
    client = TestClient(server, base_url="http://airflow.example", follow_redirects=False)
    if role is not None:
        token = create_auth_manager().generate_jwt(SimpleAuthManagerUser(username=name, role=role))
        client.cookies.set("_token", token)
    return client


def test_logged_in_user_sees_the_page_and_its_pipelines(server: FastAPI, plane: FakeControlPlane) -> None:
    plane.add("clicks")
    browser = visitor(server)

    page = browser.get("/arroyo/arroyo_default/")
    script = page.text.partition('src="./')[2].partition('"')[0]
    listed = browser.get(f"{API}/pipelines?limit=10", headers=PAGE)
    session = browser.get(f"{API}/session").json()["session"]

    assert "frame-ancestors 'self'" in page.headers["content-security-policy"]
    assert browser.get(f"/arroyo/arroyo_default/{script}").headers["content-type"].startswith("text/javascript")
    assert [pipeline["name"] for pipeline in listed.json()["data"]] == ["clicks"]
    assert plane.requests[-1].path == "/api/v1/session"
    assert plane.matching_requests("GET", "pipelines")[0].query == {"limit": "10"}
    assert session == {"who": "ann", "version": "0.1.0", "through": "Airflow", "may_change": True}


def test_a_change_reaches_the_control_plane_with_its_body(server: FastAPI, plane: FakeControlPlane) -> None:
    plane.add("clicks")

    answer = visitor(server).patch(f"{API}/pipelines/clicks", json={"stop": "graceful"}, headers=PAGE)

    assert answer.status_code == 200
    [asked] = plane.matching_requests("PATCH")
    assert asked.body == {"stop": "graceful"}


def test_user_without_login_is_redirected_and_a_script_is_refused(server: FastAPI, plane: FakeControlPlane) -> None:
    stranger = visitor(server, role=None)

    page = stranger.get("/arroyo/arroyo_default/pipelines/clicks")
    asked = stranger.get(f"{API}/pipelines")
    forged = TestClient(server, cookies={"_token": "e30.e30.e30"}).get(f"{API}/pipelines")

    assert page.status_code == 307
    assert page.headers["location"] == "/api/v2/auth/login?next=%2Farroyo%2Farroyo_default%2Fpipelines%2Fclicks"
    assert (asked.status_code, asked.json()["code"]) == (401, "auth.denied")
    assert forged.status_code == 403
    assert stranger.get("/arroyo/arroyo_default/assets/x.js").status_code == 307
    assert plane.requests == []


@pytest.mark.parametrize("role", ["viewer", "user"])
def test_user_without_access_to_the_connection_sees_nothing(
    server: FastAPI, plane: FakeControlPlane, role: str
) -> None:
    browser = visitor(server, role)

    assert browser.get("/arroyo/arroyo_default/").status_code == 403
    assert browser.get(f"{API}/session").status_code == 403
    assert browser.get(f"{API}/pipelines").json()["code"] == "airflow.forbidden"
    assert browser.patch(f"{API}/pipelines/clicks", json={}, headers=PAGE).status_code == 403
    assert "arroyo_default" not in browser.get("/arroyo/").text
    assert plane.requests == []


def test_user_with_read_access_cannot_change_anything(
    server: FastAPI, plane: FakeControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane.add("clicks")
    manager = create_auth_manager()
    monkeypatch.setattr(
        type(manager), "is_authorized_connection", lambda self, *, method, user, details=None: method == "GET"
    )
    reader = visitor(server, "user")

    assert reader.get(f"{API}/pipelines").status_code == 200
    assert reader.get(f"{API}/session").json()["session"]["may_change"] is False
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        answer = reader.request(method, f"{API}/pipelines/clicks", json={}, headers=PAGE)
        assert (method, answer.status_code, answer.json()["code"]) == (method, 403, "airflow.forbidden")
    assert {request.method for request in plane.requests} == {"GET"}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {**PAGE, "Sec-Fetch-Site": "cross-site"},
        {**PAGE, "Sec-Fetch-Site": "same-site"},
        {**PAGE, "Origin": "http://evil.example"},
        {**PAGE, "Origin": "http://airflow.example.evil.example"},
        {**PAGE, "Origin": "http://airflow.example:81"},
        {**PAGE, "Origin": "null"},
        {**PAGE, "Origin": "http://["},
    ],
)
def test_another_page_cannot_have_a_browser_change_something(
    server: FastAPI, plane: FakeControlPlane, headers: dict[str, str]
) -> None:
    plane.add("clicks")

    answer = visitor(server).post(f"{API}/pipelines/clicks/restart", json={}, headers=headers)

    assert (answer.status_code, answer.json()["code"]) == (403, "auth.cross_site")
    assert plane.requests == []


def test_the_page_itself_may_also_behind_a_proxy_that_renames_airflow(
    server: FastAPI, plane: FakeControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane.add("clicks")
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://flows.example/air")
    origins = ("http://airflow.example", "https://flows.example")

    answers = [
        visitor(server).post(
            f"{API}/pipelines/clicks/restart",
            json={},
            headers={**PAGE, "Origin": origin, "Sec-Fetch-Site": "same-origin"},
        )
        for origin in origins
    ]

    assert [answer.status_code for answer in answers] == [200, 200]


@pytest.mark.parametrize(
    "path",
    [
        "tokens",
        "session/link",
        "runs/x/heartbeat",
        "api-docs/openapi.json",
        "sweep",
        "partitions",
        "arrivals",
        "pipelines/clicks/departure",
        "pipelines/clicks/watermark",
        "pipelines/clicks/secrets",
        "pipelines/../tokens",
        "pipelines/%2e%2e/tokens",
        "pipelines/..%2ftokens",
        "pipelines/%252e%252e/%252e%252e/tokens",
        "pipelines//tokens",
        "changes/%2e%2e/tokens",
        "changes/..%2ftokens",
        "changes/./stream",
        "pipelines/clicks/jobs/%2e%2e/%2e%2e/%2e%2e/tokens",
        "pipelines/clicks/rehearsals/%2e%2e%2f..%2f..%2ftokens",
        "pipelines/..\\tokens",
        "pipelines/a%0d%0aHost:%20evil/jobs",
        "pipelines/%00",
        "/evil.example/pipelines",
        "//evil.example/",
        "http://evil.example/pipelines",
        "@evil.example/pipelines",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_request_without_permission_is_not_passed_on(
    server: FastAPI, plane: FakeControlPlane, path: str, method: str
) -> None:
    answer = visitor(server).request(method, f"{API}/{path}", headers=PAGE)

    assert answer.status_code in {404, 405, 307}
    assert [request.path for request in plane.requests if ".." in request.path or "token" in request.path] == []


def test_a_name_stays_one_piece_of_the_path_whatever_is_in_it(server: FastAPI, plane: FakeControlPlane) -> None:
    for name in ("a?b=c", "a#b", "%2e%2e", "a%2fb", "ü <b>", "a;b@c:d"):
        assert right_for("GET", f"pipelines/{name}") is Right.LOOK
        assert quoted(f"pipelines/{name}").count("/") == 1
        assert not set(quoted(f"pipelines/{name}")) & set("?#;@: <>")

    visitor(server).get(f"{API}/pipelines/a%3Fb%3Dc/jobs?x=1")

    assert (plane.requests[-1].path, plane.requests[-1].query) == ("/api/v1/pipelines/a%3Fb%3Dc/jobs", {"x": "1"})


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "OPTIONS", "HEAD", "PROPFIND", "get"])
def test_other_methods_are_not_passed_on(server: FastAPI, plane: FakeControlPlane, method: str) -> None:
    assert right_for(method, "pipelines") is None
    assert visitor(server).request(method, f"{API}/pipelines", headers=PAGE).status_code == 405 or method == "get"
    assert [request for request in plane.requests if request.method != "GET"] == []


def test_only_connections_of_type_arroyo_lead_anywhere(
    server: FastAPI, plane: FakeControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_OTHER", json.dumps({"conn_type": "http", "host": plane.url, "password": TOKEN}))
    browser = visitor(server)

    for conn_id in ("other", "unknown", "127.0.0.1", "127.0.0.1%3A80", "..", "%2e%2e"):
        answer = browser.get(f"/arroyo/{conn_id}/api/v1/pipelines")
        assert (conn_id, answer.status_code) in {(conn_id, 404), (conn_id, 422)}
    assert plane.requests == []


def test_neither_server_sees_the_others_secrets(server: FastAPI, plane: FakeControlPlane) -> None:
    seen: list[dict[str, str]] = []
    plane.on_head = seen.append
    browser = visitor(server)
    more = {
        "X-Forwarded-Host": "evil.example",
        "X-Forwarded-For": "1.2.3.4",
        "Forwarded": "host=evil.example",
        "X-Arroyo-Page": "1",
        "Cookie": f"other=1; _token={browser.cookies['_token']}",
        "Range": "bytes=0-1",
    }

    answer = browser.get(f"{API}/pipelines", headers=more)

    assert answer.status_code == 200
    assert {name.lower() for name in seen[0]} <= {
        "host",
        "accept",
        "accept-encoding",
        "connection",
        "user-agent",
        "authorization",
    }
    assert seen[0]["Authorization"] == f"Bearer {TOKEN}"
    assert TOKEN not in str(answer.headers) + answer.text
    assert "set-cookie" not in answer.headers
    with_own = visitor(server, None).get(f"{API}/pipelines", headers={"Authorization": f"Bearer {TOKEN}"})
    assert with_own.status_code in {401, 403}  # it is no token of Airflow's


def test_an_answer_is_never_a_page_of_airflow(server: FastAPI, plane: FakeControlPlane) -> None:
    browser = visitor(server)
    plane.more_headers = {"Set-Cookie": "_token=x", "Content-Security-Policy": "default-src *", "Refresh": "0"}
    passed = browser.get(f"{API}/pipelines")
    plane.kind = "text/html"
    page = browser.get(f"{API}/pipelines")
    plane.kind, plane.more_headers = "application/json", {"Location": "http://evil.example/"}
    plane.refusals["GET", "pipelines"] = Answer(302, {})
    elsewhere = browser.get(f"{API}/pipelines")

    assert not {"set-cookie", "refresh"} & set(passed.headers)
    assert "sandbox" in passed.headers["content-security-policy"]
    assert (page.status_code, page.json()["code"]) == (502, "http.bad_answer")
    assert (elsewhere.status_code, elsewhere.json()["code"]) == (502, "http.bad_answer")
    assert "location" not in elsewhere.headers


def test_a_control_plane_that_is_away_is_said_to_be(server: FastAPI, plane: FakeControlPlane) -> None:
    browser = visitor(server)
    plane.go_away()

    answers = [browser.get(f"{API}/{path}") for path in ("session", "pipelines")]

    assert [(it.status_code, it.json()["code"]) for it in answers] == [(502, "http.unreachable")] * 2
    assert "127.0.0.1" not in answers[1].text
    assert browser.get("/arroyo/arroyo_default/").status_code == 200


@pytest.mark.parametrize(
    "connection",
    [
        {"host": "https://plane.example", "extra": {"verify": "/no/such/file.pem"}},
        {"host": "http://two words:x"},
        {"host": "http://plane.example", "password": "t\u20ac"},
    ],
)
def test_a_connection_that_cannot_be_used_is_said_to_be(
    server: FastAPI, monkeypatch: pytest.MonkeyPatch, connection: dict[str, Any]
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_ARROYO_DEFAULT", json.dumps({"conn_type": "arroyo", **connection}))
    browser = visitor(server)

    answers = [browser.get(f"{API}/{path}") for path in ("session", "pipelines")]

    assert [(it.status_code, it.json()["code"]) for it in answers] == [(503, "connection.invalid")] * 2
    assert all(word not in answers[1].text for word in ("no/such", "two words", "t\u20ac"))


def test_an_answer_that_cannot_be_unpacked_comes_from_no_control_plane(
    server: FastAPI, plane: FakeControlPlane
) -> None:
    browser = visitor(server)
    plane.more_headers = {"Content-Encoding": "gzip"}

    answers = [browser.get(f"{API}/{path}") for path in ("session", "pipelines")]

    assert [(it.status_code, it.json()["code"]) for it in answers] == [(502, "http.bad_answer")] * 2


def test_a_token_that_the_control_plane_does_not_take_does_not_end_the_login_to_airflow(
    server: FastAPI, plane: FakeControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        "AIRFLOW_CONN_ARROYO_DEFAULT", json.dumps({"conn_type": "arroyo", "host": plane.url, "password": "x"})
    )

    answer = visitor(server).get(f"{API}/pipelines")

    assert (answer.status_code, answer.json()["code"]) == (502, "airflow.token")


def test_an_embedded_control_plane_is_not_started_by_a_look(
    server: FastAPI, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    extra = {"embedded": True, "data_dir": str(tmp_path)}
    monkeypatch.setenv("AIRFLOW_CONN_ARROYO_DEFAULT", json.dumps({"conn_type": "arroyo", "extra": extra}))

    answer = visitor(server).get(f"{API}/pipelines")
    page = visitor(server).get("/arroyo/arroyo_default/")

    assert (answer.status_code, answer.json()["code"]) == (503, "http.unreachable")
    assert (page.status_code, "no embedded control plane runs" in page.text) == (503, True)
    assert list(tmp_path.iterdir()) == []


def test_the_chooser_lists_what_somebody_may_see_and_goes_to_the_only_one(
    server: FastAPI, plane: FakeControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = visitor(server)
    only = browser.get("/arroyo/")
    monkeypatch.setenv("AIRFLOW_CONN_SECOND", json.dumps({"conn_type": "arroyo", "host": plane.url}))
    monkeypatch.setenv("AIRFLOW_CONN_OTHER", json.dumps({"conn_type": "http"}))
    both = browser.get("/arroyo/")

    assert only.headers["location"] == "/arroyo/arroyo_default/"
    assert '<a href="/arroyo/second/">second</a>' in both.text
    assert "other" not in both.text


def test_a_link_leads_to_the_pipelines_part_of_the_page(server: FastAPI, plane: FakeControlPlane) -> None:
    answer = visitor(server).get("/arroyo/arroyo_default/pipelines/a%20b%23c")

    assert answer.headers["location"] == "/arroyo/arroyo_default/#/pipelines/a%20b%23c"


def test_a_link_of_a_task_names_the_view_and_what_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://flows.example/air/")

    assert view_of("c", "clicks") == "/air/plugin/arroyo/air/arroyo/c/pipelines/clicks"
    assert unquote(view_of("c", "a#b/x")).endswith("/air/arroyo/c/pipelines/a%23b")
    assert view_of("c", ["clicks", "views"]) == "/air/plugin/arroyo/air/arroyo/c/"


def test_too_long_a_request_is_refused(
    server: FastAPI, plane: FakeControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("airflow_provider_arroyo.page.passing.MOST_SENT", 1000)

    answer = visitor(server).post(f"{API}/pipelines", content=b"x" * 1001, headers=PAGE)

    assert (answer.status_code, answer.json()["code"]) == (413, "request.too_large")
    assert plane.requests == []


class Events:
    """A control plane that says something at once, and then nothing more for as long as it is listened to."""

    def __init__(self) -> None:
        self.left = threading.Event()
        self.heads: list[bytes] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with self._socket, self._socket.accept()[0] as caller:
            self.heads.append(caller.recv(65536))
            head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n\r\n"
            caller.sendall(head + b"id: a-1\nevent: ready\ndata: {}\n\n")
            while caller.recv(65536):
                pass
        self.left.set()


@contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """The server on a port of this machine, as Airflow starts it."""
    running = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", lifespan="off"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        running.should_exit = True
        thread.join(60)


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> Events:
    """Where the connection leads."""
    made = Events()
    connection = {"conn_type": "arroyo", "host": made.url, "password": TOKEN}
    monkeypatch.setenv("AIRFLOW_CONN_ARROYO_DEFAULT", json.dumps(connection))
    return made


def test_events_come_at_once_and_the_control_plane_is_let_go_when_the_browser_leaves(
    server: FastAPI, events: Events
) -> None:
    cookies = dict(visitor(server).cookies)

    with serving(server) as url, httpx.Client(cookies=cookies, trust_env=False, timeout=60) as browser:
        with browser.stream("GET", f"{url}{API}/changes/stream?after=a-0", headers={"Last-Event-ID": "a-0"}) as stream:
            pieces = stream.iter_text()
            first = next(pieces)
            was_let_go = events.left.is_set()
        assert events.left.wait(60)

    assert (first, was_let_go) == ("id: a-1\nevent: ready\ndata: {}\n\n", False)
    assert stream.headers["content-type"].startswith("text/event-stream")
    assert "content-encoding" not in stream.headers
    assert b"GET /api/v1/changes/stream?after=a-0 HTTP/1.1" in events.heads[0]
    assert b"last-event-id: a-0" in events.heads[0].lower()


def test_a_stream_ends_after_a_while_so_that_who_listens_is_asked_again(
    server: FastAPI, events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("airflow_provider_arroyo.page.passing.STREAM_TIME", timedelta(seconds=0.2))

    with serving(server) as url:
        answer = httpx.get(f"{url}{API}/changes/stream", cookies=dict(visitor(server).cookies), timeout=60)

    assert answer.text == "id: a-1\nevent: ready\ndata: {}\n\n"
    assert events.left.wait(60)


def test_proxied_page_gets_only_allowed_responses_and_actions() -> None:
    assert right_for("GET", "savepoint-schedules") is right_for("GET", "storage") is Right.LOOK
    assert right_for("PUT", "pipelines/clicks/savepoint-schedule") is Right.CHANGE
    for method, path in (
        ("POST", "sweep"),
        ("GET", "tokens"),
        ("POST", "tokens"),
        ("DELETE", "tokens/ann"),
        ("POST", "storage"),
    ):
        assert right_for(method, path) is None


def test_the_page_asks_for_nothing_in_airflow_that_is_not_passed_on() -> None:
    asked = re.compile(r'"(GET|POST|PUT|PATCH|DELETE)", [`"]/([^`"]*)[`"]')
    sources = (Path(__file__).parents[2] / "engine" / "web" / "src").rglob("*.ts*")
    found = {
        (method, re.sub(r"\$\{[^}]*\}", "x", path))
        for source in sources
        for method, path in asked.findall(source.read_text())
    }

    refused = {f"{method} {path}" for method, path in found if right_for(method, path) is None}
    own_session = {"GET session", "POST session", "DELETE session"}  # Airflow's own answers, and no button there
    assert len(found) > 20
    assert refused == {"GET tokens", "POST tokens", "DELETE tokens/x", "POST sweep"} | own_session
