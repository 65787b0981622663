"""How rows are written as protobuf."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from engine.formats.base import FormatOptions


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
