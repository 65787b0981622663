"""The options of Protobuf."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from engine.formats.base import FormatOptions


class ProtobufOptions(FormatOptions):
    """Which message a record is."""

    format: str = Field("protobuf", description="`protobuf`.")
    descriptor: Path = Field(
        alias="protobuf.descriptor",
        description="The file of descriptors, as `protoc --include_imports --descriptor_set_out=FILE` writes it; every "
        "worker must be able to read it.",
    )
    message: str = Field(alias="protobuf.message", description="The full name of the message, such as `shop.Order`.")
    confluent_schema_registry: bool = Field(
        False,
        alias="protobuf.confluent_schema_registry",
        description="Whether records begin with the five bytes of a schema registry and the path of their message. A "
        "source skips them; a sink registers the file of the message, which may import only Google's own files.",
    )
    length_delimited: bool = Field(
        False, alias="protobuf.length_delimited", description="Whether each message follows its length."
    )
