"""Options of Protobuf."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from pydantic import Field, PrivateAttr

from engine.formats.base import FormatOptions


class ProtobufOptions(FormatOptions):
    """Message type of a record."""

    format: str = Field("protobuf", description="`protobuf`.")
    descriptor: Path = Field(
        alias="protobuf.descriptor",
        description="The file of descriptors, as `protoc --include_imports --descriptor_set_out=FILE` writes it. The "
        "driver reads it when a run starts.",
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
    _content: bytes | None = PrivateAttr(None)

    def with_files(self) -> ProtobufOptions:
        """Return the options with the descriptors in them: a task may see another disk. Those of a file that cannot be
        read are missing."""
        copy = self.model_copy()
        with suppress(OSError):
            copy._content = self.descriptor_bytes()  # noqa: SLF001 - its own
        return copy

    def descriptor_bytes(self) -> bytes:
        """Return the descriptors."""
        return self.descriptor.read_bytes() if self._content is None else self._content
