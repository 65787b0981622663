"""Options of JSON."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from engine.formats.base import FormatOptions

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
    """Options of JSON records."""

    added: ClassVar[frozenset[str]] = frozenset({"non_finite", "excess_digits"})

    format: str = Field("json", description="`json`.")
    confluent_schema_registry: bool = Field(
        False,
        alias="json.confluent_schema_registry",
        description="Whether records begin with the five bytes of a schema registry.",
    )
    include_schema: bool = Field(
        False,
        alias="json.include_schema",
        description="Whether records are Kafka Connect envelopes, with a schema and a payload.",
    )
    unstructured: bool = Field(
        False, alias="json.unstructured", description="Whether the only column, `value JSON`, takes the whole record."
    )
    timestamp_format: TimestampFormat = Field("rfc3339", alias="json.timestamp_format", description=TIMESTAMP_FORMAT)
    decimal_encoding: Literal["number", "string", "bytes"] = Field(
        "number", alias="json.decimal_encoding", description="Decimals as numbers, as text, or as base64 of the digits."
    )
    non_finite: Literal["null", "text"] = Field(
        "null",
        alias="json.non_finite",
        description="How NaN and infinity, for which JSON has no numbers, are written: as null, or as the texts "
        "`NaN`, `Infinity` and `-Infinity`, which are then read as well. With `null` such texts are bad data.",
    )
    excess_digits: Literal["round", "refuse"] = Field(
        "round",
        alias="json.excess_digits",
        description="What happens to digits that a DECIMAL column has no places for: the number is rounded, half away "
        "from zero, as CAST does, or the record is bad data.",
    )
    compression: Literal["none", "gzip"] = Field(
        "none", alias="json.compression", description="The compression of a filesystem sink's files."
    )

    @field_validator("timestamp_format", mode="before")
    @classmethod
    def _any_spelling(cls, value: object) -> object:
        return _TIMESTAMP_FORMATS.get(str(value).lower(), value)

    @model_validator(mode="after")
    def _has_one_envelope(self) -> JsonOptions:
        if self.include_schema and self.confluent_schema_registry:
            raise ValueError("'json.include_schema' and 'json.confluent_schema_registry' exclude each other")
        return self
