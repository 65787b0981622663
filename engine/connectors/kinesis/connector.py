"""Declaration of the Kinesis connector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.connectors.base import Options, SinkContext, Table
from engine.connectors.kinds import Connector, SinkKind, SourceKind
from engine.connectors.kinesis.options import (
    METADATA,
    KinesisConnectionOptions,
    KinesisSinkOptions,
    KinesisSourceOptions,
    check_table,
)
from engine.formats.base import RecordKind
from engine.values.start_positions import StartWord, read_start

if TYPE_CHECKING:
    from engine.connectors.kinesis.sink import KinesisSink
    from engine.connectors.kinesis.source import KinesisSource


def _open_source(table: Table) -> KinesisSource:
    from engine.connectors.kinesis.source import KinesisSource  # noqa: PLC0415 - checks must not pay for Arrow

    assert isinstance(table.options, KinesisSourceOptions)
    return KinesisSource(table, table.options)


def _open_sink(table: Table, context: SinkContext) -> KinesisSink:
    from engine.connectors.kinesis.sink import KinesisSink  # noqa: PLC0415 - see `_open_source`

    assert isinstance(table.options, KinesisSinkOptions)
    return KinesisSink(table, table.options, context.directory)


def _redirect(options: Options, prefix: str) -> Options:
    assert isinstance(options, KinesisSinkOptions)
    return options.model_copy(update={"stream_name": f"{prefix}-{options.stream_name}"})


def _declared_start(options: Options) -> StartWord:
    assert isinstance(options, KinesisSourceOptions)
    return read_start(options.offset).word


def _probe(options: Options) -> str:
    from engine.connectors.kinesis.client import probe_stream  # noqa: PLC0415 - see `_open_source`

    assert isinstance(options, KinesisConnectionOptions)
    return probe_stream(options)


KINESIS = Connector(
    name="kinesis",
    summary="Reads the shards of a stream of Amazon Kinesis, and writes records to one.",
    source=SourceKind(
        options=KinesisSourceOptions,
        open=_open_source,
        check=check_table,
        starts=lambda options: frozenset({"earliest", "latest", "timestamp", "offsets"}),
        declared_start=_declared_start,
        limits=(
            "Records between two positions are always the same, so a pipeline with exactly-once sinks counts each "
            "record once.",
            "Each shard is a partition with a watermark of its own. The shards that a split or a merge creates are "
            "read once their parents are read to the end.",
            "Every record is read twice, to plan an epoch and to process it. A shard delivers 2 MB per second to all "
            "its readers, which is twice what can be written to it.",
            "Records that leave the stream while a pipeline is stopped for longer than the stream's retention are not "
            "noticed, unless their shard is gone, too.",
            "Records that the Kinesis Producer Library has aggregated are not unpacked.",
        ),
    ),
    sink=SinkKind(
        options=KinesisSinkOptions,
        open=_open_sink,
        check=check_table,
        redirect=_redirect,
        guarantee="at-least-once",
        records_stand_alone=True,
        may_refuse_rows=True,
        limits=(
            "After a crash, an epoch is sent again. A request whose answer is lost is sent again, too.",
            "If the stream accepts a part of a request, only the rest is sent again, so records with the same "
            "partition key may change their order.",
            "A row that is larger than 1 MiB, or whose partition key is empty or longer than 256 characters, stops the "
            "job, or is left out with `bad_data = 'drop'` and kept with `bad_data = 'dead_letter'`.",
        ),
    ),
    connection=KinesisConnectionOptions,
    carries=frozenset({RecordKind.JSON, RecordKind.TEXT, RecordKind.BYTES}),
    default_format="json",
    metadata=METADATA,
    event_time="event_time",
    probe=_probe,
)
