"""Kafka producers, which send records on their own threads, and their errors.

session.send(topic, records)   queues them; record 3 fails later, on a thread of the client
session.send(topic, more)      raises the failure of record 3, as `raise_failure` would; the session is failed
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

import pyarrow as pa
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from engine.connectors.kafka.client import ClientConfig, client_config
from engine.connectors.kafka.write.failures import is_refusal, write_failure
from engine.connectors.kafka.write.options import KafkaSinkOptions

DEFAULTS: ClientConfig = {
    "linger.ms": 20,
    "queue.buffering.max.messages": 200_000,
    "queue.buffering.max.kbytes": 128 * 1024,
    # how long a topic may take to appear; a missing one never does
    "topic.metadata.propagation.max.ms": 5_000,
}
PROMISES: ClientConfig = {
    "acks": "all",
    "enable.idempotence": True,
    # where Java's clients put the same key
    "partitioner": "murmur2_random",
    # reports of success would stay in the queue until they are polled
    "delivery.report.only.error": True,
}


_PROBE_SECONDS = 10.0

# a client that was fenced off writes that to stderr, although its user gets the error anyway
_SILENT = logging.Logger("kafka", logging.CRITICAL + 1)


def producer_config(options: KafkaSinkOptions) -> ClientConfig:
    """Return the options of a producer. Users cannot change the ones that guarantee delivery."""
    return DEFAULTS | client_config(options) | PROMISES


class _Complaints:
    """First record that a producer could not deliver, or the refusal of its login. It has no reference to the session,
    whose threads would otherwise live until the garbage collector runs."""

    def __init__(self) -> None:
        self.first: KafkaError | None = None

    def delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.first = self.first or error

    def complained(self, error: KafkaError) -> None:
        if is_refusal(error):
            self.first = self.first or error


class ProducerSession:
    """A producer. It remembers errors of its background threads: the first record that it could not deliver, and a
    refused login, which the client would retry forever. A failed session is not used again. Its threads and connections
    end with the last reference to it."""

    def __init__(self, client: ClientConfig) -> None:
        self._complaints = _Complaints()
        callbacks = {"on_delivery": self._complaints.delivered, "error_cb": self._complaints.complained}
        self.producer = Producer({**client, **callbacks, "logger": _SILENT})

    def send(self, topic: str, records: pa.RecordBatch) -> int:
        """Queue records, and wait while the queue is full; return how many there were."""
        keys, values, timestamps, headers = (column.to_pylist() for column in records.columns)
        if records.column("headers").null_count == len(headers):
            for key, value, timestamp in zip(keys, values, timestamps, strict=True):
                self._send_record(topic, key, value, timestamp, None)
        else:
            for key, value, timestamp, pairs in zip(keys, values, timestamps, headers, strict=True):
                named = [(header["name"], header["value"]) for header in pairs or ()]
                self._send_record(topic, key, value, timestamp, named)
        self.raise_failure()
        return len(headers)

    def raise_failure(self) -> None:
        """Raise the error that the producer has reported, if any."""
        self.producer.poll(0)
        if self._complaints.first is not None:
            raise KafkaException(self._complaints.first)

    def retry(self, work: Callable[[float], object], seconds: float) -> None:
        """Call a function that may time out while the producer reports errors: for a second at a time, up to that many
        times, while it may still succeed."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                work(max(0.0, min(1.0, deadline - time.monotonic())))
            except KafkaException as wrong:
                self.raise_failure()
                if not wrong.args[0].retriable() or time.monotonic() >= deadline:
                    raise
            else:
                return

    def _send_record(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: list[tuple[str, str | bytes | None]] | None,
    ) -> None:
        while True:
            try:
                self.producer.produce(topic, value, key, timestamp=timestamp, headers=headers)
            except BufferError:
                self.producer.poll(0.05)
                self.raise_failure()
            else:
                return


def probe_topic(options: KafkaSinkOptions) -> None:
    """Raise if the brokers do not answer, refuse the login, or lack the topic."""
    session = ProducerSession(producer_config(options))
    try:
        try:
            error = session.producer.list_topics(options.topic, _PROBE_SECONDS).topics[options.topic].error
        except KafkaException:
            session.raise_failure()
            raise
        if error is not None:
            raise KafkaException(error)
    except KafkaException as wrong:
        raise write_failure(wrong, options.topic) from wrong
