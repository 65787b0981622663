"""Declaration of Protobuf: its options, decoder and encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.formats.base import Format, FormatOptions, RecordKind
from engine.formats.protobuf.messages import ProtobufOptions

if TYPE_CHECKING:
    from engine.formats.base import Decoder, Encoder
    from engine.formats.schema_registry import Subject
    from engine.schema import Schema


def _decoder(options: FormatOptions, schema: Schema, subject: Subject | None) -> Decoder:
    from engine.formats.protobuf.decode import ProtobufDecoder  # noqa: PLC0415 - `arroyo check` must not pay for Arrow

    assert isinstance(options, ProtobufOptions)
    return ProtobufDecoder(options, schema)


def _encoder(options: FormatOptions, schema: Schema, subject: Subject | None) -> Encoder:
    from engine.formats.protobuf.encode import ProtobufEncoder  # noqa: PLC0415 - see `_decoder`

    assert isinstance(options, ProtobufOptions)
    return ProtobufEncoder(options, schema, subject)


PROTOBUF = Format(
    name="protobuf",
    summary="One Protobuf message per row, by a file of compiled descriptors. Fields are found by column name; "
    "NULL is a field that is not set.",
    prefix="protobuf",
    options=ProtobufOptions,
    records=RecordKind.BYTES,
    decoder=_decoder,
    encoder=_encoder,
)
