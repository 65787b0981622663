"""Receive the messages of an MQTT subscription.

QoS 1   PUBLISH a    a becomes durable    PUBACK a
QoS 2   PUBLISH a    a becomes durable    PUBREC a    PUBREL a from the broker    PUBCOMP a

A crash before the answer makes the broker send the message again when the session is resumed.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from engine.connectors.intake.log import Message
from engine.connectors.intake.receiver import Take
from engine.connectors.mqtt.client import Connection, connection, mqtt
from engine.connectors.mqtt.options import LEVELS, MqttSourceOptions

LOG = logging.getLogger(__name__)
_MOST = 1_000
_WAIT = 1.0


@dataclass(frozen=True, slots=True)
class MqttReceiver:
    """Receives the messages of one subscription. Without an intake log that is kept, the broker stores no session."""

    options: MqttSourceOptions
    table: str
    log: str | None = None
    """Id of the intake log, to which the session belongs."""
    wall_clock: Callable[[], int] = time.time_ns
    stored: set[int] = field(default_factory=set)
    """Ids of the confirmed QoS 2 messages that the broker has not released."""

    async def receive(self, last: Mapping[str, str] | None, take: Take) -> None:
        """Resume the session, subscribe, and receive messages until the connection ends."""
        options = self.options
        expiry = int(options.session_expiry.total_seconds())
        is_kept = self.log is not None and expiry > 0
        async with connection(options, self._client_id(), is_kept=is_kept, expiry=expiry, stored=self.stored) as opened:
            if not opened.session_present:
                self.stored.clear()
                if is_kept and last is not None:
                    LOG.warning(
                        "%s: %s no longer has the session; messages that were published meanwhile are lost",
                        self.table,
                        opened.shown,
                    )
            await opened.subscribe(options.topic, LEVELS[options.qos])
            await take([])
            while True:
                await opened.pump(most=_MOST)
                if messages := opened.fetch():
                    await self._store(opened, messages, take)

    async def _store(self, opened: Connection, messages: Sequence[mqtt.MQTTMessage], take: Take) -> None:
        """Make messages durable, then confirm them. While there is no room, answer the broker's pings."""
        storing = asyncio.ensure_future(take([self._message(message) for message in messages]))
        try:
            while not storing.done():
                await asyncio.wait((storing,), timeout=_WAIT)
                if not storing.done() and len(opened.client.messages) < _MOST:
                    await opened.pump(0, most=_MOST)
        finally:
            storing.cancel()
        await storing
        for message in messages:
            opened.client.confirm(message)

    def _client_id(self) -> str:
        return f"{self.options.client_prefix}-{self.log or secrets.token_hex(8)}"

    def _message(self, message: mqtt.MQTTMessage) -> Message:
        metadata = {
            "topic": message.topic,
            "qos": str(message.qos),
            "retain": "true" if message.retain else "false",
            **_properties(message),
        }
        return Message(bytes(message.payload), metadata, self.wall_clock() // 1000)


def _properties(message: mqtt.MQTTMessage) -> dict[str, str]:
    """Return the properties of version 5, as metadata."""
    given = message.properties
    if given is None:
        return {}
    found: dict[str, str] = {}
    for key, name in (("content_type", "ContentType"), ("response_topic", "ResponseTopic")):
        if (text := getattr(given, name, None)) is not None:
            found[key] = text
    if (data := getattr(given, "CorrelationData", None)) is not None:
        found["correlation_data"] = base64.b64encode(data).decode()
    if (pairs := getattr(given, "UserProperty", None)) is not None:
        found["user_properties"] = json.dumps(dict(pairs), ensure_ascii=False)
    return found
