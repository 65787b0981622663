"""Debezium: one JSON object with the row before and after, and the operation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from engine.formats.base import Format, RecordKind
from engine.formats.debezium.options import DebeziumOptions
from engine.formats.json.format import JSON

if TYPE_CHECKING:
    from engine.formats.base import Decoder, Encoder, FormatOptions
    from engine.formats.schema_registry import Subject
    from engine.schema import Schema


def _check(
    options: FormatOptions, schema: Schema, direction: Literal["source", "sink", "lookup"], connector: str
) -> str | None:
    assert isinstance(options, DebeziumOptions)
    if options.unstructured:
        return "'json.unstructured' is not supported for debezium_json, whose rows need columns"
    if direction == "lookup":
        return "a lookup table cannot read a stream of changes"
    return JSON.check(options, schema, direction, connector)


def _decoder(options: FormatOptions, schema: Schema, subject: Subject | None) -> Decoder:
    from engine.formats.debezium.decode import DebeziumDecoder  # noqa: PLC0415 - `arroyo check` must not pay for Arrow

    assert isinstance(options, DebeziumOptions)
    return DebeziumDecoder(options, schema)


def _encoder(options: FormatOptions, schema: Schema, subject: Subject | None) -> Encoder:
    from engine.formats.debezium.encode import DebeziumEncoder  # noqa: PLC0415 - see `_decoder`

    assert isinstance(options, DebeziumOptions)
    return DebeziumEncoder(options, schema)


DEBEZIUM_JSON = Format(
    name="debezium_json",
    summary="Changes of rows as Debezium writes them, with the row before and after; `r` is read as `c`.",
    prefix="json",
    options=DebeziumOptions,
    records=RecordKind.JSON,
    decoder=_decoder,
    encoder=_encoder,
    check=_check,
    carries_changes=True,
)
