"""Ledger of a sink in Kafka: the offset of a consumer group without members, written in the transaction of the data.

    group arroyo.job.table.3f2a.0, topic orders, partition 0:
    offset 8, metadata {"L": "3f2a...", "N": 7, "H": "...", "G": 2, "rows": 3}     epoch 7 is written, 8 is the next

Group and transaction have the same name. The offset is the next epoch, its metadata is the ledger entry. It belongs to
partition 0 of the written topic, so deleting the topic deletes the ledger. See
`docs/decisions/kafka-is-written-in-staged-transactions.md`.
"""

from __future__ import annotations

import json
from contextlib import suppress
from types import TracebackType

from confluent_kafka import OFFSET_INVALID, Consumer, TopicPartition

from engine.connectors.kafka.client import ClientConfig
from engine.delivery.ledger import LedgerEntry
from engine.errors import LedgerForeignError

SECONDS = 30.0


class KafkaLedger:
    """Ledger of one part of a sink."""

    def __init__(self, client: ClientConfig, name: str, topic: str) -> None:
        # read_committed makes the broker wait with its answer until no transaction has the offset open
        config = {"group.id": name, "enable.auto.commit": False, "isolation.level": "read_committed"}
        self._consumer = Consumer({**client, **config})
        self._name = name
        self._topic = topic

    def __enter__(self) -> KafkaLedger:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close()

    @property
    def group(self) -> object:
        """Return the group metadata that a producer needs to write an entry."""
        return self._consumer.consumer_group_metadata()

    def read(self) -> list[LedgerEntry]:
        """Return the newest entry; None if there is no ledger."""
        [committed] = self._consumer.committed([TopicPartition(self._topic, 0)], SECONDS)
        if committed.offset == OFFSET_INVALID:
            return []
        with suppress(ValueError, TypeError, KeyError):
            return [_from_text(committed.metadata or "")]
        raise LedgerForeignError(
            f"the group {self._name!r} has an offset of {self._topic!r} that no sink has written",
            hint="give the sink names of its own with 'sink.transactional_id_prefix', or delete the group",
        )

    def offset_of(self, entry: LedgerEntry) -> TopicPartition:
        """Return an entry as the offset that a transaction commits."""
        return TopicPartition(self._topic, 0, entry.epoch + 1, metadata=_to_text(entry))


def _to_text(entry: LedgerEntry) -> str:
    fields = {"L": entry.lineage, "N": entry.epoch, "H": entry.offsets, "G": entry.generation, "rows": entry.rows}
    return json.dumps(fields, separators=(",", ":"))


def _from_text(text: str) -> LedgerEntry:
    fields = json.loads(text)
    return LedgerEntry(str(fields["L"]), int(fields["N"]), str(fields["H"]), int(fields["G"]), int(fields["rows"]))
