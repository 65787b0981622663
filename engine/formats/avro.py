"""Avro: its options, and what makes its two directions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from pydantic import Field, field_validator, model_validator

from engine.formats.base import Format, FormatOptions

if TYPE_CHECKING:
    from engine.formats.base import Decoder, Encoder
    from engine.formats.registry import Subject
    from engine.schema import Schema


class AvroOptions(FormatOptions):
    """How a row is written as an Avro record; without options every message is an object container of its own."""

    format: str = Field("avro", description="`avro`.")
    confluent_schema_registry: bool = Field(
        False,
        alias="avro.confluent_schema_registry",
        description="Records start with a registry's five bytes, and the registry knows the schema they were written "
        "with; a sink registers its own.",
    )
    raw_datums: bool = Field(
        False, alias="avro.raw_datums", description="Records are bare values, written with `avro.schema`."
    )
    avro_schema: str | None = Field(
        None,
        alias="avro.schema",
        description="The schema as JSON; without it, it is made of the table's columns, each of which may be null.",
    )
    into_unstructured_json: bool = Field(
        False,
        alias="avro.into_unstructured_json",
        description="The one column `value JSON` takes the whole record.",
    )

    @field_validator("avro_schema")
    @classmethod
    def _is_json(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                is_record = json.loads(value).get("type") == "record"
            except (ValueError, AttributeError, RecursionError) as wrong:
                raise ValueError("it is no Avro schema of a record, as JSON") from wrong
            if not is_record:
                raise ValueError("it must be the schema of a record")
        return value

    @model_validator(mode="after")
    def _one_way(self) -> AvroOptions:
        if self.raw_datums and self.confluent_schema_registry:
            raise ValueError("'avro.raw_datums' and 'avro.confluent_schema_registry' exclude each other")
        return self


def _check(
    options: FormatOptions, schema: Schema, direction: Literal["source", "sink", "lookup"], connector: str
) -> str | None:
    assert isinstance(options, AvroOptions)
    if not options.into_unstructured_json:
        return None
    if direction == "sink":
        return "'avro.into_unstructured_json' is for sources"
    if [(field.name, str(field.type)) for field in schema] != [("value", "JSON")]:
        return "'avro.into_unstructured_json' requires a schema with a single field called `value` of type JSON"
    return None


def _decoder(options: FormatOptions, schema: Schema, subject: Subject | None) -> Decoder:
    from engine.formats.avro_records import AvroDecoder  # noqa: PLC0415 - `arroyo check` must not pay for Arrow

    assert isinstance(options, AvroOptions)
    return AvroDecoder(options, schema, subject)


def _encoder(options: FormatOptions, schema: Schema, subject: Subject | None) -> Encoder:
    from engine.formats.avro_records import AvroEncoder  # noqa: PLC0415 - see `_decoder`

    assert isinstance(options, AvroOptions)
    return AvroEncoder(options, schema, subject)


AVRO = Format(
    name="avro",
    summary="An Avro record to a row: with a schema registry, as bare values, or as object containers.",
    prefix="avro",
    options=AvroOptions,
    decoder=_decoder,
    encoder=_encoder,
    check=_check,
)
