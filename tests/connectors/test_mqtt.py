"""A real MQTT broker: what is acknowledged when, what a resumed session brings, and what ends the run."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trustme
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from engine.connectors.addresses import ALLOWED
from engine.connectors.base import Table
from engine.connectors.intake.log import LogWriter, Message
from engine.connectors.mqtt.client import connection
from engine.connectors.mqtt.options import LEVELS, MqttSinkOptions, MqttSourceOptions
from engine.connectors.mqtt.receiver import MqttReceiver
from engine.connectors.probing import probe_table
from engine.connectors.testing import SOURCE_CHECKS, SourceCheck
from engine.errors import (
    AddressRefusedError,
    EngineError,
    ScriptRefused,
    SourceRefusedError,
    SourceUnavailableError,
    TargetRefusedError,
    TargetUnavailableError,
)
from tests.connectors import mqtt_server
from tests.connectors.mqtt_server import Broker
from tests.connectors.receiving import durable, log_rows, receiver_process
from tests.connectors.tables import NUMBERS, batch, epoch, sink, table, take
from tests.ports import free_port

SECRET = "hush-hush"
PER_CYCLE = 1_000


@pytest.fixture(scope="module", autouse=True)
def _server() -> None:
    if mqtt_server.program() is None:
        assert not os.environ.get("CI"), "Mosquitto is missing: nobody knows whether messages are lost"
        pytest.skip("Mosquitto is missing")


@pytest.fixture(autouse=True)
def _allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALLOWED, "localhost")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with mqtt_server.running(tmp_path_factory.mktemp("broker")) as running:
        yield running


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic that only this test uses."""
    return f"t/{request.node.name}"


class _LostError(Exception):
    """The process has ended."""


class Reading:
    """Receives in a task, until a number of messages is there."""

    def __init__(self, options: dict[str, Any], log: str | None = None, receiver: MqttReceiver | None = None) -> None:
        self.receiver = receiver or MqttReceiver(MqttSourceOptions.model_validate(options), "t", log, lambda: 7_000_000)
        self.messages: list[Message] = []
        self.is_up = asyncio.Event()
        self.has_come = asyncio.Condition()
        self.dies_before_answering = False

    async def take(self, messages: Sequence[Message]) -> None:
        self.is_up.set()
        async with self.has_come:
            self.messages += messages
            self.has_come.notify_all()
        if messages and self.dies_before_answering:
            raise _LostError

    async def __aenter__(self) -> Reading:
        self.task = asyncio.create_task(self.receiver.receive(None, self.take))
        up = asyncio.create_task(self.is_up.wait())
        await asyncio.wait((self.task, up), return_when=asyncio.FIRST_COMPLETED)
        up.cancel()
        if self.task.done():
            await self.task
        return self

    async def until(self, count: int) -> list[Message]:
        async with self.has_come:
            await asyncio.wait_for(self.has_come.wait_for(lambda: len(self.messages) >= count), 60)
        return self.messages

    async def __aexit__(self, *_: object) -> None:
        self.task.cancel()
        await asyncio.wait((self.task,))


async def publish(url: str, topic: str, contents: Sequence[bytes], qos: int = 1, properties: Any = None) -> None:
    """Publish, and wait until the broker has all."""
    options = MqttSinkOptions.model_validate({"url": url, "topic": topic})
    async with connection(options, f"publisher-{random.random()}") as opened:
        for sent, content in enumerate(contents, 1):
            opened.client.publish(topic, content, qos, properties=properties)
            while sent - opened.answers >= opened.in_flight:
                await opened.pump()
        while opened.answers < len(contents):
            await opened.pump()


def numbers(first: int, count: int) -> list[bytes]:
    return [b'{"n": %d}' % n for n in range(first, first + count)]


