"""Options of Avro."""

from __future__ import annotations

import json

from pydantic import Field, field_validator, model_validator

from engine.formats.base import FormatOptions


class AvroOptions(FormatOptions):
    """Options of Avro records; without options every message is an object container."""

    format: str = Field("avro", description="`avro`.")
    confluent_schema_registry: bool = Field(
        False,
        alias="avro.confluent_schema_registry",
        description="Whether records begin with the five bytes of a schema registry, which knows the schema they were "
        "written with; a sink registers its schema there.",
    )
    raw_datums: bool = Field(
        False, alias="avro.raw_datums", description="Whether records are bare values, written with `avro.schema`."
    )
    avro_schema: str | None = Field(
        None,
        alias="avro.schema",
        description="The schema, as JSON; by default it is made of the table's columns, all nullable.",
    )
    into_unstructured_json: bool = Field(
        False,
        alias="avro.into_unstructured_json",
        description="Whether the only column, `value JSON`, takes the whole record.",
    )

    @field_validator("avro_schema")
    @classmethod
    def _is_json(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                is_record = json.loads(value).get("type") == "record"
            except (ValueError, AttributeError, RecursionError) as error:
                raise ValueError("is not an Avro schema of a record, as JSON") from error
            if not is_record:
                raise ValueError("must be the schema of a record")
        return value

    @model_validator(mode="after")
    def _one_way(self) -> AvroOptions:
        if self.raw_datums and self.confluent_schema_registry:
            raise ValueError("'avro.raw_datums' and 'avro.confluent_schema_registry' exclude each other")
        return self
