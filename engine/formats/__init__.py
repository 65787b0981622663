"""The formats, each a value in `FORMATS`; Arrow in, Arrow out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.formats.avro.format import AVRO
from engine.formats.base import Format, FormatOptions
from engine.formats.csv import CSV
from engine.formats.debezium.format import DEBEZIUM_JSON
from engine.formats.json.format import JSON
from engine.formats.parquet import PARQUET
from engine.formats.protobuf.format import PROTOBUF
from engine.formats.raw_bytes import RAW_BYTES
from engine.formats.raw_string.format import RAW_STRING

if TYPE_CHECKING:
    from engine.formats.base import Decoder, Encoder
    from engine.formats.schema_registry import Subject
    from engine.schema import Schema

FORMATS: tuple[Format, ...] = (JSON, DEBEZIUM_JSON, RAW_STRING, RAW_BYTES, AVRO, PROTOBUF, PARQUET, CSV)


def find_format(name: str) -> Format:
    """The format of that name, which must exist."""
    return next(form for form in FORMATS if form.name == name)


def make_decoder(options: FormatOptions, schema: Schema, subject: Subject | None = None) -> Decoder:
    """Return the decoder that turns records of a format into rows of `schema`. `subject` is the name of the records in
    a schema registry, if there is one."""
    make = find_format(options.format).decoder
    if make is None:
        raise TypeError(f"{options.format} is not read record by record")
    return make(options, schema, subject)


def make_encoder(options: FormatOptions, schema: Schema, subject: Subject | None = None) -> Encoder:
    """Return the encoder that turns rows of `schema` into records of a format."""
    make = find_format(options.format).encoder
    if make is None:
        raise TypeError(f"{options.format} is not written record by record")
    return make(options, schema, subject)