@pytest.mark.parametrize("qos", LEVELS)
def test_messages_come_in_order_with_each_quality_of_service(broker: Broker, topic: str, qos: str) -> None:
    async def play() -> list[Message]:
        async with Reading({"url": broker.url, "topic": topic, "qos": qos}) as reading:
            await publish(broker.url, topic, numbers(0, 500), LEVELS[qos])
            return await reading.until(500)

    found = asyncio.run(play())

    assert [message.content for message in found] == numbers(0, 500)
    assert found[0].metadata == {"topic": topic, "qos": str(LEVELS[qos]), "retain": "false"}
    assert found[0].received == 7_000


def test_properties_are_metadata(broker: Broker, topic: str) -> None:
    given = Properties(PacketTypes.PUBLISH)
    given.ContentType, given.ResponseTopic, given.CorrelationData = "application/json", "answers", b"\xff\x00"
    given.UserProperty = [("plant", "ä"), ("line", "7")]

    async def play() -> list[Message]:
        async with Reading({"url": broker.url, "topic": "t/#"}) as reading:
            await publish(broker.url, topic, [b"1"], properties=given)
            return await reading.until(1)

    assert asyncio.run(play())[0].metadata == {
        "topic": topic,
        "qos": "1",
        "retain": "false",
        "content_type": "application/json",
        "response_topic": "answers",
        "correlation_data": "/wA=",
        "user_properties": '{"plant": "ä", "line": "7"}',
    }


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_a_resumed_session_brings_what_was_published_meanwhile(broker: Broker, topic: str, version: str) -> None:
    options = {"url": broker.url, "topic": topic, "mqtt.version": version}

    async def play() -> list[Message]:
        async with Reading(options, f"log{version}"):
            pass
        # more than are read before the answer to the subscription, which comes after them
        await publish(broker.url, topic, numbers(0, 1_100))
        async with Reading(options, f"log{version}") as reading:
            return await reading.until(1_100)

    assert [message.content for message in asyncio.run(play())] == numbers(0, 1_100)


@pytest.mark.parametrize("qos", ["AtLeastOnce", "ExactlyOnce"])
def test_what_was_not_durable_is_sent_again(broker: Broker, topic: str, qos: str) -> None:
    """An acknowledgement that is sent too early loses the messages."""
    options = {"url": broker.url, "topic": topic, "qos": qos}

    async def play() -> list[Message]:
        async with Reading(options, qos) as reading:
            reading.dies_before_answering = True
            await publish(broker.url, topic, numbers(0, 10), LEVELS[qos])
            await asyncio.wait((reading.task,))
            with pytest.raises(_LostError):
                await reading.task
        async with Reading(options, qos) as reading:
            return list(await reading.until(10))

    assert [message.content for message in asyncio.run(play())] == numbers(0, 10)


def test_exactly_once_has_each_message_once_when_only_the_connection_is_lost(broker: Broker, topic: str) -> None:
    """The broker sends a message again whose answer it has not got; the receiver knows it."""
    options = {"url": broker.url, "topic": topic, "qos": "ExactlyOnce"}

    async def play() -> list[Message]:
        async with Reading(options, "once") as reading:
            await publish(broker.url, topic, numbers(0, 10), 2)
            first = list(await reading.until(10))
        async with Reading({}, receiver=reading.receiver) as again:
            await publish(broker.url, topic, numbers(10, 100), 2)
            return first + list(await again.until(100))

    assert [message.content for message in asyncio.run(play())] == numbers(0, 110)


def test_subscribers_of_a_group_share_the_messages(broker: Broker, topic: str) -> None:
    async def play() -> tuple[list[bytes], list[bytes]]:
        options = {"url": broker.url, "topic": f"$share/g/{topic}"}
        async with Reading(options) as one, Reading(options) as two:
            await publish(broker.url, topic, numbers(0, 100))
            while len(one.messages) + len(two.messages) < 100:
                await asyncio.sleep(0)
            return [m.content for m in one.messages], [m.content for m in two.messages]

    one, two = asyncio.run(play())
    assert one
    assert two
    assert sorted(one + two) == sorted(numbers(0, 100))


def failure(options: dict[str, Any]) -> EngineError:
    async def play() -> None:
        async with Reading(options):
            pass

    with pytest.raises(EngineError) as caught:
        asyncio.run(play())
    assert SECRET not in str(caught.value)
    return caught.value


