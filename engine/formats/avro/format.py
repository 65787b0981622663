"""Declaration of Avro: its options, decoder and encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from engine.formats.avro.options import AvroOptions
from engine.formats.base import Format, FormatOptions, RecordKind

if TYPE_CHECKING:
    from engine.formats.base import Decoder, Encoder
    from engine.formats.schema_registry import Subject
    from engine.schema import Schema


def _check(
    options: FormatOptions, schema: Schema, direction: Literal["source", "sink", "lookup"], connector: str
) -> str | None:
    assert isinstance(options, AvroOptions)
    if not options.into_unstructured_json:
        return None
    if direction == "sink":
        return "'avro.into_unstructured_json' is only supported for sources"
    if [(field.name, str(field.type)) for field in schema] != [("value", "JSON")]:
        return "'avro.into_unstructured_json' requires a schema with a single field called `value` of type JSON"
    return None


def _decoder(options: FormatOptions, schema: Schema, subject: Subject | None) -> Decoder:
    from engine.formats.avro.decode import AvroDecoder  # noqa: PLC0415 - `arroyo check` must not pay for Arrow

    assert isinstance(options, AvroOptions)
    return AvroDecoder(options, schema, subject)


def _encoder(options: FormatOptions, schema: Schema, subject: Subject | None) -> Encoder:
    from engine.formats.avro.encode import AvroEncoder  # noqa: PLC0415 - see `_decoder`

    assert isinstance(options, AvroOptions)
    return AvroEncoder(options, schema, subject)


AVRO = Format(
    name="avro",
    summary="One Avro record per row: with a schema registry, as bare values, or as object containers.",
    prefix="avro",
    options=AvroOptions,
    records=RecordKind.BYTES,
    decoder=_decoder,
    encoder=_encoder,
    check=_check,
)
