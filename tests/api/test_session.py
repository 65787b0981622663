"""Browsers are let in by a cookie, which no other page can use."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient

from engine.cli.main import main
from engine.control.access import LENGTH, LINK_LENGTH, Sessions
from engine.errors import CrossSiteError
from engine.store.access import tokens
from tests.api.conftest import T0, TOKEN, Plane
from tests.api.stand_in_server import StandInServer

FROM_PAGE = {"X-Arroyo-Page": "1"}


@pytest.fixture
def browser(plane: Plane) -> Iterator[TestClient]:
    """One that keeps cookies and has no token."""
    client = TestClient(plane.http.app, base_url="http://testserver")
    client.headers.update(FROM_PAGE)
    yield client
    client.close()


def enter(browser: TestClient, token: str = TOKEN, **headers: str) -> Any:
    return browser.post("/api/v1/session", json={"token": token}, headers=headers)


def refusal(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def session(browser: TestClient) -> Any:
    return browser.get("/api/v1/session").json()["session"]


def test_a_token_is_exchanged_for_a_cookie_that_lets_in(browser: TestClient) -> None:
    assert refusal(browser.get("/api/v1/pipelines")) == (401, "auth.denied")
    assert session(browser) is None

    assert enter(browser).json() == {"who": "admin", "version": "1.2.3", "through": None, "may_change": True}

    assert browser.get("/api/v1/pipelines").status_code == 200
    assert session(browser) == {"who": "admin", "version": "1.2.3", "through": None, "may_change": True}


def test_scripts_and_other_sites_do_not_get_at_the_cookie(browser: TestClient) -> None:
    cookie = enter(browser).headers["set-cookie"]

    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Path=/" in cookie
    assert TOKEN not in cookie
    assert "Secure" not in cookie
    assert "Secure" in enter(browser, origin="https://testserver").headers["set-cookie"]


@pytest.mark.parametrize("token", ["", "wrong", TOKEN + " ", "x" * 513])
def test_invalid_token_opens_no_session(browser: TestClient, token: str) -> None:
    answer = enter(browser, token)

    assert answer.status_code in (401, 422)
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Arroyo-Page": None},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},  # a page of another port of this machine
    ],
    ids=str,
)
def test_another_page_changes_nothing_with_the_cookie(
    plane: Plane, browser: TestClient, headers: Mapping[str, str | None]
) -> None:
    plane.run()
    enter(browser)
    request = browser.build_request("PATCH", "/api/v1/pipelines/orders", json={"stop": "immediate"})
    for name, value in headers.items():
        request.headers.pop(name, None)
        if value is not None:
            request.headers[name] = value

    assert refusal(browser.send(request)) == (403, CrossSiteError.code)
    assert plane.get("/pipelines/orders")["stop"] == "none"


def test_another_page_reads_nothing_and_begins_no_session(browser: TestClient) -> None:
    enter(browser)

    assert refusal(browser.get("/api/v1/pipelines", headers={"Sec-Fetch-Site": "same-site"})) == (
        403,
        CrossSiteError.code,
    )
    del browser.headers["X-Arroyo-Page"]
    assert refusal(enter(browser)) == (403, CrossSiteError.code)


def test_a_request_with_a_token_is_not_asked_where_it_comes_from(plane: Plane) -> None:
    assert plane.http.get("/api/v1/pipelines", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 200


def test_a_session_ends_when_it_is_left(browser: TestClient) -> None:
    cookie = enter(browser).headers["set-cookie"].partition(";")[0]

    assert browser.delete("/api/v1/session").status_code == 204

    assert refusal(browser.get("/api/v1/pipelines", headers={"Cookie": cookie})) == (401, "auth.denied")
    assert session(browser) is None


def test_a_session_ends_with_its_token_and_by_itself(plane: Plane, browser: TestClient) -> None:
    value = plane.http.post("/api/v1/tokens", json={"name": "anna"}).json()["token"]
    assert enter(browser, value).json()["who"] == "anna"

    plane.http.delete("/api/v1/tokens/anna")
    assert refusal(browser.get("/api/v1/pipelines")) == (401, "auth.denied")
    # one of the same name is another one
    plane.http.post("/api/v1/tokens", json={"name": "anna"})
    assert refusal(browser.get("/api/v1/pipelines")) == (401, "auth.denied")

    enter(browser)
    plane.now += LENGTH - timedelta(seconds=1)
    assert browser.get("/api/v1/pipelines").status_code == 200
    plane.now += timedelta(seconds=1)
    assert refusal(browser.get("/api/v1/pipelines")) == (401, "auth.denied")


def test_session_requests_have_the_name_of_its_token(plane: Plane, browser: TestClient) -> None:
    plane.run()
    enter(browser, plane.http.post("/api/v1/tokens", json={"name": "anna"}).json()["token"])

    browser.patch("/api/v1/pipelines/orders", json={"stop": "immediate"})

    assert plane.get("/pipelines/orders")["stopped_by"].startswith("anna,")


def test_a_session_that_was_left_stays_over_after_a_restart(plane: Plane, browser: TestClient) -> None:
    enter(browser)
    cookie = next(iter(browser.cookies.values()))
    assert browser.delete("/api/v1/session").status_code == 204

    restarted = Sessions(plane.context.sessions.key)
    assert restarted.token_hash(cookie, plane.now) is not None, "the seal alone does not tell"
    with plane.context.database.reading() as connection:
        left = tokens.read(connection)
    restarted.remember(left)

    assert restarted.token_hash(cookie, plane.now) is None
    assert all(seal_hash not in cookie for seal_hash in left)


def test_sessions_that_were_left_are_forgotten_when_they_would_be_over(plane: Plane, browser: TestClient) -> None:
    for _ in range(2):
        enter(browser)
        browser.delete("/api/v1/session")
        plane.now += LENGTH

    with plane.context.database.reading() as connection:
        assert len(tokens.read(connection)) == 1


def test_a_link_lets_in_once(plane: Plane, browser: TestClient) -> None:
    path = plane.http.post("/api/v1/session/link").json()["path"]
    code = path.removeprefix("/#/login/")

    assert browser.post("/api/v1/session", json={"code": code}).json()["who"] == "admin"
    assert refusal(browser.post("/api/v1/session", json={"code": code})) == (401, "auth.denied")


def test_a_link_is_good_for_two_minutes(plane: Plane, browser: TestClient) -> None:
    code = plane.http.post("/api/v1/session/link").json()["path"].removeprefix("/#/login/")
    plane.now += LINK_LENGTH

    assert refusal(browser.post("/api/v1/session", json={"code": code})) == (401, "auth.denied")


def test_a_link_is_made_for_who_has_a_token(browser: TestClient) -> None:
    assert refusal(browser.post("/api/v1/session/link")) == (401, "auth.denied")


@pytest.mark.parametrize("cookie", ["", ".", "...", "a.b.c.d", "é", "a" * 9000])
def test_a_cookie_that_was_not_made_here_is_none(cookie: str) -> None:
    assert Sessions(b"key").token_hash(cookie, T0) is None


def test_a_cookie_outlives_the_process_and_not_its_key() -> None:
    cookie, _ = Sessions(b"key").begin("hash", T0)

    assert Sessions(b"key").token_hash(cookie, T0) == "hash"
    assert Sessions(b"another").token_hash(cookie, T0) is None
    assert Sessions(b"key").token_hash(cookie.replace("hash", "cash"), T0) is None


class Interrupted(datetime):
    """An instant that is compared slowly: in between, another request comes."""

    other: threading.Thread | None = None

    def __lt__(self, until: datetime) -> bool:  # type: ignore[override]
        if self.other is not None and self.other.ident is None:
            self.other.start()
            self.other.join(0.2)
        return super().__lt__(until)


NOW = Interrupted.fromtimestamp(T0.timestamp(), T0.tzinfo)


def test_a_link_that_is_used_while_another_one_is_made_lets_in_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = Sessions(b"key")
    let_in: list[str | None] = []
    code, _ = sessions.make_link("anna", T0)
    other = threading.Thread(target=lambda: let_in.append(sessions.redeem(code, T0)))
    monkeypatch.setattr(Interrupted, "other", other)

    another, _ = sessions.make_link("bert", NOW)

    other.join()
    assert let_in == ["anna"]
    assert sessions.redeem(code, T0) is None
    assert sessions.redeem(another, T0) == "bert"


def test_two_sessions_that_are_left_at_once_are_over(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = Sessions(b"key")
    cookies = [sessions.begin("anna", T0)[0] for _ in range(3)]
    sessions.end(cookies[0], T0)
    other = threading.Thread(target=sessions.end, args=(cookies[1], T0))
    monkeypatch.setattr(Interrupted, "other", other)

    sessions.end(cookies[2], NOW)

    other.join()
    assert [sessions.token_hash(cookie, T0) for cookie in cookies] == [None, None, None]


@pytest.mark.parametrize("path", ["/#/login/a-code", "https://example.org/a-code", "//example.org/a-code"])
def test_the_verb_opens_this_control_plane_and_no_other(
    path: str, server: StandInServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or True)
    server.answer = json.dumps({"path": path, "expires_at": 0}).encode()

    assert main(["ui", "--url", server.url, "--token", "t"]) == 0
    assert (opened, capsys.readouterr().out) == ([f"{server.url}/#/login/a-code"], "")
    assert main(["ui", "--no-browser", "--url", server.url, "--token", "t"]) == 0
    assert (len(opened), capsys.readouterr().out) == (1, f"{server.url}/#/login/a-code\n")


def test_two_control_planes_of_one_machine_do_not_share_a_cookie(plane: Plane, browser: TestClient) -> None:
    names = {enter(browser, host=f"testserver{port}").headers["set-cookie"].split("=")[0] for port in ("", ":1", ":2")}

    assert len(names) == 3
