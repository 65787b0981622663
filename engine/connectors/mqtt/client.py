"""Client of MQTT in an event loop, which acknowledges a message once it is durable.

The client of the package answers a message of QoS 2 as soon as it has come, and the broker then forgets it. Ours holds
the answers back: PUBACK (QoS 1) and PUBREC (QoS 2) are sent by `confirm`.
"""

from __future__ import annotations

import asyncio
import os
import select
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from engine.connectors.addresses import check_url, shown_url
from engine.connectors.client_tls import NamedContext, client_context
from engine.connectors.mqtt.options import MqttOptions, is_encrypted, to_http
from engine.errors import (
    EngineError,
    MissingPackageError,
    SourceRefusedError,
    SourceUnavailableError,
    TargetUnavailableError,
    message_of,
)

try:
    from paho.mqtt import client as mqtt
    from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
    from paho.mqtt.packettypes import PacketTypes
    from paho.mqtt.properties import Properties
    from paho.mqtt.reasoncodes import ReasonCode
except ImportError as missing:
    raise MissingPackageError(
        "the connector 'mqtt' needs the Python package paho-mqtt",
        hint="pip install 'airflow-provider-arroyo[mqtt]'",
    ) from missing

__all__ = ("Connection", "ReasonCode", "connection", "mqtt")

_SECONDS = 15.0
_KEEPALIVE = 30
_PAUSE = 1.0
_RECEIVE_MAXIMUM = 1_000
_MOST = 1_000
"""Messages that are read before they are fetched, by default."""
_IN_FLIGHT = 20
"""Messages without an answer: what a client may have in flight to a broker that names no limit, by our choice."""
_LATER = frozenset({0x88, 0x89, 0x8B, 0x8D, 0x93, 0x97, 0x98, 0x9C, 0x9F})
"""Reason codes of brokers that may answer otherwise later."""
_TAKEN_OVER = 0x8E


class _Client(mqtt.Client):
    """Holds acknowledgements back."""

    def __init__(self, **options: Any) -> None:
        super().__init__(CallbackAPIVersion.VERSION2, **options)
        self.stored: set[int] = set()
        """Ids of the QoS 2 messages that are confirmed, and not yet released by the broker."""
        self.messages: list[mqtt.MQTTMessage] = []
        """Received messages that were not fetched yet."""
        self.on_message = self._add

    def _add(self, _client: mqtt.Client, _data: Any, message: mqtt.MQTTMessage) -> None:
        if message.qos < 2:
            self.messages.append(message)

    def _handle_publish(self) -> MQTTErrorCode:
        result = super()._handle_publish()
        # one of QoS 2 is given to `on_message` when the broker forgets it, which is too late for us
        if self._in_packet["command"] & 0x06 == 0x04:
            with self._in_message_mutex:
                message = self._in_messages[self._last_held]
            if self._last_held not in self.stored:
                self.messages.append(message)
        return result

    def _send_puback(self, mid: int) -> MQTTErrorCode:
        return MQTTErrorCode.MQTT_ERR_SUCCESS

    def _send_pubrec(self, mid: int) -> MQTTErrorCode:
        self._last_held = mid
        return super()._send_pubrec(mid) if mid in self.stored else MQTTErrorCode.MQTT_ERR_SUCCESS

    def _send_pubcomp(self, mid: int) -> MQTTErrorCode:
        self.stored.discard(mid)
        return super()._send_pubcomp(mid)

    def confirm(self, message: mqtt.MQTTMessage) -> None:
        """Tell the broker that a message is durable."""
        if message.qos == 1:
            super()._send_puback(message.mid)
        elif message.qos == 2:
            self.stored.add(message.mid)
            super()._send_pubrec(message.mid)


