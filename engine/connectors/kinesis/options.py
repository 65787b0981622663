"""Options of Kinesis tables, and the metadata of their records."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, SecretStr, model_validator
from pydantic import Field as Option

from engine import types
from engine.connectors.addresses import WebUrl
from engine.connectors.base import Options, Table
from engine.connectors.schema_registry import refused_registry
from engine.schema import Field
from engine.values.option_values import ByteCount
from engine.values.start_positions import read_start

MAX_RECORDS = 500
MAX_BYTES = 5 * 1024 * 1024
MAX_RECORD = 1024 * 1024
MAX_KEY = 256
"""Limits of Kinesis for one PutRecords request: records, their bytes with keys, bytes of a record, letters of a key."""


class KinesisConnectionOptions(Options):
    """Region and login. Options that are not set are looked up like AWS's own tools do: the variables AWS_*,
    files, roles."""

    aws_region: str | None = Option(
        None, description="AWS region of the stream. The default is that of `AWS_REGION`, or else `AWS_DEFAULT_REGION`."
    )
    endpoint: WebUrl | None = Option(
        None, description="URL of the server, if it is not Amazon's own. The default is `AWS_ENDPOINT_URL`."
    )
    access_key_id: SecretStr | None = Option(
        None,
        alias="auth.access_key_id",
        description="Id of the access key. By default the credentials of the process are used.",
    )
    secret_access_key: SecretStr | None = Option(
        None, alias="auth.secret_access_key", description="Secret that belongs to the access key."
    )
    session_token: SecretStr | None = Option(
        None, alias="auth.session_token", description="Session token, for temporary access keys."
    )

    @model_validator(mode="after")
    def _key_is_whole(self) -> KinesisConnectionOptions:
        if (self.access_key_id is None) != (self.secret_access_key is None):
            raise ValueError("'auth.access_key_id' and 'auth.secret_access_key' go together")
        if self.session_token is not None and self.access_key_id is None:
            raise ValueError("'auth.session_token' needs 'auth.access_key_id'")
        return self


class KinesisOptions(KinesisConnectionOptions):
    """Stream, region and login."""

    stream_name: str = Option(pattern="^[A-Za-z0-9_.-]{1,128}$", description="Name of the stream; it must exist.")


def _start_text(text: str) -> str:
    if (position := read_start(text)).word in ("savepoint", "group"):
        raise ValueError(f"'{position.word}' is no position in a stream")
    return str(position)


class KinesisSourceOptions(KinesisOptions):
    """Start position, and limits of an epoch."""

    # keys change, and a limit says nothing about the rows: the stream does
    changeable: ClassVar[frozenset[str]] = frozenset({*KinesisOptions.model_fields} - {"stream_name"}) | {
        "offset",
        "on_data_loss",
        "max_rows",
        "poll_interval",
        "discovery_interval",
    }

    offset: Annotated[str, AfterValidator(_start_text)] = Option(
        "latest",
        alias="source.offset",
        description="Where a pipeline without a checkpoint begins: at records that arrive from now on (`latest`, to "
        "the second), at the oldest record (`earliest`), at the first record that has not arrived before an instant "
        "(`timestamp:2026-01-31T00:00:00Z`), or at a sequence number for each shard "
        '(`offsets:{"shardId-000000000000": 4959...}`; ancestors of these shards are skipped). Shards that appear '
        "later are read from their first record.",
    )
    on_data_loss: Literal["fail", "continue"] = Option(
        "fail",
        description="What happens when a shard or a planned record is gone before it was read: the pipeline fails, or "
        "continues with the records that are left.",
    )
    max_rows: int = Option(
        500_000, alias="source.max_rows_per_epoch", gt=0, description="Maximum number of records in an epoch."
    )
    poll_interval: timedelta = Option(
        timedelta(seconds=1),
        alias="source.poll_interval",
        ge=timedelta(0),
        description="Pause between two requests for new records of a shard. All readers of a shard together may send "
        "five requests per second.",
    )
    discovery_interval: timedelta = Option(
        timedelta(seconds=30),
        alias="source.discovery_interval",
        ge=timedelta(0),
        description="How often the stream is asked for new shards. It is also asked when a shard has ended.",
    )


class KinesisSinkOptions(KinesisOptions):
    """Keys of the records, and sizes of the requests."""

    partition_key_field: str | None = Option(
        None,
        alias="sink.partition_key_field",
        description="TEXT NOT NULL column whose value is the partition key, of 1 to 256 characters. By default records "
        "are spread evenly over the shards.",
    )
    explicit_hash_key_field: str | None = Option(
        None,
        alias="sink.explicit_hash_key_field",
        description="TEXT column with the hash key that chooses the shard, as a decimal number, instead of the hash of "
        "the partition key. NULL means the latter.",
    )
    max_records: int = Option(
        MAX_RECORDS,
        alias="sink.max_records_per_batch",
        ge=1,
        le=MAX_RECORDS,
        description="Maximum number of records in a request.",
    )
    max_bytes: ByteCount = Option(
        4_000_000,
        alias="sink.max_bytes_per_batch",
        ge=MAX_RECORD,
        le=MAX_BYTES,
        description="Maximum size of a request, by the records and their keys.",
    )
    retry_timeout: timedelta = Option(
        timedelta(minutes=5),
        alias="sink.retry_timeout",
        description="How long the records of a request that the stream does not accept are sent again. After that the "
        "run stops.",
    )


METADATA = {
    "shard": Field("shard", types.TEXT, nullable=False),
    "sequence_number": Field("sequence_number", types.TEXT, nullable=False),
    "partition_key": Field("partition_key", types.TEXT, nullable=False),
    "event_time": Field("event_time", types.TIMESTAMP, nullable=False),
}
"""Metadata of a record. `event_time` is when it arrived in the stream."""


def check_table(table: Table) -> str | None:
    """Return the error of the format, or of the columns that the options of a sink name, or None."""
    options = table.options
    if not isinstance(options, KinesisSinkOptions) or refused_registry(table) is not None:
        return refused_registry(table)
    if (name := options.partition_key_field) is not None:
        column = table.schema.find(name)
        if column is None or column.nullable or column.type != types.TEXT:
            return f"'sink.partition_key_field' must name a TEXT NOT NULL column, and {name!r} is not one"
    if (name := options.explicit_hash_key_field) is not None:
        column = table.schema.find(name)
        if column is None or column.type != types.TEXT:
            return f"'sink.explicit_hash_key_field' must name a TEXT column, and {name!r} is not one"
    return None
