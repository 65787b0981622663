"""Messages in a file of descriptors."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import Field, PrivateAttr

from engine.errors import MissingPackageError, OptionValueError
from engine.formats.base import FormatOptions

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory
    from google.protobuf.descriptor import FieldDescriptor
except ImportError as missing:
    raise MissingPackageError(
        "format 'protobuf' needs the Python package protobuf",
        hint="pip install 'airflow-provider-arroyo[protobuf]'",
    ) from missing

__all__ = ["LENGTH", "TIME", "WRAPPERS", "FieldDescriptor", "is_map", "message", "message_class", "type_name"]

TIME = "google.protobuf.Timestamp"
LENGTH = "google.protobuf.Duration"
WRAPPERS = frozenset(
    f"google.protobuf.{kind}Value"
    for kind in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
"""Wrapper messages around one value, which distinguish an unset value from the default."""


def message_class(options: ProtobufOptions) -> Any:
    """Return the message class that the options name."""
    pool = descriptor_pool.DescriptorPool()
    try:
        files = descriptor_pb2.FileDescriptorSet.FromString(options.descriptor_bytes())
        for file in files.file:
            pool.Add(file)
    except (OSError, TypeError, message.DecodeError) as error:
        raise OptionValueError(
            f"{options.descriptor} cannot be read as a file of descriptors: {type(error).__name__}",
            hint="write it with protoc --include_imports --descriptor_set_out=FILE",
        ) from error
    try:
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(options.message))
    except KeyError as error:
        names = sorted(f"{file.package}.{kind.name}".lstrip(".") for file in files.file for kind in file.message_type)
        raise OptionValueError(
            f"{options.descriptor} has no message {options.message!r}", hint=f"it has {', '.join(names[:20])}"
        ) from error


def type_name(kind: int) -> str:
    """Return the name of a field's type in a `.proto` file, such as `int64`."""
    return str(descriptor_pb2.FieldDescriptorProto.Type.Name(kind)).removeprefix("TYPE_").lower()


def is_map(field: Any) -> bool:
    """Whether a field is a map, which is a list of messages on the wire."""
    return field.message_type is not None and field.message_type.GetOptions().map_entry


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
        """Return the options with the descriptors in them: a task may see another disk. The descriptors of an
        unreadable file are missing."""
        copy = self.model_copy()
        with suppress(OSError):
            copy._content = self.descriptor_bytes()  # noqa: SLF001 - its own
        return copy

    def descriptor_bytes(self) -> bytes:
        """Return the descriptors."""
        return self.descriptor.read_bytes() if self._content is None else self._content
