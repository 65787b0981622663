"""Check before the first exactly-once write that a broker implements what the protocol relies on.

The check writes no record. Of two producers with one id, the second must fence off the first, and the open transaction
of the first must be aborted. Some Kafka-compatible servers let both commit.
"""

from __future__ import annotations

import secrets

from confluent_kafka import KafkaException

from engine.connectors.kafka.client import ClientConfig
from engine.connectors.kafka.write.failures import is_worth_another_try, write_failure
from engine.connectors.kafka.write.ledger import SECONDS, KafkaLedger
from engine.connectors.kafka.write.producer import ProducerSession
from engine.delivery.ledger import LedgerEntry
from engine.errors import TransactionsUnsafeError


def check_broker(client: ClientConfig, prefix: str, topic: str) -> None:
    """Raise `TransactionsUnsafeError` if the broker does not fence."""
    name = f"{prefix}probe.{secrets.token_hex(6)}"
    try:
        complaint = _complaint({**client, "transactional.id": name}, client, name, topic)
    except KafkaException as wrong:
        raise write_failure(wrong, topic) from wrong
    if complaint is not None:
        raise TransactionsUnsafeError(
            f"the broker cannot write exactly once: {complaint}",
            hint="use sink.commit_mode = 'at_least_once', or a broker that implements Kafka's transactions",
        )


def _complaint(owner: ClientConfig, client: ClientConfig, name: str, topic: str) -> str | None:
    session = ProducerSession(owner)
    first = session.producer
    session.retry(first.init_transactions, SECONDS)
    error = first.list_topics(topic, SECONDS).topics[topic].error
    if error is not None:
        raise KafkaException(error)
    with KafkaLedger(client, name, topic) as ledger:
        first.begin_transaction()
        first.send_offsets_to_transaction([ledger.offset_of(LedgerEntry("probe", 0, "", 0))], ledger.group, SECONDS)
        second = ProducerSession(owner).producer
        second.init_transactions(SECONDS)
        if ledger.read():
            return "a second producer does not abort what the first of the same id has begun"
        try:
            first.commit_transaction(SECONDS)
        except KafkaException as wrong:
            if is_worth_another_try(wrong):  # fenced, as it should be
                return None
            raise
    return "a producer can commit though a second one of the same id has replaced it"
