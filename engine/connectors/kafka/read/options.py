"""Options of a table that reads Kafka, and the metadata of its records."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, field_validator, model_validator
from pydantic import Field as Option

from engine import types
from engine.connectors.kafka.options import KafkaOptions
from engine.schema import Field
from engine.values.option_values import ByteCount, Pattern
from engine.values.start_positions import read_start

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")


def _start_text(text: str) -> str:
    if (position := read_start(text)).word == "savepoint":
        raise ValueError("'savepoint' is where a state has a table, which is no option of the table")
    return str(position)


_StartText = Annotated[str, AfterValidator(_start_text)]


class KafkaSourceOptions(KafkaOptions):
    """Topics to read, where to begin, and limits of an epoch."""

    # brokers move, passwords change, and a limit says nothing about the rows: the topics do
    changeable: ClassVar[frozenset[str]] = frozenset(
        {*KafkaOptions.model_fields, "offset", "group_id", "group_id_prefix", "on_data_loss"}
        | {"max_rows", "max_bytes", "fill_time", "discovery_interval", "broker_timeout", "reader"}
    )

    topic: str | None = Option(None, description="Topic to read, or several, comma-separated.")
    topic_pattern: Pattern | None = Option(
        None,
        alias="source.topic_pattern",
        description="Regular expression, instead of `topic`: every topic whose whole name matches is read.",
    )
    offset: _StartText = Option(
        "latest",
        alias="source.offset",
        description="Where a pipeline without a checkpoint begins: at the end of each partition (`latest`), at its "
        "first record (`earliest`), at the offset that the consumer group has committed (`group`; the first record if "
        "it has committed none), at the first record whose timestamp is not older "
        '(`timestamp:2026-01-31T00:00:00Z`), or at an offset for each partition (`offsets:{"0": 12}`; with several '
        'topics, `offsets:{"orders/0": 12}`). Partitions that appear later are read from their first record.',
    )
    read_mode: Literal["read_committed", "read_uncommitted"] = Option(
        "read_committed",
        alias="source.read_mode",
        description="Whether records of open and aborted transactions are left out (`read_committed`) or read as well. "
        "With `read_committed`, records behind an open transaction wait, and are not counted in `rows_waiting`.",
    )
    group_id: str | None = Option(
        None,
        alias="source.group_id",
        min_length=1,
        description="Consumer group to which the pipeline commits how far it has read, for monitoring; the "
        "pipeline itself goes by its checkpoint. The default is `arroyo`, the pipeline's name and "
        "the table's name, joined by dashes.",
    )
    group_id_prefix: str | None = Option(
        None,
        alias="source.group_id_prefix",
        min_length=1,
        description="Prefix of the default consumer group, instead of `arroyo`.",
    )
    on_data_loss: Literal["fail", "continue"] = Option(
        "fail",
        description="What happens when records are gone before they were read: the pipeline fails, or "
        "continues with the records that are left and counts the missing ones as dropped.",
    )
    max_rows: int = Option(
        2_000_000, alias="source.max_rows_per_epoch", gt=0, description="Maximum number of records in an epoch."
    )
    max_bytes: ByteCount | None = Option(
        None,
        alias="source.max_bytes_per_epoch",
        gt=0,
        description="Approximate maximum size of the records in an epoch, estimated from a sample.",
    )
    fill_time: timedelta = Option(
        timedelta(0),
        alias="source.fill_time",
        ge=timedelta(0),
        description="How long an epoch may wait until it is full. By default it begins as soon as there is a "
        "record. Fewer, larger epochs cost less, but rows arrive later.",
    )
    discovery_interval: timedelta = Option(
        timedelta(seconds=10),
        alias="source.discovery_interval",
        description="How often the brokers are asked for new topics and partitions.",
    )

    reader: Literal["python", "jvm"] = Option(
        "python",
        alias="source.reader",
        description="Which reader is used: ours (`python`), which is faster, or Spark's on the JVM (`jvm`), "
        "whose JAR files must be among Spark's or be named, comma-separated, by the variable "
        "ARROYO_JARS. Spark's reader supports neither `client_configs` nor `aws_msk_iam`, and "
        "only pipelines without windows and without joins or aggregates of changing rows.",
    )
    broker_timeout: timedelta = Option(
        timedelta(seconds=30),
        alias="source.broker_timeout",
        description="How long brokers may fail to answer before the pipeline stops with an error that can be retried.",
    )

    @field_validator("topic")
    @classmethod
    def _are_topics(cls, value: str | None) -> str | None:
        for name in () if value is None else value.split(","):
            if not _TOPIC.fullmatch(name.strip()):
                raise ValueError(
                    f"names {name.strip()!r}, which is not a valid topic; "
                    "for a regular expression use source.topic_pattern"
                )
        return value

    @model_validator(mode="after")
    def _one_way_to_name_topics(self) -> KafkaSourceOptions:
        if (self.topic is None) == (self.topic_pattern is None):
            raise ValueError("exactly one of 'topic' and 'source.topic_pattern' must be set")
        if self.group_id is not None and self.group_id_prefix is not None:
            raise ValueError("'source.group_id' and 'source.group_id_prefix' exclude each other")
        if self.reader == "jvm" and (self.client_configs or self.auth_type == "aws_msk_iam"):
            raise ValueError("source.reader = 'jvm' supports neither client_configs nor auth.type = 'aws_msk_iam'")
        return self

    @property
    def topics(self) -> tuple[str, ...]:
        """Return the topics by name; none if there is a pattern."""
        return tuple(dict.fromkeys(name.strip() for name in (self.topic or "").split(",") if name.strip()))

    @property
    def is_committed(self) -> bool:
        """Whether only committed records are read."""
        return self.read_mode == "read_committed"

    def group(self, job: str, table: str) -> str:
        """Return the consumer group."""
        return self.group_id or "-".join(filter(None, (self.group_id_prefix or "arroyo", job, table)))


METADATA = {
    "topic": Field("topic", types.TEXT, nullable=False),
    "partition": Field("partition", types.INT, nullable=False),
    "offset_id": Field("offset_id", types.BIGINT, nullable=False),
    "timestamp": Field("timestamp", types.BIGINT, nullable=False),
    "event_time": Field("event_time", types.TIMESTAMP, nullable=False),
    "key": Field("key", types.Bytes()),
    "headers": Field(
        "headers",
        types.Array(types.Struct((types.Member("key", types.TEXT), types.Member("value", types.Bytes())))),
    ),
}
"""Metadata of a record. `timestamp` is in milliseconds, as in Kafka; `event_time` is the same as a TIMESTAMP."""