class Connection:
    """An open connection. `pump` reads what has come and writes what is to be sent; nothing happens between."""

    def __init__(self, client: _Client, shown: str) -> None:
        self.client = client
        self.shown = shown
        self.session_present = False
        self.in_flight = _IN_FLIGHT
        self._is_open = False
        self._error: EngineError | None = None
        self._ready = asyncio.Event()
        self._poll = select.poll()
        self._topic = ""
        self._is_subscribed = False
        self._refused: ReasonCode | None = None
        self.answers = 0
        """Number of sent messages that the broker has answered."""
        client.on_connect = self._connected
        client.on_disconnect = self._disconnected
        client.on_subscribe = self._subscribed
        client.on_publish = self._published

    def _connected(self, _c: Any, _d: Any, flags: mqtt.ConnectFlags, reason: ReasonCode, given: Any) -> None:
        if reason.is_failure:
            self._error = refusal(self.shown, reason)
            return
        self._is_open, self.session_present = True, flags.session_present
        if (limit := getattr(given, "ReceiveMaximum", None)) is not None:
            self.in_flight = min(_RECEIVE_MAXIMUM, limit)

    def _disconnected(self, _c: Any, _d: Any, _flags: Any, reason: ReasonCode, _properties: Any) -> None:
        if self._error is None:
            self._error = refusal(self.shown, reason)

    def _subscribed(self, _c: Any, _d: Any, _mid: int, reasons: list[ReasonCode], _properties: Any) -> None:
        self._is_subscribed = True
        for reason in reasons:
            if reason.is_failure:
                self._error = SourceRefusedError(
                    f"{self.shown} refuses the subscription of {self._topic!r}: {reason}",
                    hint="check the topic, and what the user may read",
                )

    def _published(self, _c: Any, _d: Any, _mid: int, reason: ReasonCode, _properties: Any) -> None:
        self.answers += 1
        if reason.is_failure:
            self._refused = reason

    async def open(self) -> None:
        """Wait until the broker has let the client in."""
        await self._until(lambda: self._is_open, "does not answer")

    async def subscribe(self, topic: str, qos: int) -> None:
        """Subscribe, and wait for the answer. It comes after the messages of a resumed session, so that enough of these
        end the wait: `pump` raises the error of an answer that follows."""
        self._topic = topic
        self.client.subscribe(topic, qos)
        await self._until(self._is_answered_or_full, "does not answer a subscription")
        if self._error is not None:
            raise self._error

    def _is_answered_or_full(self) -> bool:
        return self._is_subscribed or len(self.client.messages) >= _MOST

    def refused(self) -> ReasonCode | None:
        """Return why the broker has refused a sent message, or None."""
        return self._refused

    async def pump(self, wait: float = _PAUSE, most: int = _MOST, most_bytes: int = 8 * 1024 * 1024) -> None:
        """Wait for the broker, then read what it has sent, up to that many messages. Raise if the connection has
        ended."""
        handle = self._handle()
        loop = asyncio.get_running_loop()
        self._ready.clear()
        loop.add_reader(handle, self._ready.set)
        if self.client.want_write():
            loop.add_writer(handle, self._ready.set)
        try:
            if not self._has_input():
                await asyncio.wait_for(self._ready.wait(), wait)
        except TimeoutError:
            pass
        finally:
            loop.remove_reader(handle)
            loop.remove_writer(handle)
        size = 0
        while self._error is None and len(self.client.messages) < most and size < most_bytes and self._has_input():
            before = len(self.client.messages)
            self.client.loop_read()
            size += sum(len(message.payload) for message in self.client.messages[before:])
        if self._error is None:
            self.client.loop_write()
            self.client.loop_misc()
        if self._error is not None and not self.client.messages:
            raise self._error

    def fetch(self) -> Sequence[mqtt.MQTTMessage]:
        """Return the messages that have come, and forget them."""
        messages, self.client.messages = self.client.messages, []
        return messages

    def _has_input(self) -> bool:
        socket = self.client.socket()
        if isinstance(socket, ssl.SSLSocket) and socket.pending():
            return True
        return bool(self._poll.poll(0)) and socket is not None

    def _handle(self) -> int:
        socket = self.client.socket()
        if socket is None:
            raise self._error or SourceUnavailableError(
                f"{self.shown} has ended the connection", hint="check the server"
            )
        handle = socket.fileno()
        self._poll.register(handle, select.POLLIN)
        return handle

    async def _until(self, is_done: Any, what: str) -> None:
        end = asyncio.get_running_loop().time() + _SECONDS
        while not is_done():
            if asyncio.get_running_loop().time() > end:
                raise SourceUnavailableError(f"{self.shown} {what}", hint="check that it is an MQTT broker")
            await self.pump()


