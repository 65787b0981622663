"""Declaration of JSON: its options, decoder and encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from engine.formats.base import Format, FormatOptions, RecordKind
from engine.formats.json.options import JsonOptions

if TYPE_CHECKING:
    from engine.formats.base import Decoder, Encoder
    from engine.formats.schema_registry import Subject
    from engine.schema import Schema


def _check(
    options: FormatOptions, schema: Schema, direction: Literal["source", "sink", "lookup"], connector: str
) -> str | None:
    assert isinstance(options, JsonOptions)
    if options.compression != "none" and (connector, direction) != ("filesystem", "sink"):
        return "'json.compression' is only supported for the filesystem connector"
    if options.confluent_schema_registry and direction == "sink":
        if connector != "kafka":
            return "'json.confluent_schema_registry' is only supported for the kafka connector"
        if options.format != "json":
            return "'json.confluent_schema_registry' is not supported for sinks with debezium_json"
    if options.unstructured and not _is_value_alone(schema):
        return "'json.unstructured' requires a schema with a single field called `value` of type JSON"
    return None


def _is_value_alone(schema: Schema) -> bool:
    """Whether the whole record is the only column."""
    return [(field.name, str(field.type)) for field in schema] == [("value", "JSON")]


def _decoder(options: FormatOptions, schema: Schema, subject: Subject | None) -> Decoder:
    from engine.formats.json.decode import JsonDecoder  # noqa: PLC0415 - `arroyo check` must not pay for Arrow

    assert isinstance(options, JsonOptions)
    return JsonDecoder(options, schema)


def _checking_decoder(options: FormatOptions, schema: Schema, declared: Schema) -> Decoder:
    from engine.formats.json.decode import JsonDecoder  # noqa: PLC0415 - see `_decoder`

    assert isinstance(options, JsonOptions)
    return JsonDecoder(options, schema, declared)


def _encoder(options: FormatOptions, schema: Schema, subject: Subject | None) -> Encoder:
    from engine.formats.json.encode import JsonEncoder  # noqa: PLC0415 - see `_decoder`

    assert isinstance(options, JsonOptions)
    return JsonEncoder(options, schema, subject)


JSON = Format(
    name="json",
    summary="One JSON object per record; fields that are no column of the table are ignored.",
    prefix="json",
    options=JsonOptions,
    records=RecordKind.JSON,
    decoder=_decoder,
    encoder=_encoder,
    checking_decoder=_checking_decoder,
    check=_check,
)