def test_outages_and_private_addresses_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    away = failure({"url": f"mqtt://localhost:{free_port()}", "topic": "a"})
    assert (type(away), away.is_outage) == (SourceUnavailableError, True)
    monkeypatch.delenv(ALLOWED)
    assert isinstance(failure({"url": "mqtt://localhost", "topic": "a"}), AddressRefusedError)


def test_a_wrong_login_and_a_topic_of_others_are_refused(tmp_path: Path) -> None:
    users, rules = tmp_path / "users", tmp_path / "rules"
    users.write_text(f"me:{SECRET}\n")
    rules.write_text("user me\ntopic readwrite mine/#\n")
    import subprocess

    subprocess.run(["mosquitto_passwd", "-U", str(users)], check=True)
    login = {"username": "me", "password": SECRET}
    with mqtt_server.running(tmp_path, f"password_file {users}", f"acl_file {rules}") as broker:
        wrong = failure({"url": broker.url, "topic": "mine/a", "username": "me", "password": f"{SECRET}!"})
        of = table("mqtt", NUMBERS, type="sink", url=broker.url, topic="theirs/a", **login)
        with pytest.raises(TargetRefusedError, match="theirs/a") as caught:
            take(sink(of, tmp_path / "sink"), epoch(0), [batch(NUMBERS, (1, "a"))])
        good = table("mqtt", NUMBERS, type="source", url=broker.url, topic="mine/a", **login)
        assert probe_table(good, tmp_path / "probe") == "the server answers"

    assert (type(wrong), wrong.is_outage) == (SourceRefusedError, False)
    assert SECRET not in str(caught.value)


def test_certificates_of_ones_own_are_trusted_and_others_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ALLOWED, "localhost,127.0.0.1")
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost")
    shown = authority.issue_cert("client")
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    certificate.private_key_pem.write_to_path(tmp_path / "key.pem")
    certificate.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    files = (f"cafile {tmp_path}/ca.pem", f"certfile {tmp_path}/cert.pem", f"keyfile {tmp_path}/key.pem")
    ca = authority.cert_pem.bytes().decode()
    own = {
        "tls.ca": ca,
        "tls.cert": shown.cert_chain_pems[0].bytes().decode(),
        "tls.key": shown.private_key_pem.bytes().decode(),
    }

    async def play(url: str) -> list[Message]:
        async with Reading({"url": url, "topic": "a", **own}) as reading:
            options = MqttSinkOptions.model_validate({"url": url, "topic": "a", **own})
            async with connection(options, "publisher") as opened:
                opened.client.publish("a", b"x" * 300_000, 1)
                while not opened.answers:
                    await opened.pump()
            return await reading.until(1)

    with mqtt_server.running(tmp_path, *files, "require_certificate true", scheme="mqtts") as broker:
        assert asyncio.run(play(broker.url))[0].content == b"x" * 300_000
        unknown = failure({"url": broker.url, "topic": "a"})
        unnamed = failure({"url": broker.url.replace("localhost", "127.0.0.1"), "topic": "a", **own})
    assert isinstance(unknown, SourceRefusedError)
    assert "certificate" in unknown.message
    assert isinstance(unnamed, SourceRefusedError)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"url": "http://localhost"}, "mqtt://"),
        ({"url": "mqtt://me:secret@localhost"}, "password"),
        ({"url": "mqtt://localhost/a"}, "without a path"),
        ({"topic": "a/#/b"}, "topic filter"),
        ({"topic": "$share/g"}, "share"),
        ({"topic": "a/+", "type": "sink"}, "wildcards"),
        ({"tls__ca": "x"}, "mqtts"),
        ({"password": "x"}, "username"),
        ({"tls__cert": "x", "url": "mqtts://localhost"}, "go together"),
        ({"qos": "2"}, "AtMostOnce"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], error: str) -> None:
    with pytest.raises(ScriptRefused, match=error):
        table("mqtt", NUMBERS, **{"type": "source", "url": "mqtt://localhost", "topic": "a", **options})


