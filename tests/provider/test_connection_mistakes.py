"""A mistake in a connection fails at once, names the connection and the field, and is no outage."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

import pytest
import trustme

from airflow_provider_arroyo import conditions, requests
from airflow_provider_arroyo.airflow_versions import AirflowFailException
from airflow_provider_arroyo.conditions import UntilState
from airflow_provider_arroyo.errors import ArroyoError, BadConnectionError, LoginError, OtherServerError
from airflow_provider_arroyo.events import from_json, settle
from airflow_provider_arroyo.hooks.arroyo import ArroyoHook
from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator
from airflow_provider_arroyo.testing.control_plane import TOKEN, Answer, FakeControlPlane
from airflow_provider_arroyo.triggers.pipeline import PipelineTrigger

from .tasks import Run, first_event

NOT_FOUND = b'HTTP/1.1 404 Not Found\r\nContent-Length: 22\r\n\r\n{"detail":"Not Found"}'
PAGE = b"HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n<html>hi</html>"
BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


@contextmanager
def server(answer: bytes, wrap: Callable[[socket.socket], socket.socket] = lambda plain: plain) -> Iterator[int]:
    """A server that answers everything with the same bytes, and hangs up; the value is its port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    plain = listening.accept()[0]
                except OSError:
                    return
                with plain, suppress(OSError), wrap(plain) as connected:
                    connected.recv(65_536)
                    connected.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)


@pytest.fixture(scope="module")
def encrypted() -> Iterator[int]:
    """A server behind TLS, with an untrusted certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    with server(NOT_FOUND, lambda plain: context.wrap_socket(plain, server_side=True)) as port:
        yield port


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let the connection `arroyo_default` have these fields."""

    def connect(**fields: Any) -> None:
        monkeypatch.setenv("AIRFLOW_CONN_ARROYO_DEFAULT", json.dumps({"conn_type": "arroyo", **fields}))

    return connect


def mistake() -> ArroyoError:
    """Return the error of a task; that of a wait in the triggerer must have the same code."""
    with pytest.raises(ArroyoError) as raised:
        ArroyoHook().send(requests.get_pipeline("clicks"))
    wait = UntilState("clicks", "running")
    with suppress(ArroyoError):
        event: Any = asyncio.run(ArroyoHook().await_event(wait, poll=timedelta(0)))
        assert event.code == raised.value.code
    assert not raised.value.retryable
    assert isinstance(raised.value, AirflowFailException)
    assert "connection 'arroyo_default'" in f"{raised.value.message} {raised.value.hint}"
    return raised.value


def test_a_connection_of_another_type_is_refused_before_its_password_is_sent(
    plane: FakeControlPlane, connect: Callable[..., None]
) -> None:
    connect(conn_type="http", host=plane.url, password=TOKEN)

    error = mistake()

    assert error.code == "connection.type"
    assert "has the type 'http', not 'arroyo'" in error.message
    assert plane.requests == []


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"host": "plane:5115"},
        {"host": "ftp://plane"},
        {"host": "http://"},
        {"host": "plane", "schema": "grpc"},
        {"host": "http://two words"},
        {"host": "plane", "port": 70_000},
        {"host": "http://plane:70000"},
        {"host": "http://plane", "password": "tok\u20acn"},
        {"host": "http://plane", "password": "a\nb"},
        {"host": "https://plane", "extra": {"verify": "/no/such/file.pem"}},
    ],
)
def test_a_field_that_cannot_be_used_is_named(connect: Callable[..., None], fields: dict[str, Any]) -> None:
    connect(**fields)

    error = mistake()

    assert error.code == "connection.invalid"
    assert error.hint is not None
    assert error.hint.startswith("Set ")


@pytest.mark.parametrize("of", ["{scheme_and_host}", "{url}/api/v1", "{url}/api/v1/", "{url}/"])
def test_a_url_may_lack_its_port_and_may_name_the_api(
    plane: FakeControlPlane, connect: Callable[..., None], of: str
) -> None:
    plane.add("clicks")
    scheme_and_host, _, port = plane.url.rpartition(":")
    connect(host=of.format(scheme_and_host=scheme_and_host, url=plane.url), port=int(port), password=TOKEN)

    assert ArroyoHook().send(requests.get_pipeline("clicks")).name == "clicks"


def test_a_port_in_the_url_is_the_one(plane: FakeControlPlane, connect: Callable[..., None]) -> None:
    plane.add("clicks")
    connect(host=plane.url, port=1, password=TOKEN)

    assert ArroyoHook().send(requests.get_pipeline("clicks")).name == "clicks"


