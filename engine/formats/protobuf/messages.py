"""Messages in a file of descriptors."""

from __future__ import annotations

from typing import Any

from engine.errors import MissingPackageError, OptionValueError
from engine.formats.protobuf.options import ProtobufOptions

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
    """The class of the message that the options name."""
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
    """The name of a field's type in a `.proto` file, such as `int64`."""
    return str(descriptor_pb2.FieldDescriptorProto.Type.Name(kind)).removeprefix("TYPE_").lower()


def is_map(field: Any) -> bool:
    """Whether a field is a map, which is a list of messages on the wire."""
    return field.message_type is not None and field.message_type.GetOptions().map_entry