@pytest.mark.parametrize("qos", LEVELS)
def test_an_epoch_is_published_once_if_nothing_crashes(broker: Broker, topic: str, tmp_path: Path, qos: str) -> None:
    of = table("mqtt", NUMBERS, type="sink", url=broker.url, topic=topic, qos=qos)
    rows = batch(NUMBERS, *((n, "a") for n in range(700)))

    async def play() -> list[Message]:
        async with Reading({"url": broker.url, "topic": topic, "qos": "ExactlyOnce"}) as reading:
            for _ in range(2):
                await asyncio.to_thread(take, sink(of, tmp_path / "sink"), epoch(0), [rows], [])
            await asyncio.to_thread(take, sink(of, tmp_path / "sink"), epoch(1), [batch(NUMBERS, (-1, None))])
            return await reading.until(701)

    found = asyncio.run(play())
    assert [message.content for message in found[:2]] == [b'{"n":0,"name":"a"}', b'{"n":1,"name":"a"}']
    assert len(found) == 701
    assert found[-1].content == b'{"n":-1,"name":null}'


def test_a_broker_that_is_away_is_tried_again_until_the_time_is_over(tmp_path: Path) -> None:
    from engine.connectors.mqtt.sink import MqttSink

    of = table("mqtt", NUMBERS, type="sink", url=f"mqtt://localhost:{free_port()}", topic="a")
    pauses: list[float] = []
    assert isinstance(of.options, MqttSinkOptions)
    away = MqttSink(of, of.options, tmp_path, sleep=pauses.append, clock=lambda: sum(pauses))

    with pytest.raises(TargetUnavailableError, match="does not answer"):
        take(away, epoch(0), [batch(NUMBERS, (1, "a"))])

    assert (pauses[:6], 270 < sum(pauses) <= 300) == ([0.5, 1, 2, 4, 8, 10], True)


@pytest.mark.parametrize("check", SOURCE_CHECKS, ids=lambda check: check.__name__)
def test_the_source_keeps_the_contract(check: SourceCheck, tmp_path: Path) -> None:
    writer = LogWriter(tmp_path / "log", 2**30)
    metadata = {"topic": "a", "qos": "1", "retain": "false"}
    writer.append([Message(b'{"n": %d}' % n, metadata, 7) for n in range(300)])
    keys = {"at": "received_time", "topic": "topic", "qos": "qos", "kept": "retain", "more": "user_properties"}
    of: Table = table("mqtt", NUMBERS, keys, type="source", url="mqtt://localhost", topic="a")

    check(replace(of, intake=tmp_path / "log"), 300)


@pytest.mark.parametrize("qos", ["AtLeastOnce", "ExactlyOnce"])
def test_five_kills_of_receiver_and_broker_lose_nothing(tmp_path: Path, qos: str) -> None:
    """The broker saves its session when it is told to end. At each of the seven ends of a connection, at most the
    messages in flight were not confirmed, and come again."""
    chance = random.Random(qos)
    log, count = tmp_path / "log", 0
    saving = ("persistence true", f"persistence_location {tmp_path}/")
    with mqtt_server.running(tmp_path, *saving) as broker:
        options = {"url": broker.url, "topic": "a", "qos": qos}
        with receiver_process("mqtt", log, options) as process:
            durable(process)
        for cycle in range(5):
            asyncio.run(publish(broker.url, "a", numbers(count, PER_CYCLE), LEVELS[qos]))
            count += PER_CYCLE
            enough = chance.randrange(1, PER_CYCLE // 2)
            with receiver_process("mqtt", log, options) as process:
                while durable(process) < enough:
                    pass
                if cycle % 2:
                    broker.terminate()
                    broker.start()
                    durable(process)
        asyncio.run(publish(broker.url, "a", numbers(count, 1), LEVELS[qos]))
        with receiver_process("mqtt", log, options) as process:
            while count not in (found := [row["n"] for row in log_rows("mqtt", log, options)]):
                durable(process)

    assert set(found) == set(range(count + 1))
    assert len(found) - len(set(found)) <= 7 * 1_000
