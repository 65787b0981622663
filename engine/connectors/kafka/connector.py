"""Declaration of the Kafka connector."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.connectors.base import Options, Sink, SinkContext, SparkRead, Table
from engine.connectors.kafka.options import KafkaOptions
from engine.connectors.kafka.read.options import METADATA, KafkaSourceOptions
from engine.connectors.kafka.write.options import KafkaSinkOptions, check_columns, needs_event_time
from engine.connectors.kinds import Connector, SinkKind, SourceKind
from engine.connectors.schema_registry import ask_for_columns, registry_complaint
from engine.connectors.secret_values import fill_in
from engine.delivery.target_names import topic_name, topic_place
from engine.formats.base import RecordKind
from engine.values.start_positions import StartWord, read_start

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
        from engine.connectors.kafka.write.exactly_once import ExactlyOnceSink  # noqa: PLC0415 - see `_open_source`

        return ExactlyOnceSink(table, options, context)
    from engine.connectors.kafka.write.at_least_once import AtLeastOnceSink  # noqa: PLC0415 - see `_open_source`

    return AtLeastOnceSink(table, options, context.directory)


def _check(table: Table) -> str | None:
    complaint = check_columns(table, table.options) if isinstance(table.options, KafkaSinkOptions) else None
    return complaint or registry_complaint(table)


def _target_names(options: Options) -> Sequence[str]:
    # many may write to a topic; but two whose transactions have the same names would end each other's
    if not isinstance(options, KafkaSinkOptions) or options.commit_mode != "exactly_once":
        return ()
    return (topic_name(options.bootstrap_servers, options.topic, options.transactional_id_prefix),)


def _place(options: Options) -> str | None:
    assert isinstance(options, KafkaOptions)
    topic = getattr(options, "topic", None)
    # one URI names one topic, by the first of its brokers
    return None if topic is None or "," in topic else topic_place(options.bootstrap_servers, topic)


def _ask_for_columns(table: Table) -> str | None:
    options = fill_in(table.options, os.environ)
    assert isinstance(options, KafkaSinkOptions)
    form = table.format and fill_in(table.format, os.environ)
    return ask_for_columns(replace(table, options=options, format=form), options.topic)


def _redirect(options: Options, prefix: str) -> Options:
    if isinstance(options, KafkaSinkOptions):
        return options.model_copy(update={"topic": f"{prefix}-{options.topic}"})
    assert isinstance(options, KafkaSourceOptions)
    # two pipelines that commit to one group would each say of the other how far it has read
    named = {name: getattr(options, name) for name in ("group_id", "group_id_prefix")}
    update = {name: f"{prefix}-{value}" for name, value in named.items() if value is not None}
    return options.model_copy(update=update)


def _probe(options: Options) -> str:
    from engine.connectors.kafka.probe import probe_brokers  # noqa: PLC0415 - see `_open_source`

    assert isinstance(options, KafkaOptions)
    return probe_brokers(options)


def _declared_start(options: Options) -> StartWord:
    assert isinstance(options, KafkaSourceOptions)
    return read_start(options.offset).word


KAFKA = Connector(
    name="kafka",
    summary="Reads topics of Kafka, and writes rows to a topic, at least once or exactly once.",
    source=SourceKind(
        options=KafkaSourceOptions,
        open=_open_source,
        check=_check,
        place=_place,
        redirect=_redirect,
        starts=lambda options: frozenset({"earliest", "latest", "group", "timestamp", "offsets"}),
        declared_start=_declared_start,
        spark_read=_spark_read,
    ),
    sink=SinkKind(
        options=KafkaSinkOptions,
        open=_open_sink,
        check=_check,
        place=_place,
        redirect=_redirect,
        needs_event_time=needs_event_time,
        may_refuse_rows=True,
        target_names=_target_names,
        records_stand_alone=True,
        ask_for_columns=_ask_for_columns,
        guarantee="exactly-once",
        takes_back=False,
        limits=(
            "Without `sink.commit_mode = 'exactly_once'`, an epoch that is run again after a crash is written again.",
            "Exactly once holds for readers that use `read_committed`. An open transaction makes them "
            "wait, at most for `sink.transaction_timeout` if a job has died and is not started again.",
            "If `sink.parallelism` is greater than 1, readers may see a part of an epoch before the rest.",
            "Restoring an older savepoint writes again what was written after it.",
            "The guarantee ends if the topic is deleted, or the groups whose names begin with "
            "`sink.transactional_id_prefix`, or if a job is stopped for longer than the broker's "
            "`offsets.retention.minutes`. The pipeline then fails instead of guessing; restoring a "
            "savepoint lets it go on.",
            "Brokers that lose what they have acknowledged (`min.insync.replicas` of 1, unclean leader "
            "elections) lose records of ours, too. Brokers that do not abort the open transactions of a "
            "replaced producer are refused.",
            "A row that is larger than the client's `message.max.bytes` (1,000,000 by default; see "
            "`client_configs`) stops the job, or is left out with `bad_data = 'drop'` and kept with "
            "`bad_data = 'dead_letter'`. A smaller row that is too large for the topic always stops the "
            "job.",
            "Unless `sink.timestamp_field` is set, a record's timestamp is the event time, and brokers "
            "delete records by their timestamp. Set a sufficient `retention.ms` on topics that receive "
            "old rows.",
        ),
    ),
    connection=KafkaOptions,
    carries=frozenset({RecordKind.JSON, RecordKind.TEXT, RecordKind.BYTES}),
    metadata=METADATA,
    event_time="event_time",
    probe=_probe,
)
