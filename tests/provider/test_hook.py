"""From a connection to an address, and from an answer to a value."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.configuration import AIRFLOW_HOME
from airflow.sdk import Connection

from airflow_provider_arroyo import requests
from airflow_provider_arroyo.endpoint import Endpoint
from airflow_provider_arroyo.errors import BadAnswerError, BadConnectionError, RefusedError, UnavailableError
from airflow_provider_arroyo.hooks import arroyo
from airflow_provider_arroyo.hooks.arroyo import ArroyoHook, to_endpoint
from airflow_provider_arroyo.operators.start import StartStreamingJobOperator
from airflow_provider_arroyo.responses import from_micros, to_micros
from airflow_provider_arroyo.testing.control_plane import TOKEN, Answer, FakeControlPlane

from .tasks import Run


def connection(**parts: Any) -> Connection:
    extra = parts.pop("extra", None)
    return Connection(conn_id="c", conn_type="arroyo", extra=extra and json.dumps(extra), **parts)


@pytest.mark.parametrize(
    ("parts", "endpoint"),
    [
        ({"host": "http://here:1"}, Endpoint("http://here:1")),
        ({"host": "here"}, Endpoint("http://here:5115")),
        ({"host": "here", "port": 7, "schema": "https"}, Endpoint("https://here:7")),
        ({"host": "here", "extra": {"verify": "false"}}, Endpoint("http://here:5115", verify=False)),
        ({"host": "here", "extra": {"verify": "/ca.pem"}}, Endpoint("http://here:5115", verify="/ca.pem")),
        ({"host": "here", "extra": {"embedded": "false"}}, Endpoint("http://here:5115")),
    ],
)
def test_a_connection_says_where_the_control_plane_is(parts: dict[str, Any], endpoint: Endpoint) -> None:
    assert to_endpoint(connection(**parts)) == endpoint


def test_a_connection_without_a_host_says_what_to_do() -> None:
    with pytest.raises(BadConnectionError, match="embedded"):
        to_endpoint(connection())


def test_an_embedded_control_plane_lives_in_the_airflow_home(monkeypatch: pytest.MonkeyPatch) -> None:
    directories: list[Path] = []
    monkeypatch.setattr(arroyo, "start_or_adopt", lambda data_dir: directories.append(data_dir) or Endpoint("http://x"))

    to_endpoint(connection(extra={"embedded": True}))
    to_endpoint(connection(extra={"embedded": "true", "data_dir": "/somewhere"}))

    assert directories == [Path(AIRFLOW_HOME) / "arroyo", Path("/somewhere")]


def test_the_token_is_not_printed() -> None:
    assert "secret" not in repr(Endpoint("http://x", "secret"))


@pytest.mark.parametrize(
    ("url", "verify", "is_checked"),
    [
        ("https://x", True, True),
        ("HTTPS://x", True, True),
        ("Https://x", "/ca.pem", "/ca.pem"),
        ("https://x", False, False),
        ("http://x", True, False),
        ("HTTP://x", True, False),
    ],
)
def test_certificates_are_checked_of_whatever_speaks_tls(url: str, verify: bool | str, is_checked: bool | str) -> None:
    assert Endpoint(url, verify=verify).settings()["verify"] == is_checked


def test_testing_a_connection_asks_with_the_token(plane: FakeControlPlane, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ArroyoHook().test_connection() == (True, "control plane 0.1.0, instance fake")

    monkeypatch.setenv("AIRFLOW_CONN_ARROYO_DEFAULT", json.dumps({"conn_type": "arroyo", "host": plane.url}))
    ok, why = ArroyoHook().test_connection()
    assert not ok
    assert "auth.token" in why


def test_testing_a_connection_to_nobody_says_so(plane: FakeControlPlane) -> None:
    plane.go_away()

    ok, why = ArroyoHook().test_connection()

    assert not ok
    assert why.startswith(f"http.unreachable: no control plane answers at {plane.url}: GET /ping: ")
    assert "\n  hint: " in why
    assert TOKEN not in why


def test_a_password_in_the_address_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = {"conn_type": "arroyo", "host": "http://me:hunter2@127.0.0.1:9"}
    monkeypatch.setenv("AIRFLOW_CONN_ARROYO_DEFAULT", json.dumps(connection))

    ok, why = ArroyoHook().test_connection()

    assert not ok
    assert "hunter2" not in why


@pytest.mark.parametrize("body", [{"id": 1}, [], None, {"data": 3}])
def test_an_answer_from_something_else_is_refused(plane: FakeControlPlane, body: Any) -> None:
    plane.refusals["GET", "/pipelines"] = Answer(200, body)

    with pytest.raises(BadAnswerError, match="not a"):
        ArroyoHook().send(requests.list_pipelines())
    with pytest.raises(BadAnswerError, match="not a Pipeline"):
        ArroyoHook().send(requests.get_pipeline("clicks"))


def test_a_server_in_trouble_may_be_asked_again(plane: FakeControlPlane) -> None:
    plane.fail("GET", "", "unavailable")

    with pytest.raises(UnavailableError) as raised:
        ArroyoHook().send(requests.list_pipelines())
    assert raised.value.retryable


def test_the_watermark_of_a_finished_job_survives_the_way_there_and_back() -> None:
    end = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)

    assert from_micros(to_micros(end)) == end


@pytest.mark.parametrize("name", ["a b", "ä?#"])
def test_any_name_can_be_asked_for(plane: FakeControlPlane, name: str) -> None:
    plane.add(name)

    assert ArroyoHook().send(requests.get_pipeline(name)).name == name


def test_an_impossible_address_is_refused_before_anything_is_sent(plane: FakeControlPlane) -> None:
    with pytest.raises(RefusedError, match="'a/b' is not a name"):
        requests.get_pipeline("a/b")

    assert plane.requests == []


def test_each_new_state_of_a_pipeline_is_logged_once(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("clicks").become("Scheduling", "Scheduling", "Scheduling", "Running")
    told: list[str] = []
    task = StartStreamingJobOperator(task_id="start", pipeline="clicks")
    task.hook._log = SimpleNamespace(info=lambda text, *values: told.append(text % values), warning=lambda *_: None)

    airflow_run.execute(task)

    assert told == [
        "Pipeline clicks is Scheduling: its driver starts Spark, which takes some seconds",
        "Pipeline clicks is Running",
    ]
