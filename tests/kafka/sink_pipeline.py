"""A pipeline in miniature into a topic: epochs of numbers, with a commit log of its own, which may be killed at any
fault point and started again. Run as a program it goes on from where the log ends."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from confluent_kafka import Message

from engine.connectors.base import Epoch, Table
from engine.schema import Field, Schema
from engine.types import BIGINT, TEXT, TIMESTAMP
from tests.connectors.tables import batch, sink, table, take
from tests.kafka.broker import Broker

MODES = ["at_least_once", "exactly_once"]
EPOCHS = 4
ROWS = 10
EVENTS = Schema((Field("n", BIGINT, nullable=False), Field("name", TEXT)))
TIMED = Schema((*EVENTS, Field("_timestamp", TIMESTAMP)))


def target(address: str, topic: str, **options: str | int) -> Table:
    defaults: dict[str, str | int] = {"format": "json", "sink__commit_mode": "exactly_once", "sink__key_field": "name"}
    defaults["client_configs"] = "topic.metadata.refresh.interval.ms=500,reconnect.backoff.max.ms=250"
    return table("kafka", EVENTS, bootstrap_servers=address, type="sink", topic=topic, **defaults | options)


def directory(root: Path) -> Path:
    return root / "state" / "sinks" / "t"


def expected(epochs: int) -> list[int]:
    return list(range(epochs * ROWS))


def take_epoch(
    of: Table, root: Path, number: int, *, lineage: str = "one", generation: int = 1,
    parents: tuple[tuple[str, int], ...] = (), rows: Sequence[int] | None = None,
) -> None:  # fmt: skip
    """One epoch: two tasks; a row's name is its key."""
    rows = expected(number + 1)[number * ROWS :] if rows is None else rows
    values = [(n, f"key {n % 3}", n * 1_000_000) for n in rows]
    half = len(values) // 2
    tasks = [[batch(TIMED, *some)] for some in (values[:half], values[half:]) if some]
    take(sink(of, directory(root)), Epoch(number, lineage, generation, f"offsets-{number}", parents), *tasks)


def run(
    of: Table, root: Path, *, until: int = EPOCHS, lineage: str = "one", generation: int = 1,
    parents: tuple[tuple[str, int], ...] = (),
) -> None:  # fmt: skip
    """Take the epochs that are not in the commit log yet."""
    root.mkdir(exist_ok=True)
    log = root / "commits"
    log.touch()
    epochs = [int(line) for line in log.read_text().split()]
    for number in range(epochs[-1] + 1 if epochs else 0, until):
        take_epoch(of, root, number, lineage=lineage, generation=generation, parents=parents)
        with log.open("a") as file:
            file.write(f"{number}\n")


def make_topic(broker: Broker, name: str | None = None, partitions: int = 1, **config: object) -> str:
    """A topic that keeps its records however old their times are."""
    return broker.create_topic(name, partitions, retention_ms=-1, **config)


def settled(broker: Broker, topic: str) -> list[Message]:
    """What a reader finds when no transaction is open any more: a commit is answered before its markers are written."""
    broker.until(lambda: broker.ends(topic, committed=True) == broker.ends(topic, committed=False))
    return broker.read(topic)


def numbers(messages: Sequence[Message]) -> list[int]:
    """The rows of some records: sorted, after the order within each key was looked at."""
    rows = [json.loads(message.value() or b"null") for message in messages]
    for key in range(3):
        key_numbers = [row["n"] for row in rows if row["name"] == f"key {key}"]
        assert key_numbers == sorted(key_numbers), key_numbers
    return sorted(row["n"] for row in rows)


if __name__ == "__main__":
    address, topic, folder, until = sys.argv[1:]
    run(target(address, topic), Path(folder), until=int(until))
