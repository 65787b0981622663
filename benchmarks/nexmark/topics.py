"""Nexmark's events in a broker of our own: a topic for each table, with the lines of its files dealt in turn."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle
from pathlib import Path

from confluent_kafka import Producer

from benchmarks.nexmark.tables import COLUMNS
from benchmarks.nexmark.turns import PARALLELISM, Topics
from tests.kafka.broker import Broker


def fill(broker: Broker, folder: Path) -> Topics:
    """Topics with the rows of a folder of JSON, in their order. A task has a partition of each."""
    prefix = f"{folder.parent.name}-"
    for table in COLUMNS:
        _fill(broker, broker.create_topic(f"{prefix}{table}", PARALLELISM, retention_ms=-1), (folder / table).iterdir())
    return Topics(broker.address, prefix)


def _fill(broker: Broker, topic: str, files: Iterable[Path]) -> None:
    producer = Producer(broker.client_options(linger_ms=50, compression_type="lz4", enable_idempotence=True))
    partitions = cycle(range(PARALLELISM))
    for file in sorted(files):
        for number, line in enumerate(file.read_bytes().splitlines()):
            producer.produce(topic, line, partition=next(partitions))
            if number % 10_000 == 0:
                producer.flush()
        producer.flush()
