"""Protobuf messages, by a file of descriptors that is made here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2, wrappers_pb2

from engine import types
from engine.errors import OptionValueError
from engine.formats import make_decoder
from engine.formats.protobuf import ProtobufOptions
from engine.schema import Field, Schema

COLUMNS = Schema(
    (
        Field("id", types.BIGINT, nullable=False),
        Field("size", types.TEXT),
        Field("at", types.TIMESTAMP),
        Field("note", types.TEXT),
        Field("maybe", types.TEXT),
        Field("lines", types.Array(types.Struct((types.Member("sku", types.TEXT), types.Member("n", types.INT))))),
        Field("tags", types.JSON),
        Field("raw", types.Bytes()),
    )
)


@pytest.fixture
def descriptors(tmp_path: Path) -> Path:
    proto = descriptor_pb2.FileDescriptorProto(
        name="shop.proto",
        package="shop",
        syntax="proto3",
        dependency=["google/protobuf/timestamp.proto", "google/protobuf/wrappers.proto"],
    )
    kind = descriptor_pb2.FieldDescriptorProto
    proto.enum_type.add(name="Size").value.extend(
        [descriptor_pb2.EnumValueDescriptorProto(name=name, number=number) for number, name in enumerate(("S", "L"))]
    )
    line = proto.message_type.add(name="Line")
    line.field.add(name="sku", number=1, type=kind.TYPE_STRING, label=kind.LABEL_OPTIONAL)
    line.field.add(name="n", number=2, type=kind.TYPE_INT32, label=kind.LABEL_OPTIONAL)
    order = proto.message_type.add(name="Order")
    entry = order.nested_type.add(name="TagsEntry")
    entry.options.map_entry = True
    for number, name in enumerate(("key", "value"), 1):
        entry.field.add(name=name, number=number, type=kind.TYPE_STRING, label=kind.LABEL_OPTIONAL)
    order.oneof_decl.add(name="_maybe")

    def add(
        name: str, number: int, of: Any, called: str | None = None, label: Any = kind.LABEL_OPTIONAL, **more: Any
    ) -> None:
        order.field.add(name=name, number=number, type=of, type_name=called, label=label, **more)

    add("id", 1, kind.TYPE_INT64)
    add("size", 2, kind.TYPE_ENUM, ".shop.Size")
    add("at", 3, kind.TYPE_MESSAGE, ".google.protobuf.Timestamp")
    add("note", 4, kind.TYPE_MESSAGE, ".google.protobuf.StringValue")
    add("maybe", 5, kind.TYPE_STRING, oneof_index=0, proto3_optional=True)
    add("lines", 6, kind.TYPE_MESSAGE, ".shop.Line", kind.LABEL_REPEATED)
    add("tags", 7, kind.TYPE_MESSAGE, ".shop.Order.TagsEntry", kind.LABEL_REPEATED)
    add("raw", 8, kind.TYPE_BYTES)
    files = descriptor_pb2.FileDescriptorSet()
    for known in (timestamp_pb2, wrappers_pb2):
        files.file.add().ParseFromString(known.DESCRIPTOR.serialized_pb)
    files.file.append(proto)
    path = tmp_path / "shop.desc"
    path.write_bytes(files.SerializeToString())
    return path


def order(descriptors: Path, **fields: Any) -> bytes:
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(descriptors.read_bytes()).file:
        pool.Add(file)
    make = message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))
    return bytes(make(**fields).SerializeToString())


def decode(descriptors: Path, *payloads: bytes | None, **way: bool) -> Any:
    options = ProtobufOptions(descriptor=descriptors, message="shop.Order", **way)
    return make_decoder(options, COLUMNS).decode_messages(pa.array(payloads, pa.binary()))


def test_every_kind_of_field_is_read(descriptors: Path) -> None:
    payload = order(
        descriptors,
        id=7,
        size=1,
        at={"seconds": 1, "nanos": 2500},
        note={"value": ""},
        maybe="",
        lines=[{"sku": "a", "n": 2}, {}],
        tags={"k": "v"},
        raw=b"\xff",
    )

    decoded = decode(descriptors, payload, None, order(descriptors, id=8))

    first, second = decoded.rows.to_pylist()
    assert decoded.origin.to_pylist() == [0, 2]
    assert (first["id"], first["size"], first["at"].microsecond, first["note"], first["maybe"]) == (7, "L", 2, "", "")
    assert first["lines"] == [{"sku": "a", "n": 2}, {"sku": "", "n": 0}]
    assert (first["tags"], first["raw"]) == ('{"k":"v"}', b"\xff")
    assert (second["size"], second["at"], second["note"], second["maybe"], second["lines"]) == (
        "S",
        None,
        None,
        None,
        [],
    )


def test_what_stands_before_a_message_is_passed_over(descriptors: Path) -> None:
    payload = order(descriptors, id=7)

    first = decode(descriptors, b"\0\0\0\0\1\0" + payload, confluent_schema_registry=True)
    nested = decode(descriptors, b"\0\0\0\0\1\x04\x02\x00" + payload, confluent_schema_registry=True)
    measured = decode(descriptors, bytes([len(payload)]) + payload, length_delimited=True)

    assert [one.rows.to_pylist()[0]["id"] for one in (first, nested, measured)] == [7, 7, 7]


@pytest.mark.parametrize(
    ("payload", "way"),
    [
        (b"\xff\xff", {}),
        (b"", {"confluent_schema_registry": True}),
        (b"\0\0\0\0\1", {"confluent_schema_registry": True}),
        (b"\x05\x08\x07", {"length_delimited": True}),
        (b"\xff" * 12, {"length_delimited": True}),
    ],
)
def test_bytes_that_are_no_message_are_told(descriptors: Path, payload: bytes, way: dict[str, bool]) -> None:
    (bad,) = decode(descriptors, payload, **way).bad

    assert bad.raw == payload
    assert "no message shop.Order" in bad.reason


def test_a_file_that_is_none_and_a_message_that_is_not_there_are_refused(descriptors: Path) -> None:
    with pytest.raises(OptionValueError, match=r"has no message 'shop\.Offer'") as refused:
        make_decoder(ProtobufOptions(descriptor=descriptors, message="shop.Offer"), COLUMNS)
    assert "shop.Order" in str(refused.value.hint)
    (descriptors.parent / "text").write_text("root:x:0:0")
    for path in (descriptors.parent / "text", descriptors.parent / "nothing"):
        with pytest.raises(OptionValueError, match="cannot be read as a file of descriptors") as refused:
            make_decoder(ProtobufOptions(descriptor=path, message="shop.Order"), COLUMNS)
        assert "root:" not in str(refused.value)
