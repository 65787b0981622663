"""JSON, one object to a record: its options, and what makes its two directions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field, field_validator, model_validator

from engine.formats.base import Format, FormatOptions

if TYPE_CHECKING:
    from engine.formats.base import Decoder, Encoder
    from engine.formats.registry import Subject
    from engine.schema import Schema

TimestampFormat = Literal["rfc3339", "unix_millis", "unix_micros"]
TIMESTAMP_FORMAT = "Timestamps as text, or as milliseconds or microseconds since 1970."
_TIMESTAMP_FORMATS = {
    "rfc3339": "rfc3339",
    "unixmillis": "unix_millis",
    "unix_millis": "unix_millis",
    "unixmicros": "unix_micros",
    "unix_micros": "unix_micros",
}


class JsonOptions(FormatOptions):
    """How a row is written as one JSON object."""

    format: str = Field("json", description="`json`.")
    confluent_schema_registry: bool = Field(
        False, alias="json.confluent_schema_registry", description="Records start with a registry's five bytes."
    )
    include_schema: bool = Field(
        False, alias="json.include_schema", description="Records are Kafka Connect envelopes of schema and payload."
    )
    unstructured: bool = Field(
        False, alias="json.unstructured", description="The one column `value JSON` takes the whole record."
    )
    timestamp_format: TimestampFormat = Field("rfc3339", alias="json.timestamp_format", description=TIMESTAMP_FORMAT)
    decimal_encoding: Literal["number", "string", "bytes"] = Field(
        "number", alias="json.decimal_encoding", description="Decimals as numbers, as text, or as base64 of the digits."
    )
    compression: Literal["none", "gzip"] = Field(
        "none", alias="json.compression", description="Compression of the files of a filesystem sink."
    )

    @field_validator("timestamp_format", mode="before")
    @classmethod
    def _any_spelling(cls, value: object) -> object:
        return _TIMESTAMP_FORMATS.get(str(value).lower(), value)

    @model_validator(mode="after")
    def _one_envelope(self) -> JsonOptions:
        if self.include_schema and self.confluent_schema_registry:
            raise ValueError("'json.include_schema' and 'json.confluent_schema_registry' exclude each other")
        return self


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
            return "'json.confluent_schema_registry' cannot be written with debezium_json"
    if options.unstructured and [(field.name, str(field.type)) for field in schema] != [("value", "JSON")]:
        return "'json.unstructured' requires a schema with a single field called `value` of type JSON"
    return None


def _decoder(options: FormatOptions, schema: Schema, subject: Subject | None) -> Decoder:
    from engine.formats.json_decode import JsonDecoder  # noqa: PLC0415 - `arroyo check` must not pay for Arrow

    assert isinstance(options, JsonOptions)
    return JsonDecoder(options, schema)


def _encoder(options: FormatOptions, schema: Schema, subject: Subject | None) -> Encoder:
    from engine.formats.json_encode import JsonEncoder  # noqa: PLC0415 - see `_decoder`

    assert isinstance(options, JsonOptions)
    return JsonEncoder(options, schema, subject)


JSON = Format(
    name="json",
    summary="One JSON object to a record; fields that the table does not have are passed over.",
    prefix="json",
    options=JsonOptions,
    decoder=_decoder,
    encoder=_encoder,
    check=_check,
)
