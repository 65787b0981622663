"""Kafka client options that a script may set.

This is an allow-list, because the client has options that load a library, open a file, call a URL or weaken a
guarantee, which SQL must not set.
"""

from __future__ import annotations

import re

TUNING = frozenset(
    {
        "batch.num.messages",
        "batch.size",
        "broker.address.family",
        "broker.address.ttl",
        "check.crcs",
        "client.dns.lookup",
        "client.id",
        "client.rack",
        "compression.codec",
        "compression.level",
        "compression.type",
        "connections.max.idle.ms",
        "delivery.timeout.ms",
        "fetch.error.backoff.ms",
        "fetch.max.bytes",
        "fetch.message.max.bytes",
        "fetch.min.bytes",
        "fetch.queue.backoff.ms",
        "fetch.wait.max.ms",
        "linger.ms",
        "max.partition.fetch.bytes",
        "message.max.bytes",
        "message.timeout.ms",
        "metadata.max.age.ms",
        "queue.buffering.max.kbytes",
        "queue.buffering.max.messages",
        "queue.buffering.max.ms",
        "queued.max.messages.kbytes",
        "queued.min.messages",
        "receive.message.max.bytes",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "request.timeout.ms",
        "retries",
        "retry.backoff.max.ms",
        "retry.backoff.ms",
        "socket.connection.setup.timeout.ms",
        "socket.keepalive.enable",
        "socket.nagle.disable",
        "socket.receive.buffer.bytes",
        "socket.send.buffer.bytes",
        "socket.timeout.ms",
        "sticky.partitioning.linger.ms",
        "topic.metadata.refresh.interval.ms",
    }
)
"""Options that only affect performance."""

PAIR = re.compile(r"\s*([A-Za-z][A-Za-z0-9._]*)\s*=\s*(.*?)\s*\Z", re.DOTALL)


def read_client_configs(text: str) -> dict[str, str]:
    """Parse the options in `name=value,name=value`. Raise ValueError for an entry that is no pair, or an option that
    scripts may not set."""
    configs: dict[str, str] = {}
    for part in filter(str.strip, text.split(",")):
        pair = PAIR.match(part)
        if pair is None:
            raise ValueError(f"holds {part.strip()!r}, which is not written as name=value")
        name = pair[1].lower()
        if name not in TUNING:
            raise ValueError(f"names {pair[1]!r}, which cannot be set in a script")
        if name in configs:
            raise ValueError(f"names {pair[1]!r} twice")
        configs[name] = pair[2]
    return configs
