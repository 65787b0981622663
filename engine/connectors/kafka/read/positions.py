"""Read positions in Kafka, and how an epoch's limit is shared among partitions. Pure.

{"offset": 10, "topic_id": "Gn3x..."}    the next record is number 10 of the topic with this id
100 and 10 records wait                  share() returns 19 and 3 if an epoch may have 22
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.connectors.base import Position


@dataclass(frozen=True, slots=True)
class ReadPosition:
    """Offset of the next record of a partition, and the id of its topic: a topic that is deleted and created again has
    the same name and another id. It is None with brokers that have no ids."""

    offset: int
    topic_id: str | None = None

    def moved(self, records: int) -> ReadPosition:
        """Return the position that many records further."""
        return ReadPosition(self.offset + records, self.topic_id)

    def to_json(self) -> Position:
        """Return the entry of Spark's offset log."""
        return {"offset": self.offset, "topic_id": self.topic_id}

    @classmethod
    def from_json(cls, position: Position) -> ReadPosition:
        """Read the position from the offset log."""
        assert isinstance(position, dict)
        offset, topic_id = position["offset"], position["topic_id"]
        assert isinstance(offset, int)
        assert topic_id is None or isinstance(topic_id, str)
        return cls(offset, topic_id)


def partition_name(topic: str, number: int) -> str:
    """Return the name of a partition; topic names have no slash."""
    return f"{topic}/{number}"


def split_name(partition: str) -> tuple[str, int]:
    """Return the topic and the number of a partition."""
    topic, _, number = partition.rpartition("/")
    return topic, int(number)


def share(backlog: Mapping[str, int], limit: int | None) -> dict[str, int]:
    """Divide `limit` rows over the waiting records of partitions, in proportion to their backlog, so that all are
    finished at about the same time. Each partition gets at least one row if the limit allows."""
    if limit is None or sum(backlog.values()) <= limit:
        return dict(backlog)
    waiting = [name for name, rows in backlog.items() if rows]
    firsts = dict.fromkeys(waiting, 1) if limit >= len(waiting) else {}
    remaining = {name: rows - firsts.get(name, 0) for name, rows in backlog.items()}
    total, room = sum(remaining.values()), limit - len(firsts)
    shares = {name: firsts.get(name, 0) + rows * room // total for name, rows in remaining.items()}
    # the remainder goes to the partitions with the largest rounding loss
    surplus = limit - sum(shares.values())
    for name in sorted(remaining, key=lambda name: (-(remaining[name] * room % total), name))[:surplus]:
        shares[name] += 1
    return shares
