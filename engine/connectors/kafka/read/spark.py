"""Read topics with Spark's Kafka source on the JVM. Our source plans the offsets."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from engine.connectors.base import Chunk, Slice, Table
from engine.connectors.kafka.read.options import KafkaSourceOptions
from engine.connectors.kafka.read.positions import ReadPosition, split_name
from engine.connectors.kafka.read.records import SparkRows
from engine.connectors.kafka.read.rows import RowMaker

if TYPE_CHECKING:
    import pyarrow as pa


_COLUMNS = {"key": "key", "headers": "headers", "timestamp": "timestamp", "event_time": "timestamp"}
"""Spark's columns with the metadata of a record, except its position."""


@dataclass(frozen=True, slots=True)
class KafkaSparkRead:
    """Options with which Spark reads one table."""

    table: Table
    options: KafkaSourceOptions

    option: ClassVar[str] = "source.reader"
    format: ClassVar[str] = "kafka"
    probe: ClassVar[Mapping[str, str]] = {"kafka.bootstrap.servers": "none", "subscribe": "none"}
    partition: ClassVar[str] = "concat(topic, '/', partition)"

    @property
    def columns(self) -> Sequence[str]:
        """Return the record fields that the table uses: nothing else need leave the JVM."""
        keys = {_COLUMNS.get(key) for _, key in self.table.metadata}
        return ("value", "offset", *(name for name in ("key", "timestamp", "headers") if name in keys))

    def options_of(self, slices: Sequence[Slice]) -> Mapping[str, str]:
        """Return the reader options: the offsets, and the connection to the brokers."""
        starts, ends = dict[str, dict[str, int]](), dict[str, dict[str, int]]()
        for task_slice in slices:
            topic, number = split_name(task_slice.partition)
            starts.setdefault(topic, {})[str(number)] = ReadPosition.from_json(task_slice.start).offset
            ends.setdefault(topic, {})[str(number)] = ReadPosition.from_json(task_slice.end).offset
        return {
            "assign": json.dumps({topic: [int(number) for number in numbers] for topic, numbers in ends.items()}),
            "startingOffsets": json.dumps(starts),
            "endingOffsets": json.dumps(ends),
            "includeHeaders": str("headers" in self.columns).lower(),
            "failOnDataLoss": str(self.options.on_data_loss == "fail").lower(),
            "kafka.bootstrap.servers": self.options.bootstrap_servers,
            "kafka.isolation.level": self.options.read_mode,
            "kafkaConsumer.pollTimeoutMs": str(int(self.options.broker_timeout.total_seconds() * 1000)),
            **_login(self.options),
        }

    def chunk(self, partition: str, rows: pa.RecordBatch) -> Chunk:
        """Convert rows of Spark, all of one partition, to a chunk."""
        topic, number = split_name(partition)
        return RowMaker(self.table).chunk(SparkRows(topic, number, rows))


def _login(options: KafkaSourceOptions) -> Mapping[str, str]:
    config: dict[str, str] = {"kafka.security.protocol": options.protocol}
    if options.auth_username is not None and options.auth_password is not None:
        mechanism = options.auth_mechanism or "PLAIN"
        module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
        user, password = map(_quoted, (options.auth_username, options.auth_password.get_secret_value()))
        login = f"org.apache.kafka.common.security.{module} required username={user} password={password};"
        config |= {"kafka.sasl.mechanism": mechanism, "kafka.sasl.jaas.config": login}
    if options.ssl_ca is not None:
        config |= {"kafka.ssl.truststore.type": "PEM", "kafka.ssl.truststore.certificates": options.ssl_ca}
    if options.ssl_certificate is not None and options.ssl_key is not None:
        config |= {
            "kafka.ssl.keystore.type": "PEM",
            "kafka.ssl.keystore.certificate.chain": options.ssl_certificate,
            "kafka.ssl.keystore.key": options.ssl_key.get_secret_value(),
        }
    return config


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
