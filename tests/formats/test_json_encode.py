from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

from engine import types
from engine.formats import make_encoder
from engine.formats.json.encode import connect_fields
from engine.formats.json.options import JsonOptions
from engine.schema import Field, Schema, to_arrow
from engine.types import BIGINT, BOOLEAN, DOUBLE, TEXT, TIMESTAMP, Array, Member, Struct

PLAIN = JsonOptions()


def encoded(kind: types.Type, value: object, options: JsonOptions = PLAIN) -> str:
    """How a value stands in its line; a NULL beside it keeps the column from being all NULL."""
    schema = Schema((Field("x", kind),))
    rows = pa.RecordBatch.from_arrays([pa.array([value, None], to_arrow(kind))], names=["x"])
    first, second = make_encoder(options, schema).encode_lines(rows).decode().splitlines()
    assert second == '{"x":null}'
    return first.removeprefix('{"x":').removesuffix("}")


def at(micros: int) -> datetime:
    return datetime(2023, 10, 9, 17, 13, 40, micros, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (BOOLEAN, True, "true"),
        (BIGINT, -5, "-5"),
        (DOUBLE, 1.5, "1.5"),
        (DOUBLE, float("nan"), "null"),
        (DOUBLE, float("-inf"), "null"),
        (TEXT, 'a"b\\c', '"a\\"b\\\\c"'),
        (TEXT, "tab\tand\x01", '"tab\\tand\\u0001"'),
        (TEXT, "é漢", '"é漢"'),
        (TEXT, "", '""'),
        (TIMESTAMP, at(0), '"2023-10-09T17:13:40"'),
        (TIMESTAMP, at(200_000), '"2023-10-09T17:13:40.200"'),
        (TIMESTAMP, at(7_000), '"2023-10-09T17:13:40.007"'),
        (TIMESTAMP, at(123_456), '"2023-10-09T17:13:40.123456"'),
        (TIMESTAMP, at(56), '"2023-10-09T17:13:40.000056"'),
        (TIMESTAMP, datetime(1969, 12, 31, 23, 59, 59, 500_000, UTC), '"1969-12-31T23:59:59.500"'),
        (types.Date(), date(2024, 2, 29), '"2024-02-29"'),
        (types.Interval(), timedelta(seconds=2), "2000000"),
        (types.Decimal(6, 2), Decimal("-12.50"), "-12.50"),
        (types.Decimal(38, 10), Decimal("0.0000000001"), "0.0000000001"),
        (types.Bytes(), b"hi", '"aGk="'),
        (types.Json(), '{"a": [1]}', '{"a": [1]}'),
        (types.Json(), '{"a":\n1}', '{"a": 1}'),
        (Array(BIGINT), [1, None, 3], "[1,null,3]"),
        (Array(BIGINT), [], "[]"),
        (Array(Array(TEXT)), [["a"], None, []], '[["a"],null,[]]'),
        (Struct((Member("a", BIGINT), Member("b", TEXT))), {"a": 1, "b": None}, '{"a":1,"b":null}'),
    ],
)
def test_a_value_is_written_as_json(kind: types.Type, value: object, expected: str) -> None:
    assert encoded(kind, value) == expected


def test_timestamps_may_be_written_as_milliseconds() -> None:
    millis = JsonOptions(timestamp_format="unix_millis")

    assert encoded(TIMESTAMP, at(123_456), millis) == "1696871620123"
    assert encoded(TIMESTAMP, datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC), millis) == "-1"


def test_timestamps_may_be_written_as_microseconds() -> None:
    assert encoded(TIMESTAMP, at(123_456), JsonOptions(timestamp_format="unix_micros")) == "1696871620123456"


@pytest.mark.parametrize(
    ("options", "kind", "expected"),
    [
        (PLAIN, TIMESTAMP, {"type": "string", "name": "io.debezium.time.IsoTimestamp"}),
        (
            JsonOptions(timestamp_format="unix_millis"),
            TIMESTAMP,
            {"type": "int64", "name": "org.apache.kafka.connect.data.Timestamp"},
        ),
        (
            JsonOptions(timestamp_format="unix_micros"),
            TIMESTAMP,
            {"type": "int64", "name": "io.debezium.time.MicroTimestamp"},
        ),
        (
            JsonOptions(decimal_encoding="bytes"),
            types.Decimal(5, 2),
            {
                "type": "bytes",
                "name": "org.apache.kafka.connect.data.Decimal",
                "parameters": {"scale": "2", "connect.decimal.precision": "5"},
            },
        ),
        (JsonOptions(decimal_encoding="string"), types.Decimal(5, 2), {"type": "string"}),
        (PLAIN, types.Decimal(5, 2), {"type": "double"}),
    ],
)
def test_kafka_connect_is_told_how_a_value_is_written(
    options: JsonOptions, kind: types.Type, expected: dict[str, object]
) -> None:
    assert connect_fields(Schema((Field("x", kind),)), options) == [{"field": "x", "optional": True, **expected}]


def test_decimals_may_be_written_as_text_or_bytes() -> None:
    assert encoded(types.Decimal(5, 2), Decimal("-1.23"), JsonOptions(decimal_encoding="string")) == '"-1.23"'
    assert encoded(types.Decimal(5, 2), Decimal("-1.23"), JsonOptions(decimal_encoding="bytes")) == '"hQ=="'


def test_columns_stand_in_the_order_of_the_schema() -> None:
    schema = Schema((Field("z", BIGINT), Field('q"', TEXT)))
    rows = pa.RecordBatch.from_arrays([pa.array([1]), pa.array(["a"])], names=["z", 'q"'])

    assert make_encoder(PLAIN, schema).encode_lines(rows) == b'{"z":1,"q\\"":"a"}\n'


def test_a_part_of_a_batch_is_written_without_the_rest() -> None:
    schema = Schema((Field("x", TEXT), Field("l", Array(TEXT))))
    rows = pa.RecordBatch.from_arrays([pa.array(["a", "b", 'c"']), pa.array([["1"], ["2"], ["3"]])], names=["x", "l"])

    assert make_encoder(PLAIN, schema).encode_lines(rows.slice(1, 1)) == b'{"x":"b","l":["2"]}\n'


def test_an_envelope_describes_its_payload() -> None:
    schema = Schema((Field("x", BIGINT, nullable=False),))
    rows = pa.RecordBatch.from_arrays([pa.array([1])], names=["x"])

    [message] = make_encoder(JsonOptions(include_schema=True), schema).encode_messages(rows).to_pylist()

    envelope = json.loads(message)
    assert envelope["payload"] == {"x": 1}
    assert envelope["schema"]["fields"] == [{"field": "x", "optional": False, "type": "int64"}]


def test_unstructured_json_is_the_whole_record() -> None:
    schema = Schema((Field("value", types.Json()),))
    rows = pa.RecordBatch.from_arrays([pa.array(['{"a": 1}'])], names=["value"])

    assert make_encoder(JsonOptions(unstructured=True), schema).encode_lines(rows) == b'{"a": 1}\n'


def test_no_rows_are_no_bytes() -> None:
    schema = Schema((Field("x", TEXT),))

    assert (
        make_encoder(PLAIN, schema).encode_lines(pa.RecordBatch.from_arrays([pa.array([], pa.string())], names=["x"]))
        == b""
    )
