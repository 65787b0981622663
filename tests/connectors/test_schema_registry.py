"""A schema registry over HTTP: what it is asked, how often, and what its refusals become."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator

import httpx2
import pytest

from engine.connectors.addresses import ALLOWED, resolve
from engine.connectors.schema_registry import HttpRegistry
from engine.errors import (
    AddressRefusedError,
    MissingPackageError,
    SchemaRefusedError,
    SchemaRegistryError,
    ScriptRefused,
)
from tests.connectors.http_serving import serving
from tests.connectors.registry_stub import Stub
from tests.connectors.tables import NUMBERS, table


@pytest.fixture
def stub() -> Iterator[Stub]:
    with serving(Stub()) as registry:
        yield registry


def ask(stub: Stub) -> HttpRegistry:
    return HttpRegistry(stub.url, "me", "open sesame", {ALLOWED: "localhost"})


def test_a_schema_is_registered_and_found_and_asked_for_once(stub: Stub) -> None:
    registry = ask(stub)

    numbers = [registry.register("a/b-value", kind, "{}") for kind in ("JSON", "JSON")]
    texts = [registry.schema_of(1) for _ in range(3)]

    assert (numbers, texts) == ([1, 1], ["{}"] * 3)
    assert stub.requests == ["POST /subjects/a%2Fb-value/versions", "GET /schemas/ids/1"]
    assert stub.registered[0][1] == "JSON"
    assert stub.users == {"me:open sesame"}
    assert "sesame" not in repr(registry)


def test_the_newest_schema_of_a_subject_is_found(stub: Stub) -> None:
    registry = ask(stub)
    for text in ("{}", '{"a": 1}'):
        registry.register("a/b-value", "AVRO", text)

    assert registry.newest_of("a/b-value") == '{"a": 1}'
    with pytest.raises(SchemaRefusedError, match="404 Subject not found"):
        registry.newest_of("c-value")


def test_refusals_are_reported(stub: Stub) -> None:
    with pytest.raises(SchemaRefusedError, match="404 Schema not found"):
        ask(stub).schema_of(5)
    with pytest.raises(SchemaRefusedError, match="409 Schema is incompatible") as refused:
        ask(stub).register("s", "AVRO", "incompatible")
    assert "compatible with earlier ones" in str(refused.value.hint)


def test_temporary_registry_error_is_retried(stub: Stub) -> None:
    stub.answers = [(503, {"message": "later"}), (429, {})]

    assert ask(stub).register("s", "AVRO", "{}") == 1
    assert len(stub.requests) == 3


def test_a_registry_that_is_down_for_long_is_away_and_refuses_nothing(stub: Stub) -> None:
    stub.answers = [(503, {"message": "later"})] * 9

    with pytest.raises(SchemaRegistryError, match="does not answer: 503") as away:
        ask(stub).register("s", "AVRO", "{}")
    assert away.value.is_outage


@pytest.mark.parametrize("answer", [[], "no", {}, 5])
def test_invalid_registry_response_is_reported(answer: object, stub: Stub) -> None:
    stub.answers = [(200, answer)]

    with pytest.raises(SchemaRegistryError, match="does not answer"):
        ask(stub).schema_of(1)


def test_the_address_that_was_checked_is_asked_and_no_proxy(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://localhost:1")
    monkeypatch.setenv("ALL_PROXY", "http://localhost:1")
    requests, send = [], httpx2.HTTPTransport.handle_request

    def note(self: httpx2.HTTPTransport, request: httpx2.Request) -> httpx2.Response:
        requests.append((request.url.host, request.extensions["sni_hostname"]))
        return send(self, request)

    monkeypatch.setattr(httpx2.HTTPTransport, "handle_request", note)

    ask(stub).register("s", "AVRO", "{}")

    assert stub.hosts == {stub.url.removeprefix("http://")}
    assert requests == [(resolve("localhost", 80)[0], "localhost")]


def test_a_client_that_is_not_installed_is_reported(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka.schema_registry", None)

    with pytest.raises(MissingPackageError, match=r"confluent_kafka\.schema_registry") as missing:
        ask(stub)
    assert "[kafka]" in str(missing.value.hint)


def test_a_registry_that_is_not_there_is_reported(stub: Stub) -> None:
    nowhere = HttpRegistry("http://localhost:1", "", "", {ALLOWED: "localhost"})

    with pytest.raises(SchemaRegistryError, match="does not answer"):
        nowhere.schema_of(1)
    with pytest.raises(AddressRefusedError):
        HttpRegistry(stub.url, "", "", {}).schema_of(1)


def test_errors_and_logs_do_not_show_what_may_be_a_key(stub: Stub, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), pytest.raises(SchemaRefusedError) as refused:
        HttpRegistry(f"{stub.url}/hunter2", "", "", {ALLOWED: "localhost"}).schema_of(5)
    with pytest.raises(SchemaRegistryError) as away:
        HttpRegistry("http://me:hunter2@localhost:1/hunter2", "", "", {ALLOWED: "localhost"}).schema_of(1)

    assert "localhost" in str(refused.value)
    assert "http://localhost:1/..." in str(away.value)
    assert "hunter2" not in f"{refused.value} {away.value} {caplog.text}"


def test_a_table_that_needs_a_registry_must_name_a_url() -> None:
    for endpoint in ("registry:8081", "http://me:secret@registry:8081"):
        with pytest.raises(ScriptRefused, match=r"schema_registry\.endpoint"):
            table(
                "kafka", NUMBERS, bootstrap_servers="b:1", topic="t", type="source", format="avro",
                schema_registry__endpoint=endpoint,
            )  # fmt: skip
