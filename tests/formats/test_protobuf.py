"""Protobuf messages, by a file of descriptors that is made here."""

from __future__ import annotations

from base64 import b64decode
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, duration_pb2, message_factory, timestamp_pb2, wrappers_pb2

from engine import types
from engine.errors import InvalidValueError, OptionValueError
from engine.formats import make_decoder, make_encoder
from engine.formats.protobuf.messages import ProtobufOptions
from engine.schema import Field, Schema, arrow_schema
from tests.formats.memory_registry import MemoryRegistry

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


AT = datetime(1969, 12, 31, 23, 59, 59, 250_000, tzinfo=UTC)


@pytest.fixture
def descriptors(tmp_path: Path) -> Path:
    proto = descriptor_pb2.FileDescriptorProto(
        name="shop.proto",
        package="shop",
        syntax="proto3",
        dependency=[f"google/protobuf/{name}.proto" for name in ("timestamp", "duration", "wrappers")],
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
    order.oneof_decl.add(name="paid")
    order.oneof_decl.add(name="_maybe")

    def add(
        name: str, number: int, of: Any, called: str | None = None, label: Any = kind.LABEL_OPTIONAL, **more: Any
    ) -> None:
        order.field.add(name=name, number=number, type=of, type_name=called, label=label, **more)

    add("id", 1, kind.TYPE_INT64)
    add("size", 2, kind.TYPE_ENUM, ".shop.Size")
    add("at", 3, kind.TYPE_MESSAGE, ".google.protobuf.Timestamp")
    add("note", 4, kind.TYPE_MESSAGE, ".google.protobuf.StringValue")
    add("maybe", 5, kind.TYPE_STRING, oneof_index=1, proto3_optional=True)
    add("lines", 6, kind.TYPE_MESSAGE, ".shop.Line", kind.LABEL_REPEATED)
    add("tags", 7, kind.TYPE_MESSAGE, ".shop.Order.TagsEntry", kind.LABEL_REPEATED)
    add("raw", 8, kind.TYPE_BYTES)
    add("card", 9, kind.TYPE_STRING, oneof_index=0)
    add("cash", 10, kind.TYPE_BOOL, oneof_index=0)
    for number, of in enumerate(("INT32", "UINT32", "SINT64", "FIXED64", "FLOAT", "DOUBLE"), 11):
        add(f"f_{of.lower()}", number, getattr(kind, f"TYPE_{of}"))
    add("f_micros", 17, kind.TYPE_SFIXED64)
    add("lasts", 18, kind.TYPE_MESSAGE, ".google.protobuf.Duration")
    add("sizes", 19, kind.TYPE_ENUM, ".shop.Size", kind.LABEL_REPEATED)
    add("Count", 20, kind.TYPE_MESSAGE, ".google.protobuf.Int64Value")
    proto.message_type.add(name="Offer").nested_type.add(name="Part").field.add(
        name="n", number=1, type=kind.TYPE_INT64, label=kind.LABEL_OPTIONAL
    )
    files = descriptor_pb2.FileDescriptorSet()
    for module in (timestamp_pb2, duration_pb2, wrappers_pb2):
        files.file.add().ParseFromString(module.DESCRIPTOR.serialized_pb)
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


def test_prefix_of_a_message_is_skipped(descriptors: Path) -> None:
    payload = order(descriptors, id=7)

    first = decode(descriptors, b"\0\0\0\0\1\0" + payload, confluent_schema_registry=True)
    nested = decode(descriptors, b"\0\0\0\0\1\x04\x02\x00" + payload, confluent_schema_registry=True)
    measured = decode(descriptors, bytes([len(payload)]) + payload, length_delimited=True)

    assert [decoded.rows.to_pylist()[0]["id"] for decoded in (first, nested, measured)] == [7, 7, 7]


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
def test_bytes_that_are_no_message_are_reported(descriptors: Path, payload: bytes, way: dict[str, bool]) -> None:
    (bad,) = decode(descriptors, payload, **way).bad

    assert bad.raw == payload
    assert "not a message shop.Order" in bad.reason


def test_a_file_that_is_none_and_a_message_that_is_not_there_are_refused(descriptors: Path) -> None:
    with pytest.raises(OptionValueError, match=r"has no message 'shop\.Bid'") as refused:
        make_decoder(ProtobufOptions(descriptor=descriptors, message="shop.Bid"), COLUMNS)
    assert "shop.Order" in str(refused.value.hint)
    (descriptors.parent / "text").write_text("root:x:0:0")
    for path in (descriptors.parent / "text", descriptors.parent / "nothing"):
        with pytest.raises(OptionValueError, match="cannot be read as a file of descriptors") as refused:
            make_decoder(ProtobufOptions(descriptor=path, message="shop.Order"), COLUMNS)
        assert "root:" not in str(refused.value)


def columns(**kinds: types.Type) -> Schema:
    return Schema(tuple(Field(name, kind) for name, kind in kinds.items()))


WRITTEN = columns(
    id=types.BIGINT,
    size=types.TEXT,
    at=types.TIMESTAMP,
    note=types.TEXT,
    maybe=types.TEXT,
    lines=types.Array(types.Struct((types.Member("SKU", types.TEXT), types.Member("n", types.INT)))),
    raw=types.Bytes(),
    cash=types.BOOLEAN,
    f_int32=types.Integer(16, signed=False),
    f_uint32=types.Integer(32, signed=False),
    f_sint64=types.Integer(32, signed=False),
    f_fixed64=types.Integer(64, signed=False),
    f_float=types.Float(32),
    f_double=types.Float(32),
    f_micros=types.TIMESTAMP,
    lasts=types.Interval(),
    sizes=types.Array(types.TEXT),
    count=types.BIGINT,
)
FULL = {
    "id": -(1 << 63),
    "size": "L",
    "at": AT,
    "note": "",
    "maybe": "",
    "lines": [{"SKU": "a", "n": -1}, {"SKU": "b", "n": 2}],
    "raw": b"\0\xff",
    "cash": False,
    "f_int32": 65535,
    "f_uint32": (1 << 32) - 1,
    "f_sint64": 7,
    "f_fixed64": (1 << 63) - 1,
    "f_float": 0.25,
    "f_double": -0.5,
    "f_micros": AT,
    "lasts": timedelta(seconds=-1, microseconds=-250_000),
    "sizes": ["L", "S"],
    "count": 0,
}
UNSET = {
    "id": 0,
    "size": "S",
    "raw": b"",
    "lines": [],
    "sizes": [],
    **dict.fromkeys(("f_int32", "f_uint32", "f_sint64", "f_fixed64"), 0),
    **dict.fromkeys(("f_float", "f_double"), 0.0),
    "f_micros": datetime.fromtimestamp(0, UTC),
}
"""What readers see of fields that were not set, where those cannot be told from set ones."""


def encode(
    descriptors: Path, schema: Schema, *rows: dict[str, object], registry: MemoryRegistry | None = None, **way: Any
) -> Any:
    options = ProtobufOptions(descriptor=descriptors, **{"message": "shop.Order", **way})
    batch = pa.RecordBatch.from_pylist(list(rows), schema=arrow_schema(schema))
    return make_encoder(options, schema, registry).encode_messages(batch)


@pytest.mark.parametrize("way", [{}, {"length_delimited": True}, {"confluent_schema_registry": True}])
def test_protobuf_round_trip_preserves_rows(descriptors: Path, way: dict[str, bool]) -> None:
    payloads = encode(descriptors, WRITTEN, FULL, {}, registry=MemoryRegistry(), **way)

    options = ProtobufOptions(descriptor=descriptors, message="shop.Order", **way)
    decoded = make_decoder(options, WRITTEN).decode_messages(payloads)

    assert decoded.bad == []
    assert decoded.rows.to_pylist() == [FULL, dict.fromkeys(WRITTEN.names) | UNSET]


def test_a_message_is_what_protobuf_itself_makes_of_it(descriptors: Path) -> None:
    schema = columns(id=types.BIGINT, size=types.TEXT, at=types.TIMESTAMP, note=types.TEXT, lasts=types.Interval())
    row = {"id": 7, "size": "L", "at": AT, "note": "x", "lasts": timedelta(seconds=-1, microseconds=-5)}

    (payload,) = encode(descriptors, schema, row).to_pylist()

    assert payload == order(
        descriptors,
        id=7,
        size="L",
        at={"seconds": -1, "nanos": 250_000_000},
        note={"value": "x"},
        lasts={"seconds": -1, "nanos": -5000},
    )


def test_exact_numbers_and_json_are_text(descriptors: Path) -> None:
    schema = columns(note=types.Decimal(20, 2), maybe=types.JSON)

    (payload,) = encode(descriptors, schema, {"note": Decimal("-12345678901234567.50"), "maybe": "{}"}).to_pylist()

    assert payload == order(descriptors, note={"value": "-12345678901234567.50"}, maybe="{}")
    options = ProtobufOptions(descriptor=descriptors, message="shop.Order")
    decoded = make_decoder(options, schema).decode_messages(
        pa.array([payload, order(descriptors, note={"value": "x"})])
    )
    assert decoded.rows.column("note").to_pylist() == [Decimal("-12345678901234567.50")]
    assert decoded.bad[0].reason == "column 'note': expected DECIMAL(20, 2), found \"x\""


@pytest.mark.parametrize(
    ("message", "column", "place"),
    [("shop.Order", "id", b"\x02\x02"), ("shop.Line", "n", b"\0"), ("shop.Offer.Part", "n", b"\x04\x04\x00")],
)
def test_a_registry_is_told_the_file_and_a_record_the_place(
    descriptors: Path, message: str, column: str, place: bytes
) -> None:
    registry = MemoryRegistry()

    (payload,) = encode(
        descriptors,
        columns(**{column: types.INT}),
        {},
        registry=registry,
        message=message,
        confluent_schema_registry=True,
    )

    assert payload.as_py() == b"\0\0\0\1\2" + place
    ((subject, kind, text),) = registry.registrations
    assert (subject, kind) == ("orders-value", "PROTOBUF")
    assert descriptor_pb2.FileDescriptorProto.FromString(b64decode(text)).name == "shop.proto"


def test_a_file_that_imports_others_is_not_registered(tmp_path: Path) -> None:
    base = descriptor_pb2.FileDescriptorProto(name="base.proto", syntax="proto3")
    file = descriptor_pb2.FileDescriptorProto(name="a.proto", syntax="proto3", dependency=["base.proto"])
    file.message_type.add(name="A")
    path = tmp_path / "a.desc"
    path.write_bytes(descriptor_pb2.FileDescriptorSet(file=[base, file]).SerializeToString())

    with pytest.raises(OptionValueError, match=r"imports base\.proto"):
        encode(path, Schema(()), registry=MemoryRegistry(), message="A", confluent_schema_registry=True)


@pytest.mark.parametrize(
    ("name", "kind", "hint"),
    [
        ("id", types.TEXT, "int64"),
        ("f_int32", types.BIGINT, "int32"),
        ("f_int32", types.Integer(32, signed=False), "int32"),
        ("f_uint32", types.INT, "uint32"),
        ("f_float", types.DOUBLE, "float"),
        ("f_double", types.BIGINT, "double"),
        ("size", types.BIGINT, "shop.Size, whose values are written as TEXT"),
        ("lines", types.TEXT, "repeated shop.Line"),
        ("maybe", types.Array(types.TEXT), "string"),
        ("tags", types.JSON, "a map"),
        ("at", types.Date(), "google.protobuf.Timestamp"),
        ("raw", types.TEXT, "bytes"),
    ],
)
def test_a_column_that_its_field_does_not_take_is_refused(
    descriptors: Path, name: str, kind: types.Type, hint: str
) -> None:
    with pytest.raises(OptionValueError, match=f"field '{name}' of message shop.Order cannot hold") as refused:
        encode(descriptors, columns(**{name: kind}), {name: None})
    assert hint in str(refused.value.hint)


def test_an_unsigned_column_of_64_bits_fits_where_63_do(descriptors: Path) -> None:
    schema = columns(id=types.Integer(64, signed=False))

    assert encode(descriptors, schema, {"id": (1 << 63) - 1}).to_pylist() == [order(descriptors, id=(1 << 63) - 1)]


def test_a_column_without_a_field_is_refused(descriptors: Path) -> None:
    inner = types.Array(types.Struct((types.Member("what", types.TEXT),)))
    for schema, name in ((columns(what=types.TEXT), "shop.Order"), (columns(lines=inner), "shop.Line")):
        with pytest.raises(OptionValueError, match=f"message {name} has no field for column 'what'"):
            encode(descriptors, schema, {})


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"size": "XL"}, "enum shop.Size has no value 'XL'"),
        ({"sizes": ["S", None]}, "list for field 'sizes' contains NULL"),
        ({"card": "1", "cash": False}, "fields 'card' and 'cash' cannot both have a value"),
    ],
)
def test_a_value_that_no_message_holds_is_reported(descriptors: Path, row: dict[str, object], message: str) -> None:
    schema = columns(size=types.TEXT, sizes=types.Array(types.TEXT), card=types.TEXT, cash=types.BOOLEAN)

    with pytest.raises(InvalidValueError, match=message):
        encode(descriptors, schema, row)


def test_a_required_field_without_a_value_is_reported(tmp_path: Path) -> None:
    file = descriptor_pb2.FileDescriptorProto(name="old.proto", syntax="proto2")
    kind = descriptor_pb2.FieldDescriptorProto
    file.message_type.add(name="A").field.add(name="n", number=1, type=kind.TYPE_INT64, label=kind.LABEL_REQUIRED)
    path = tmp_path / "old.desc"
    path.write_bytes(descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString())

    with pytest.raises(InvalidValueError, match="a row is not a message A"):
        encode(path, columns(n=types.BIGINT), {"n": None}, message="A")
