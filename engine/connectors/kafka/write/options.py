"""Options of a table that writes to Kafka."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from pydantic import Field as Option
from pydantic import field_validator, model_validator

from engine import types
from engine.connectors.base import Options, Table
from engine.connectors.kafka.options import KafkaOptions

_SHORTEST, _LONGEST = timedelta(seconds=10), timedelta(minutes=15)


class KafkaSinkOptions(KafkaOptions):
    """Topic to write to, and its guarantee."""

    topic: str = Option(min_length=1, description="Topic to write to; it must exist.")
    commit_mode: Literal["at_least_once", "exactly_once"] = Option(
        "at_least_once",
        alias="sink.commit_mode",
        description="What happens when an epoch is run again after a crash: with `at_least_once` its records "
        "are written again; with `exactly_once` they are written in transactions, and only once.",
    )
    key_field: str | None = Option(
        None, alias="sink.key_field", description="TEXT column whose value is the record's key."
    )
    timestamp_field: str | None = Option(
        None,
        alias="sink.timestamp_field",
        description="TIMESTAMP column whose value is the record's timestamp, instead of the event time. NULL "
        "and times before 1970 become the time of writing.",
    )
    headers_field: str | None = Option(
        None,
        alias="sink.headers_field",
        description="Column with the record's headers: a STRUCT of TEXT and BYTEA members, one for each "
        "header, or an ARRAY of STRUCTs of a name and a value. Headers that are NULL are left "
        "out.",
    )
    parallelism: int = Option(
        1,
        alias="sink.parallelism",
        ge=1,
        le=64,
        description="For `exactly_once`: number of transactions that run at the same time. With 1, readers "
        "see an epoch as a whole or not at all.",
    )
    transaction_timeout: timedelta = Option(
        timedelta(minutes=2),
        alias="sink.transaction_timeout",
        description="For `exactly_once`: maximum duration of a transaction, and so the longest time for which "
        "a job that has died can block readers.",
    )
    transactional_id_prefix: str = Option(
        "arroyo.",
        alias="sink.transactional_id_prefix",
        max_length=64,
        description="For `exactly_once`: prefix of the transactional ids, and of the consumer groups that "
        "hold the ledger.",
    )

    @field_validator("topic")
    @classmethod
    def _is_one_topic(cls, value: str) -> str:
        if "," in value:
            raise ValueError("must name a single topic")
        return value

    @field_validator("transaction_timeout")
    @classmethod
    def _is_allowed(cls, value: timedelta) -> timedelta:
        if not _SHORTEST <= value <= _LONGEST:
            raise ValueError("must be between 10 seconds and 15 minutes")
        return value

    @model_validator(mode="after")
    def _fit_the_mode(self) -> KafkaSinkOptions:
        for name in ("parallelism", "transaction_timeout", "transactional_id_prefix"):
            if name in self.model_fields_set and self.commit_mode != "exactly_once":
                raise ValueError(f"'sink.{name}' is only for sink.commit_mode = 'exactly_once'")
        return self


def check_columns(table: Table, options: KafkaSinkOptions) -> str | None:
    """Return the error of the columns that the options name, or None."""
    named_columns = (
        ("sink.key_field", options.key_field, "a TEXT", _is_text),
        ("sink.timestamp_field", options.timestamp_field, "a TIMESTAMP", _is_timestamp),
        ("sink.headers_field", options.headers_field, "a STRUCT of TEXT and BYTEA", _is_headers),
    )
    for option, name, kind, fits in named_columns:
        column = None if name is None else table.schema.find(name)
        if name is not None and (column is None or not fits(column.type)):
            return f"'{option}' must name {kind} column of the table, and {name!r} is not one"
    return None


def _is_text(kind: types.Type) -> bool:
    return kind == types.TEXT


def _is_timestamp(kind: types.Type) -> bool:
    return kind == types.TIMESTAMP


def _is_headers(kind: types.Type) -> bool:
    match kind:
        case types.Struct(members):
            return all(isinstance(member.type, types.Text | types.Bytes) for member in members)
        case types.Array(types.Struct((types.Member(type=types.Text()), types.Member(type=value)))):
            return isinstance(value, types.Text | types.Bytes)
    return False


def needs_event_time(options: Options) -> bool:
    """Whether records have the event time."""
    return isinstance(options, KafkaSinkOptions) and options.timestamp_field is None
