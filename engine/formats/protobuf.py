"""Protobuf: its options, and what makes its two directions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from engine.formats.base import Format, FormatOptions

if TYPE_CHECKING:
    from engine.formats.base import Decoder, Encoder
    from engine.formats.registry import Subject
    from engine.schema import Schema


class ProtobufOptions(FormatOptions):
    """Which message a record is."""

    format: str = Field("protobuf", description="`protobuf`.")
    descriptor: Path = Field(
        alias="protobuf.descriptor",
        description="File of descriptors, as `protoc --include_imports --descriptor_set_out=FILE` writes it; every "
        "worker must be able to read it.",
    )
    message: str = Field(alias="protobuf.message", description="The full name of the message, such as `shop.Order`.")
    confluent_schema_registry: bool = Field(
        False,
        alias="protobuf.confluent_schema_registry",
        description="Records start with a registry's five bytes and the place of their message. A source passes over "
        "them; a sink registers the file that has the message, which may import none but Google's own.",
    )
    length_delimited: bool = Field(
        False, alias="protobuf.length_delimited", description="Each message has its length before it."
    )


def _decoder(options: FormatOptions, schema: Schema, subject: Subject | None) -> Decoder:
    from engine.formats.protobuf_decode import ProtobufDecoder  # noqa: PLC0415 - `arroyo check` must not pay for Arrow

    assert isinstance(options, ProtobufOptions)
    return ProtobufDecoder(options, schema)


def _encoder(options: FormatOptions, schema: Schema, subject: Subject | None) -> Encoder:
    from engine.formats.protobuf_encode import ProtobufEncoder  # noqa: PLC0415 - see `_decoder`

    assert isinstance(options, ProtobufOptions)
    return ProtobufEncoder(options, schema, subject)


PROTOBUF = Format(
    name="protobuf",
    summary="A Protobuf message to a row, by a file of compiled descriptors. Fields are found by the names of columns; "
    "NULL is a field that is not set.",
    prefix="protobuf",
    options=ProtobufOptions,
    decoder=_decoder,
    encoder=_encoder,
)
