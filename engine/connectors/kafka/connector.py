"""Kafka: which brokers, how to log in, and what a table reads or writes there."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field as Option
from pydantic import field_validator, model_validator

from engine import types
from engine.connectors.base import Connector, Sink, SinkPlace, SparkRead, Table
from engine.connectors.kafka.options import KafkaOptions
from engine.connectors.kafka.sink_options import KafkaSinkOptions, check_columns, needs_event_time
from engine.connectors.schema_registry import registry_complaint
from engine.option_values import ByteCount, Pattern
from engine.schema import Field

if TYPE_CHECKING:
    from engine.connectors.kafka.source import KafkaSource

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


def _open_source(table: Table) -> KafkaSource:
    from engine.connectors.kafka.source import KafkaSource  # noqa: PLC0415 - checks must not pay for Arrow

    assert isinstance(table.options, KafkaSourceOptions)
    return KafkaSource(table, table.options)


def _spark_read(table: Table) -> SparkRead | None:
    options = table.options
    if not isinstance(options, KafkaSourceOptions) or options.reader != "jvm":
        return None
    from engine.connectors.kafka.spark_read import KafkaSparkRead  # noqa: PLC0415 - see `_open_source`

    return KafkaSparkRead(table, options)


def _open_sink(table: Table, place: SinkPlace) -> Sink:
    options = table.options
    assert isinstance(options, KafkaSinkOptions)
    if options.commit_mode == "exactly_once":
        from engine.connectors.kafka.sink import StagedSink  # noqa: PLC0415 - see `_open_source`

        return StagedSink(table, options, place)
    from engine.connectors.kafka.direct import DirectSink  # noqa: PLC0415 - see `_open_source`

    return DirectSink(table, options, place.directory)


def _check(table: Table) -> str | None:
    complaint = check_columns(table, table.options) if isinstance(table.options, KafkaSinkOptions) else None
    return complaint or registry_complaint(table)


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

KAFKA = Connector(
    name="kafka",
    summary="Reads topics of Kafka, and writes rows to one, at least once or in transactions.",
    options={"source": KafkaSourceOptions, "sink": KafkaSinkOptions},
    formats=frozenset({"json", "debezium_json", "raw_string", "raw_bytes", "avro", "protobuf"}),
    metadata=METADATA,
    event_time="event_time",
    check=_check,
    needs_event_time=needs_event_time,
    may_refuse_rows=True,
    open_source=_open_source,
    spark_read=_spark_read,
    open_sink=_open_sink,
    guarantee="exactly-once",
    limits=(
        "`rows_waiting` of an epoch counts up to the last stable offset; what lies behind an open transaction is "
        "neither counted nor read.",
        "Without `sink.commit_mode = 'exactly_once'` an epoch that is run again after a crash is written again.",
        "Exactly once holds for readers of committed records. They wait for an open transaction, at most for "
        "`sink.transaction_timeout` when a job died and is not started again.",
        "With `sink.parallelism` above 1 a part of an epoch may be seen before the rest.",
        "Restoring an older savepoint writes again what came after it.",
        "Whoever deletes the groups that begin with `sink.transactional_id_prefix`, or the topic, ends the guarantee, "
        "and so does a job that stands still for longer than the broker's `offsets.retention.minutes`; the pipeline "
        "stops rather than guess, and a restored savepoint goes on.",
        "Brokers that lose what they have acknowledged (`min.insync.replicas` of 1, unclean elections) lose it for us, "
        "too. Brokers that do not abort what an older producer has open are refused.",
        "A row that is larger than the client's `message.max.bytes` (1,000,000 unless `client_configs` say otherwise) "
        "stops the job, or is left out with `bad_data = 'drop'` and kept with `bad_data = 'dead_letter'`. One that is "
        "smaller, and too large for the topic, stops it always.",
        "Records have the event time unless `sink.timestamp_field` says otherwise, and brokers delete by it: give a "
        "topic for old rows a `retention.ms` that keeps them.",
    ),
)
