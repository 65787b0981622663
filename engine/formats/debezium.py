"""Changes as Debezium writes them: one JSON object with the row before and after, and what was done to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from engine.formats.base import Format
from engine.formats.json import JSON, TIMESTAMP_FORMAT, JsonOptions, TimestampFormat

if TYPE_CHECKING:
    from engine.formats.base import Decoder, Encoder, FormatOptions
    from engine.formats.registry import Subject
    from engine.schema import Schema


class DebeziumOptions(JsonOptions):
    """How the rows of a change are written; Debezium's own ways are the defaults."""

    format: str = Field("debezium_json", description="`debezium_json`.")
    timestamp_format: TimestampFormat = Field(
        "unix_millis", alias="json.timestamp_format", description=TIMESTAMP_FORMAT
    )
    decimal_encoding: Literal["number", "string", "bytes"] = Field(
        "bytes", alias="json.decimal_encoding", description="Decimals as numbers, as text, or as base64 of the digits."
    )


def _check(
    options: FormatOptions, schema: Schema, direction: Literal["source", "sink", "lookup"], connector: str
) -> str | None:
    assert isinstance(options, DebeziumOptions)
    if options.unstructured:
        return "'json.unstructured' has no columns, and so no rows that could change"
    if direction == "lookup":
        return "a stream of changes cannot be looked up in"
    return JSON.check(options, schema, direction, connector)


def _decoder(options: FormatOptions, schema: Schema, subject: Subject | None) -> Decoder:
    from engine.formats.debezium_decode import DebeziumDecoder  # noqa: PLC0415 - `arroyo check` must not pay for Arrow

    assert isinstance(options, DebeziumOptions)
    return DebeziumDecoder(options, schema)


def _encoder(options: FormatOptions, schema: Schema, subject: Subject | None) -> Encoder:
    from engine.formats.debezium_encode import DebeziumEncoder  # noqa: PLC0415 - see `_decoder`

    assert isinstance(options, DebeziumOptions)
    return DebeziumEncoder(options, schema)


DEBEZIUM_JSON = Format(
    name="debezium_json",
    summary="Changes of rows as Debezium writes them, with the row before and after; `r` is read as `c`.",
    prefix="json",
    options=DebeziumOptions,
    decoder=_decoder,
    encoder=_encoder,
    check=_check,
    carries_changes=True,
)
