"""Requesting a real server at an interval: which answers become messages, which end the run, and a whole pipeline."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trustme

from engine.connectors.addresses import ALLOWED
from engine.connectors.base import Table
from engine.connectors.intake.log import LogWriter, Message
from engine.connectors.polling_http.options import PollingHttpOptions
from engine.connectors.polling_http.receiver import PollingReceiver
from engine.connectors.probing import probe_table
from engine.connectors.sampling import sample
from engine.connectors.testing import SOURCE_CHECKS, SourceCheck
from engine.errors import AddressRefusedError, EngineError, ScriptRefused, SourceRefusedError, SourceUnavailableError
from engine.spark.run.lifecycle import RunSpec, run_in
from engine.spark.run.stop_control import Control
from tests.connectors.answering import Answer, Answering
from tests.connectors.http_serving import serving
from tests.connectors.tables import NUMBERS, table
from tests.ports import free_port

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(autouse=True)
def _allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALLOWED, "localhost")


class Enough(Exception):  # noqa: N818 - it is no error
    pass


def poll(options: dict[str, Any], times: int, last: dict[str, str] | None = None) -> list[Message]:
    """The messages of so many requests."""
    taken: list[Message] = []
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == times:
            raise Enough

    async def take(messages: Sequence[Message]) -> None:
        taken.extend(messages)

    receiver = PollingReceiver(PollingHttpOptions.model_validate(options), sleep, wall_clock=lambda: 5_000_000)
    with pytest.raises(Enough):
        asyncio.run(receiver.receive(last, take))
    return taken


def test_every_answer_is_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Answering(Answer(content=b"a"), Answer(content=b"b"), Answer(content=b"b"))) as server:
        found = poll({"endpoint": server.url, "headers": "Authorization: Bearer hush, X-A: b"}, 4)

    assert [message.content for message in found] == [b"a", b"b", b"b", b"b"]
    assert [(message.metadata["status"], message.received) for message in found] == [("200", 5000)] * 4
    assert server.requests[0]["authorization"] == "Bearer hush"
    assert server.requests[0]["host"] == server.url.split("/")[2]


def test_only_answers_that_differ_are_messages_if_the_table_says_so() -> None:
    answers = (
        Answer(content=b"a", headers={"ETag": '"1"'}),
        Answer(304),
        Answer(content=b"a", headers={"ETag": '"2"'}),
        Answer(content=b"b", headers={"ETag": '"3"'}),
    )
    with serving(Answering(*answers)) as server:
        found = poll({"endpoint": server.url, "emit_behavior": "changed"}, 5)
        again = poll({"endpoint": server.url, "emit_behavior": "changed"}, 1, dict(found[-1].metadata))

    assert [message.content for message in found] == [b"a", b"b"]
    assert [request.get("if-none-match") for request in server.requests[:4]] == [None, '"1"', '"1"', '"1"']
    assert again == []
    assert server.requests[-1]["if-none-match"] == '"3"'


def test_a_body_is_sent_with_a_method_that_has_one() -> None:
    with serving(Answering(Answer(content=b"a"))) as server:
        poll({"endpoint": server.url, "method": "POST", "body": "query"}, 1)

    assert server.bodies == [b"query"]


def failure(options: dict[str, Any]) -> EngineError:
    with pytest.raises(EngineError) as caught:
        poll(options, 1)
    assert "hush" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_answers_that_may_change_are_outages(status: int) -> None:
    with serving(Answering(Answer(status))) as server:
        assert isinstance(error := failure({"endpoint": server.url}), SourceUnavailableError)
    assert error.is_outage
    assert str(status) in error.message


@pytest.mark.parametrize("status", [302, 304, 401, 404])
def test_answers_that_would_come_again_end_the_run(status: int) -> None:
    with serving(Answering(Answer(status, headers={"Location": "http://elsewhere"}))) as server:
        assert isinstance(error := failure({"endpoint": server.url}), SourceRefusedError)
    assert not error.is_outage


def test_a_server_that_is_away_or_slow_is_an_outage() -> None:
    assert failure({"endpoint": f"http://localhost:{free_port()}"}).is_outage
    with serving(Answering(Answer())) as server, server.guard:
        assert failure({"endpoint": server.url, "source.timeout": "PT0.2S"}).is_outage


def test_a_certificate_that_is_not_trusted_ends_the_run() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("localhost").configure_cert(context)
    server = Answering(Answer())
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with serving(server):
        error = failure({"endpoint": server.url.replace("http:", "https:")})

    assert isinstance(error, SourceRefusedError)
    assert "certificate" in error.message


def test_hosts_on_the_private_network_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ALLOWED)

    assert isinstance(failure({"endpoint": "http://localhost:1/hush"}), AddressRefusedError)


@pytest.mark.parametrize(
    ("options", "error"),
    [({"body": "x"}, "'body' needs a 'method'"), ({"headers": "nonsense"}, "name: value"), ({"endpoint": "x"}, "http")],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], error: str) -> None:
    with pytest.raises(ScriptRefused, match=error):
        table("polling_http", NUMBERS, **{"endpoint": "http://localhost", **options})


def received_table(folder: Path, count: int) -> Table:
    writer = LogWriter(folder / "log", 2**30)
    for first in range(0, count, 100):
        contents = [b'{"n": %d}' % n for n in range(first, min(first + 100, count))]
        writer.append([Message(content, {"status": "200"}, 7) for content in contents])
    of = table("polling_http", NUMBERS, {"at": "received_time", "status": "status"}, endpoint="http://localhost")
    return replace(of, intake=folder / "log")


@pytest.mark.parametrize("check", SOURCE_CHECKS, ids=lambda check: check.__name__)
def test_the_source_keeps_the_contract(check: SourceCheck, tmp_path: Path) -> None:
    check(received_table(tmp_path, 1234), 1234)


SCRIPT = """
CREATE TABLE feed (n BIGINT NOT NULL) WITH (
  connector = 'polling_http', endpoint = '{url}', poll_interval_ms = 20, emit_behavior = 'changed'
);
CREATE TABLE output (n BIGINT NOT NULL) WITH (
  connector = 'single_file', path = '{path}', format = 'json', type = 'sink'
);
INSERT INTO output SELECT n FROM feed;
"""


def test_a_pipeline_has_each_answer_once_over_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    answers = [Answer(content=b'{"n": %d}' % n) for n in range(6)]
    with serving(Answering(*answers[:3])) as server:
        spec = RunSpec("feed", SCRIPT.format(url=server.url, path=path), tmp_path / "state")
        for count in (3, 6):
            control = Control()

            def note(_: object, count: int = count, control: Control = control) -> None:
                if path.exists() and len(path.read_text().splitlines()) >= count:
                    control.stop("checkpoint")

            assert run_in(spark, spec, control, note) == "stopped"
            server.answers = answers[3:]
    assert [json.loads(line)["n"] for line in path.read_text().splitlines()] == list(range(6))


def test_a_refusal_ends_the_run(spark: SparkSession, tmp_path: Path) -> None:
    with serving(Answering(Answer(401))) as server:
        spec = RunSpec("feed", SCRIPT.format(url=server.url, path=tmp_path / "out.json"), tmp_path / "state")
        with pytest.raises(SourceRefusedError, match="401"):
            run_in(spark, spec, Control())


def test_a_test_of_a_table_asks_the_server(tmp_path: Path) -> None:
    with serving(Answering(Answer(content=b"{}"))) as server:
        assert probe_table(table("polling_http", NUMBERS, endpoint=server.url), tmp_path) == "the server answers"
        assert len(server.requests) == 1
    with pytest.raises(SourceUnavailableError, match="does not answer"):
        probe_table(table("polling_http", NUMBERS, endpoint=f"http://localhost:{free_port()}"), tmp_path)


def test_a_sample_has_the_first_answers() -> None:
    with serving(Answering(*(Answer(content=b'{"n": %d}' % n) for n in range(9)))) as server:
        of = table("polling_http", NUMBERS, endpoint=server.url, poll_interval_ms=1)
        found = [row["n"] for chunk in sample(of, 3) for row in chunk.rows.to_pylist()]

    assert found == [0, 1, 2]
