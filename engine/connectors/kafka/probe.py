"""Check that brokers accept a login, and that a topic exists."""

from __future__ import annotations

from typing import Any

from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient

from engine.connectors.kafka.client import client_config, errors_explained
from engine.connectors.kafka.options import KafkaOptions
from engine.errors import MissingTopicError, SourceUnavailableError

_SECONDS = 10.0


def probe_brokers(options: KafkaOptions) -> str:
    """Describe the brokers: the number of topics, or the number of partitions of the topics that a table names."""
    client_errors: list[KafkaError] = []
    config: dict[str, Any] = {**client_config(options), "error_cb": client_errors.append}
    with errors_explained(options, SourceUnavailableError, client_errors):
        metadata = AdminClient(config).list_topics(timeout=_SECONDS)
    named = [topic.strip() for topic in (getattr(options, "topic", None) or "").split(",") if topic.strip()]
    brokers = f"{len(metadata.brokers)} broker{'s' * (len(metadata.brokers) != 1)}"
    if not named:
        own = [name for name in metadata.topics if not name.startswith("__")]
        return f"{brokers} let it in, and show {len(own)} topic{'s' * (len(own) != 1)}"
    missing = [name for name in named if name not in metadata.topics]
    if missing:
        raise MissingTopicError(f"there is no topic {missing[0]!r}", hint="check its name, and who may see it")
    found = sum(len(metadata.topics[name].partitions) for name in named)
    return f"{brokers} let it in, and the topic has {found} partition{'s' * (found != 1)}"
