"""Registry of formats: each is a value in `FORMATS`; they convert between bytes and Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.formats.avro.format import AVRO
from engine.formats.base import Format, FormatOptions
from engine.formats.checked_columns import CheckingDecoder
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
    """Return the format of that name, which must exist."""
    return next(form for form in FORMATS if form.name == name)


def make_decoder(
    options: FormatOptions, schema: Schema, subject: Subject | None = None, declared: Schema | None = None
) -> Decoder:
    """Return a decoder of a format's records into rows of `schema`.

    A record that does not fit every column of `declared` is bad, if that is given. `subject` is the subject of the
    records in a registry, if they have one."""
    make = find_format(options.format).decoder
    if make is None:
        raise TypeError(f"{options.format} is not read record by record")
    if declared is None or declared.names == schema.names:
        return make(options, schema, subject)
    check = find_format(options.format).checking_decoder
    if check is not None:
        return check(options, schema, declared)
    return CheckingDecoder(make(options, declared, subject), [n for n in declared.names if n not in schema.names])


def make_encoder(options: FormatOptions, schema: Schema, subject: Subject | None = None) -> Encoder:
    """Return the encoder that turns rows of `schema` into records of a format."""
    make = find_format(options.format).encoder
    if make is None:
        raise TypeError(f"{options.format} is not written record by record")
    return make(options, schema, subject)
