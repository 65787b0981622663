"""What a table that reads Kafka may be told, and what a record has around its value."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import ClassVar, Literal

from pydantic import Field as Option
from pydantic import field_validator, model_validator

from engine import types
from engine.connectors.kafka.connection import KafkaOptions
from engine.option_values import ByteCount, Pattern
from engine.schema import Field

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")


class KafkaSourceOptions(KafkaOptions):
    """Which topics, where to begin, and how much to read at once."""

    # brokers move, passwords change, and a limit says nothing about the rows: the topics do
    changeable: ClassVar[frozenset[str]] = frozenset(
        {*KafkaOptions.model_fields, "offset", "group_id", "group_id_prefix", "on_data_loss"}
        | {"max_rows", "max_bytes", "fill_time", "discovery_interval", "broker_timeout", "reader"}
    )

    topic: str | None = Option(None, description="The topic, or several, comma-separated.")
    topic_pattern: Pattern | None = Option(
        None,
        alias="source.topic_pattern",
        description="Instead of `topic`: every topic whose whole name matches this regular expression.",
    )
    offset: Literal["latest", "earliest", "group"] = Option(
        "latest",
        alias="source.offset",
        description="Where a pipeline without a checkpoint begins: behind the last record, at the first one, or where "
        "the consumer group is, which without a commit is at the first one. Partitions that are found later "
        "are read from their first record.",
    )
    read_mode: Literal["read_committed", "read_uncommitted"] = Option(
        "read_committed",
        alias="source.read_mode",
        description="Whether records of transactions that are open or were aborted are left out.",
    )
    group_id: str | None = Option(
        None,
        alias="source.group_id",
        min_length=1,
        description="The consumer group that is told how far the table was read, for those who watch it; the pipeline "
        "itself goes by its checkpoint. Without it `arroyo`, the pipeline and the table, joined by dashes.",
    )
    group_id_prefix: str | None = Option(
        None, alias="source.group_id_prefix", min_length=1, description="Instead of `arroyo` in that name."
    )
    on_data_loss: Literal["fail", "continue"] = Option(
        "fail",
        description="What happens when records that were not read yet are gone: the pipeline stops, or goes on with "
        "those that are there and counts the others as dropped.",
    )
    max_rows: int = Option(
        2_000_000, alias="source.max_rows_per_epoch", gt=0, description="How many records an epoch reads at most."
    )
    max_bytes: ByteCount | None = Option(
        None,
        alias="source.max_bytes_per_epoch",
        gt=0,
        description="About how many bytes of records an epoch reads at most, by the size of some of them.",
    )
    fill_time: timedelta = Option(
        timedelta(0),
        alias="source.fill_time",
        ge=timedelta(0),
        description="For how long an epoch may be put off until as many records wait as it may read; by default it "
        "begins as soon as there is one. Fewer epochs cost less, and rows come later.",
    )
    discovery_interval: timedelta = Option(
        timedelta(seconds=10),
        alias="source.discovery_interval",
        description="How often the brokers are asked for new partitions and topics.",
    )

    reader: Literal["python", "jvm"] = Option(
        "python",
        alias="source.reader",
        description="Who reads the records: our own reader, or Spark's on the JVM, where its archives are: among "
        "Spark's, or named by the variable ARROYO_JARS, comma-separated. Ours is the faster one. Spark's takes no "
        "client_configs and no `aws_msk_iam`, and reads only for pipelines without windows, and without joins or "
        "aggregates of rows that change.",
    )
    broker_timeout: timedelta = Option(
        timedelta(seconds=30),
        alias="source.broker_timeout",
        description="For how long brokers may fail to answer before the pipeline stops with an error that may pass.",
    )

    @field_validator("topic")
    @classmethod
    def _are_topics(cls, value: str | None) -> str | None:
        for name in () if value is None else value.split(","):
            if not _TOPIC.fullmatch(name.strip()):
                raise ValueError(f"{name.strip()!r} is no name of a topic; source.topic_pattern takes an expression")
        return value

    @model_validator(mode="after")
    def _one_way_to_name_topics(self) -> KafkaSourceOptions:
        if (self.topic is None) == (self.topic_pattern is None):
            raise ValueError("exactly one of 'topic' and 'source.topic_pattern' must be set")
        if self.group_id is not None and self.group_id_prefix is not None:
            raise ValueError("'source.group_id' is a whole name and takes no 'source.group_id_prefix'")
        if self.reader == "jvm" and (self.client_configs or self.auth_type == "aws_msk_iam"):
            raise ValueError("source.reader = 'jvm' takes no client_configs and no auth.type = 'aws_msk_iam'")
        return self

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics by name; none when there is a pattern."""
        return tuple(dict.fromkeys(name.strip() for name in (self.topic or "").split(",") if name.strip()))

    @property
    def is_committed(self) -> bool:
        """Whether only committed records are read."""
        return self.read_mode == "read_committed"

    def group(self, job: str, table: str) -> str:
        """The consumer group."""
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
"""What a record has around its value. `timestamp` is in milliseconds, as the brokers count; `event_time` is the same as
an instant."""
