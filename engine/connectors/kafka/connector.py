"""Kafka: which brokers, how to log in, and what a table reads or writes there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.connectors.base import Connector, Sink, SinkContext, SparkRead, Table
from engine.connectors.kafka.read.options import METADATA, KafkaSourceOptions
from engine.connectors.kafka.write.options import KafkaSinkOptions, check_columns, needs_event_time
from engine.connectors.schema_registry import registry_complaint
from engine.formats.base import RecordKind

if TYPE_CHECKING:
    from engine.connectors.kafka.read.source import KafkaSource


def _open_source(table: Table) -> KafkaSource:
    from engine.connectors.kafka.read.source import KafkaSource  # noqa: PLC0415 - checks must not pay for Arrow

    assert isinstance(table.options, KafkaSourceOptions)
    return KafkaSource(table, table.options)


def _spark_read(table: Table) -> SparkRead | None:
    options = table.options
    if not isinstance(options, KafkaSourceOptions) or options.reader != "jvm":
        return None
    from engine.connectors.kafka.read.spark import KafkaSparkRead  # noqa: PLC0415 - see `_open_source`

    return KafkaSparkRead(table, options)


def _open_sink(table: Table, context: SinkContext) -> Sink:
    options = table.options
    assert isinstance(options, KafkaSinkOptions)
    if options.commit_mode == "exactly_once":
        from engine.connectors.kafka.write.sink import ExactlyOnceSink  # noqa: PLC0415 - see `_open_source`

        return ExactlyOnceSink(table, options, context)
    from engine.connectors.kafka.write.at_least_once import AtLeastOnceSink  # noqa: PLC0415 - see `_open_source`

    return AtLeastOnceSink(table, options, context.directory)


def _check(table: Table) -> str | None:
    complaint = check_columns(table, table.options) if isinstance(table.options, KafkaSinkOptions) else None
    return complaint or registry_complaint(table)


KAFKA = Connector(
    name="kafka",
    summary="Reads topics of Kafka, and writes rows to one, at least once or in transactions.",
    options={"source": KafkaSourceOptions, "sink": KafkaSinkOptions},
    carries=frozenset({RecordKind.JSON, RecordKind.TEXT, RecordKind.BYTES}),
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