@asynccontextmanager
async def connection(
    options: MqttOptions, client_id: str, *, is_kept: bool = False, expiry: int = 0, stored: set[int] | None = None
) -> AsyncIterator[Connection]:
    """Connect to the checked address of a broker. With `is_kept` the broker stores the session for `expiry` seconds;
    `stored` has the ids of QoS 2 messages that were confirmed on an earlier connection."""
    shown = shown_url(options.url)
    is_five = options.version == "5"
    client = _Client(
        client_id=client_id,
        protocol=MQTTProtocolVersion.MQTTv5 if is_five else MQTTProtocolVersion.MQTTv311,
        **({} if is_five else {"clean_session": not is_kept}),
    )
    client.stored = set() if stored is None else stored
    client.connect_timeout = _SECONDS
    # the sink limits what is in flight itself, once it knows the limit of the broker
    client.max_inflight_messages = _RECEIVE_MAXIMUM
    if options.username is not None:
        password = None if options.password is None else options.password.get_secret_value()
        client.username_pw_set(options.username, password)
    opened = Connection(client, shown)
    context: NamedContext | None = None
    try:
        target = check_url(to_http(options.url), os.environ)
        address = urlsplit(target.url)
        if is_encrypted(options.url):
            context = client_context(options, target.server_name)
            client.tls_set_context(context)
        properties = _properties(options, expiry if is_kept else 0) if is_five else None
        connect = partial(client.connect, address.hostname or "", address.port or 1883, _KEEPALIVE)
        if is_five:
            connect = partial(connect, clean_start=not is_kept, properties=properties)
        await asyncio.to_thread(connect)
        await opened.open()
        yield opened
    except TargetUnavailableError as wrong:
        raise SourceUnavailableError(wrong.message, hint=wrong.hint) from wrong
    except ssl.SSLCertVerificationError as wrong:
        raise SourceRefusedError(
            f"{shown} has a certificate that is not trusted: {message_of(wrong)}",
            hint="check the host name, and 'tls.ca' or the certificates that this machine trusts",
        ) from wrong
    except ValueError as wrong:
        raise SourceRefusedError(f"{shown} cannot be connected to: {message_of(wrong)}") from wrong
    except OSError as wrong:
        raise SourceUnavailableError(
            f"{shown} does not answer: {message_of(wrong)}", hint="check that it is up and can be reached from here"
        ) from wrong
    finally:
        client.on_disconnect = None
        client.disconnect()
        if context is not None and context.socket is not None:
            context.socket.close()


def _properties(options: MqttOptions, expiry: int) -> Properties:
    properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]  # it has no types there
    properties.SessionExpiryInterval = expiry
    properties.ReceiveMaximum = _RECEIVE_MAXIMUM
    properties.MaximumPacketSize = options.max_packet_size
    return properties


def refusal(shown: str, reason: ReasonCode) -> EngineError:
    """Return the error for a reason code of the broker: an outage if it may answer otherwise later."""
    if reason.value == _TAKEN_OVER:
        return SourceRefusedError(
            f"another client has connected to {shown} with the id of this one",
            hint="stop the other run of this pipeline, or set another client_prefix",
        )
    if reason.value in _LATER or reason.value < 0x80 or reason.getName() == "Unspecified error":
        return SourceUnavailableError(f"{shown} has ended the connection: {reason}", hint="check the server")
    return SourceRefusedError(f"{shown} refuses the connection: {reason}", hint="check user, password and version")
