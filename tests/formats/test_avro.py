"""Avro records: bare, in containers, and with a registry; what is written is read again, and what is bad is told."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from io import BytesIO

import fastavro
import pyarrow as pa
import pytest

from engine import types
from engine.errors import OptionValueError
from engine.formats import make_decoder, make_encoder
from engine.formats.avro.options import AvroOptions
from engine.formats.avro.schema import avro_schema
from engine.schema import Field, Schema, arrow_schema
from tests.formats.memory_registry import MemoryRegistry

ALL = Schema(
    (
        Field("n", types.BIGINT, nullable=False),
        Field("small", types.Integer(16)),
        Field("u", types.Integer(32, signed=False)),
        Field("d", types.DOUBLE),
        Field("x", types.Decimal(12, 3)),
        Field("b", types.BOOLEAN),
        Field("t", types.TEXT),
        Field("raw", types.Bytes()),
        Field("at", types.TIMESTAMP),
        Field("day", types.Date()),
        Field("took", types.Interval()),
        Field("st", types.Struct((types.Member("a", types.TEXT), types.Member("deep", types.Array(types.INT))))),
        Field("xs", types.Array(types.TEXT)),
    )
)
ROW = {
    "n": 1,
    "small": -3,
    "u": 4_000_000_000,
    "d": 0.5,
    "x": Decimal("-12.345"),
    "b": True,
    "t": "ä",
    "raw": b"\0\xff",
    "at": datetime(2024, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
    "day": date(2024, 2, 29),
    "took": timedelta(seconds=1, microseconds=5),
    "st": {"a": None, "deep": [1, None]},
    "xs": ["a", None],
}
EMPTY = dict.fromkeys(ROW) | {"n": 2}
PLAIN = Schema((Field("n", types.BIGINT, nullable=False), Field("t", types.TEXT)))


def batch(schema: Schema, *rows: dict[str, object]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(list(rows), schema=arrow_schema(schema))


def write(schema: dict[str, object], record: object) -> bytes:
    buffer = BytesIO()
    fastavro.schemaless_writer(buffer, fastavro.parse_schema(schema), record)
    return buffer.getvalue()


@pytest.mark.parametrize("way", [{}, {"raw_datums": True}, {"confluent_schema_registry": True}])
def test_avro_round_trip_preserves_rows(way: dict[str, bool]) -> None:
    options, registry = AvroOptions(**way), MemoryRegistry()
    rows = batch(ALL, ROW, EMPTY)

    payloads = make_encoder(options, ALL, registry).encode_messages(rows)
    decoded = make_decoder(options, ALL, registry).decode_messages(payloads)

    assert decoded.bad == []
    assert decoded.rows.to_pylist() == rows.to_pylist()
    if "confluent_schema_registry" in way:
        assert payloads[0].as_py()[:5] == b"\0\0\0\1\2"
        assert registry.registrations == [("orders-value", "AVRO", registry.schemas[258])]


def test_records_are_read_with_the_schema_that_they_were_written_with() -> None:
    old = {"type": "record", "name": "R", "fields": [{"name": "N", "type": "int"}]}
    kind = {"type": "enum", "name": "E", "symbols": ["big", "little"]}
    new = {"type": "record", "name": "R", "fields": [{"name": "t", "type": kind}, {"name": "n", "type": "long"}]}
    registry = MemoryRegistry({1: json.dumps(old), 2: json.dumps(new)})
    payloads = [b"\0\0\0\0\1" + write(old, {"N": 7}), None, b"\0\0\0\0\2" + write(new, {"n": 8, "t": "big"})]

    decoder = make_decoder(AvroOptions(confluent_schema_registry=True), PLAIN, registry)
    decoded = decoder.decode_messages(pa.array(payloads, pa.binary()))

    assert decoded.rows.to_pylist() == [{"n": 7, "t": None}, {"n": 8, "t": "big"}]
    assert decoded.origin is not None
    assert decoded.origin.to_pylist() == [0, 2]


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"\1\0\0\0\1", "five bytes"),
        (b"\0\0", "five bytes"),
        (b"\0\0\0\0\1", "not an Avro record"),
        (b"\0\0\0\0\1\x02\x02\x02a and more", "more bytes follow"),
    ],
)
def test_bytes_that_are_no_record_are_reported_and_hide_no_other(payload: bytes, reason: str) -> None:
    schema = avro_schema(PLAIN)
    registry = MemoryRegistry({1: json.dumps(schema)})
    good = b"\0\0\0\0\1" + write(schema, {"n": 1, "t": "a"})

    decoder = make_decoder(AvroOptions(confluent_schema_registry=True), PLAIN, registry)
    decoded = decoder.decode_messages(pa.array([payload, good], pa.binary()))

    assert decoded.rows.num_rows == 1
    (bad,) = decoded.bad
    assert (bad.index, bad.raw) == (0, payload)
    assert reason in bad.reason


def test_a_value_of_another_type_is_reported_with_its_column() -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "n", "type": ["null", "string"]}]}
    options = AvroOptions(raw_datums=True, avro_schema=json.dumps(schema))
    payloads = [write(schema, {"n": "seven"}), write(schema, {"n": None})]

    bad = make_decoder(options, PLAIN).decode_messages(pa.array(payloads, pa.binary())).bad

    assert [record.reason for record in bad] == [
        "column 'n': expected BIGINT, found \"seven\"",
        "column 'n' is NOT NULL",
    ]


def test_a_whole_record_becomes_json() -> None:
    value = Schema((Field("value", types.JSON),))
    payloads = make_encoder(AvroOptions(), ALL).encode_messages(batch(ALL, ROW))

    decoded = make_decoder(AvroOptions(into_unstructured_json=True), value).decode_messages(payloads)

    document = json.loads(decoded.rows.to_pylist()[0]["value"])
    assert (document["at"], document["raw"], document["x"]) == ("2024-01-02T03:04:05.678901Z", "AP8=", -12.345)


def test_a_container_may_hold_several_records() -> None:
    buffer = BytesIO()
    fastavro.writer(buffer, fastavro.parse_schema(avro_schema(PLAIN)), [{"n": n, "t": None} for n in range(3)])

    decoded = make_decoder(AvroOptions(), PLAIN).decode_messages(pa.array([None, buffer.getvalue()], pa.binary()))

    assert [row["n"] for row in decoded.rows.to_pylist()] == [0, 1, 2]
    assert decoded.origin is not None
    assert decoded.origin.to_pylist() == [1, 1, 1]


def test_a_schema_that_is_none_is_refused() -> None:
    with pytest.raises(OptionValueError, match="the Avro schema is not valid"):
        make_encoder(AvroOptions(avro_schema='{"type": "record", "name": "R", "fields": 5}'), PLAIN)
    for text in ("{", '"string"', '["null"]'):
        with pytest.raises(ValueError, match="record"):
            AvroOptions(avro_schema=text)