def test_a_connection_that_does_not_exist_is_named_where_the_triggerer_waits() -> None:
    event = asyncio.run(first_event(PipelineTrigger("nowhere", conditions.to_json(UntilState("clicks", "running")))))

    with pytest.raises(BadConnectionError, match=r"connection\.unknown: there is no connection 'nowhere'"):
        settle(from_json(event))


def test_a_token_may_end_in_a_line_break(plane: FakeControlPlane, connect: Callable[..., None]) -> None:
    plane.add("clicks")
    connect(host=plane.url, password=f"{TOKEN}\n")

    assert ArroyoHook().send(requests.get_pipeline("clicks")).name == "clicks"


@pytest.mark.parametrize("answer", [NOT_FOUND, PAGE, BAD_REQUEST, b"\x00\x00\x00\x0bnot HTTP at all\r\n\r\n"])
def test_another_server_on_the_port_is_named(connect: Callable[..., None], answer: bytes) -> None:
    with server(answer) as port:
        connect(host=f"http://127.0.0.1:{port}")
        error = mistake()

    assert isinstance(error, OtherServerError)
    assert error.code == "connection.other_server"
    assert f"the server at http://127.0.0.1:{port} is not a control plane" in error.message
    assert error.hint is not None
    assert error.hint.startswith("Set host and port of connection 'arroyo_default'")


def test_another_server_is_not_taken_for_a_pipeline_that_is_missing(
    connect: Callable[..., None], airflow_run: Run
) -> None:
    with server(NOT_FOUND) as port:
        connect(host=f"http://127.0.0.1:{port}")
        with pytest.raises(OtherServerError):
            airflow_run.execute(StopStreamingJobOperator(task_id="stop", pipeline="clicks"))


def test_https_to_a_port_without_tls_is_a_mistake(connect: Callable[..., None]) -> None:
    with server(BAD_REQUEST) as port:
        connect(host=f"https://127.0.0.1:{port}")
        error = mistake()

    assert error.code == "connection.scheme"
    assert error.hint is not None
    assert f"http://127.0.0.1:{port}" in error.hint


def test_http_to_a_port_with_tls_is_a_mistake(connect: Callable[..., None], encrypted: int) -> None:
    connect(host=f"http://127.0.0.1:{encrypted}")

    error = mistake()

    assert error.code == "connection.scheme"
    assert error.hint is not None
    assert f"https://127.0.0.1:{encrypted}" in error.hint


def test_a_certificate_that_nobody_vouches_for_is_a_mistake(connect: Callable[..., None], encrypted: int) -> None:
    connect(host=f"https://127.0.0.1:{encrypted}")

    error = mistake()

    assert error.code == "connection.certificate"
    assert error.hint is not None
    assert "Verify TLS" in error.hint


@pytest.mark.parametrize(
    ("fields", "words"), [({"password": "wrong"}, ""), ({}, ", and the connection has none")], ids=["wrong", "none"]
)
def test_a_refused_token_names_the_connection_and_its_field(
    plane: FakeControlPlane, connect: Callable[..., None], fields: dict[str, Any], words: str
) -> None:
    connect(host=plane.url, **fields)

    error = mistake()

    assert isinstance(error, LoginError)
    assert error.status == 401
    assert error.message.startswith("connection 'arroyo_default': the control plane at http://127.0.0.1:")
    assert error.message.endswith(words)
    assert error.hint is not None
    assert error.hint.startswith("Set the password (Token) of connection 'arroyo_default'")


def test_a_mistake_that_the_triggerer_meets_spends_no_retries(connect: Callable[..., None], airflow_run: Run) -> None:
    plane = FakeControlPlane()
    with plane:
        plane.add("clicks")
        connect(host=plane.url, password=TOKEN)
        task = StopStreamingJobOperator(task_id="stop", pipeline="clicks", deferrable=True)
        plane.on_patch = lambda *_: connect(conn_type="http", host=plane.url, password=TOKEN)
        with pytest.raises(BadConnectionError, match="has the type 'http'") as raised:
            airflow_run.execute(task)

    assert raised.value.code == "connection.type"


def test_a_control_plane_that_hangs_up_is_an_outage(connect: Callable[..., None]) -> None:
    with server(b"") as port:
        connect(host=f"http://127.0.0.1:{port}")
        with pytest.raises(ArroyoError) as raised:
            ArroyoHook().send(requests.get_pipeline("clicks"))

    assert raised.value.code == "http.unreachable"
    assert raised.value.retryable
    assert "connection 'arroyo_default'" in str(raised.value.hint)


def test_an_overloaded_proxy_is_an_outage(plane: FakeControlPlane) -> None:
    for status in (429, 502, 503):
        plane.refusals["GET", "clicks"] = Answer(status, "busy")
        with pytest.raises(ArroyoError) as raised:
            ArroyoHook().send(requests.get_pipeline("clicks"))
        assert raised.value.retryable
