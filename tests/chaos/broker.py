"""A broker, until its input ends. Its first line says where it is."""

from __future__ import annotations

import sys
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from tests.kafka.broker import running

PARTITIONS = 3


def make_topic(address: str, name: str) -> None:
    """A topic that keeps its records for ever."""
    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    futures = admin.create_topics([NewTopic(name, PARTITIONS, 1, config={"retention.ms": "-1"})], operation_timeout=30)
    futures[name].result(60)


if __name__ == "__main__":
    with running(Path(sys.argv[1])) as broker:
        print(broker.address, flush=True)  # noqa: T201 - the loop reads it
        sys.stdin.read()
