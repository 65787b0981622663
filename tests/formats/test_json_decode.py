from __future__ import annotations

import json
import random
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from engine import types
from engine.formats import make_decoder, make_encoder
from engine.formats.base import Decoded
from engine.formats.json.decode import JsonDecoder
from engine.formats.json.decode_rows import decode_rows
from engine.formats.json.options import JsonOptions
from engine.schema import Field, Schema, arrow_schema
from engine.types import BIGINT, BOOLEAN, DOUBLE, INT, TEXT, TIMESTAMP, Array, Member, Struct

PLAIN = JsonOptions()


def one_column(kind: types.Type, *, nullable: bool = True) -> Schema:
    return Schema((Field("x", kind, nullable),))


def decode(kind: types.Type, line: str, options: JsonOptions = PLAIN, *, nullable: bool = True) -> Decoded:
    return make_decoder(options, one_column(kind, nullable=nullable)).decode_lines(line.encode())


def value(kind: types.Type, text: str, options: JsonOptions = PLAIN) -> object:
    decoded = decode(kind, f'{{"x": {text}}}\n', options)
    assert not decoded.bad, decoded.bad
    return decoded.rows.to_pylist()[0]["x"]


def reason(kind: types.Type, line: str, options: JsonOptions = PLAIN, *, nullable: bool = True) -> str:
    decoded = decode(kind, line, options, nullable=nullable)
    assert decoded.rows.num_rows == 0
    return decoded.bad[0].reason


PAIR = Struct((Member("a", BIGINT), Member("b", TIMESTAMP)))
NOON = datetime(2023, 10, 9, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2023-10-09T12:00:00Z", NOON),
        ("2023-10-09T12:00:00+00:00", NOON),
        ("2023-10-09T14:00:00+02:00", NOON),
        ("2023-10-09 12:00:00", NOON),
        ("2023-10-09T12:00:00", NOON),
        ("2023-10-09T12:00", NOON),
        ("2023-10-09T12:00:00.200Z", NOON.replace(microsecond=200_000)),
        ("2023-10-09T12:00:00.123456789", NOON.replace(microsecond=123_456)),
        ("1969-12-31T23:59:59.999999999Z", datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)),
        ("0001-01-01T00:00:00", datetime(1, 1, 1, tzinfo=UTC)),
        ("9999-12-31T23:59:59.999999", datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)),
    ],
)
def test_a_timestamp_is_read_from_any_usual_spelling(text: str, expected: datetime) -> None:
    slow = decode_rows([json.dumps({"x": text}).encode()], one_column(TIMESTAMP), PLAIN)

    assert value(TIMESTAMP, json.dumps(text)) == expected
    assert slow.rows.to_pylist() == [{"x": expected}]


@pytest.mark.parametrize("text", ["yesterday", "2023-13-01T00:00:00", "2023-02-30", "2023-10-09T12:00:60", "12:00", ""])
def test_invalid_timestamp_is_a_bad_record(text: str) -> None:
    assert "expected TIMESTAMP" in reason(TIMESTAMP, json.dumps({"x": text}))


def test_timestamps_may_be_milliseconds() -> None:
    millis = JsonOptions(timestamp_format="unix_millis")

    assert value(TIMESTAMP, "1696852800123", millis) == NOON.replace(microsecond=123_000)
    assert "milliseconds" in reason(TIMESTAMP, '{"x": "2023-10-09T12:00:00Z"}', millis)


def test_timestamps_may_be_microseconds() -> None:
    micros = JsonOptions(timestamp_format="unix_micros")
    slow = decode_rows([b'{"x": 1696852800123456}'], one_column(TIMESTAMP), micros)

    assert value(TIMESTAMP, "1696852800123456", micros) == NOON.replace(microsecond=123_456)
    assert slow.rows.to_pylist() == [{"x": NOON.replace(microsecond=123_456)}]
    assert "microseconds" in reason(TIMESTAMP, '{"x": "2023-10-09T12:00:00Z"}', micros)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (TEXT, "155", "155"),
        (TEXT, "1.50", "1.50"),
        (TEXT, "true", "true"),
        (TEXT, '"caf\\u00e9"', "café"),
        (BIGINT, "9223372036854775807", 2**63 - 1),
        (BIGINT, "12.0", 12),
        (BIGINT, '"12"', 12),
        (INT, "null", None),
        (DOUBLE, "1", 1.0),
        (DOUBLE, "1e3", 1000.0),
        (types.Float(32), "0.1", 0.10000000149011612),
        (types.Integer(64, signed=False), "7", 7),
        (types.Decimal(5, 2), "12.345", Decimal("12.35")),
        (types.Decimal(5, 2), '"1.5"', Decimal("1.50")),
        (types.Bytes(), '"aGk="', b"hi"),
        (types.Date(), '"2024-02-29"', date(2024, 2, 29)),
        (types.Date(), "19782", date(2024, 2, 29)),
        (types.Integer(8), "-128", -128),
        (types.Array(types.Date()), '["1582-10-15", null]', [date(1582, 10, 15), None]),
        (types.Json(), '{"b": [1,  2.50], "a": "x"}', '{"b": [1,  2.50], "a": "x"}'),
        (types.Json(), "null", None),
        (types.Json(), '"text"', '"text"'),
        (
            Struct((Member("a", BIGINT), Member("b", TIMESTAMP))),
            '{"b": "2023-10-09T12:00:00Z", "c": 1}',
            {"a": None, "b": NOON},
        ),
        (Struct((Member("j", types.Json()),)), '{"j": {"k": 1}}', {"j": '{"k": 1}'}),
        (Array(BIGINT), "[1, null, 3]", [1, None, 3]),
        (Array(TIMESTAMP), '["2023-10-09T12:00:00Z"]', [NOON]),
        (Array(types.Json()), '[{"k": 1}, 2]', ['{"k": 1}', "2"]),
        (Array(Struct((Member("u", types.Integer(32, signed=False)),))), '[{"u": 4294967295}]', [{"u": 2**32 - 1}]),
    ],
)
def test_a_value_becomes_its_columns_type(kind: types.Type, text: str, expected: object) -> None:
    assert value(kind, text) == expected


@pytest.mark.parametrize(
    ("kind", "line", "message"),
    [
        (BIGINT, '{"x": "abc"}', "column 'x': expected BIGINT, found \"abc\""),
        (BIGINT, '{"x": 1.5}', "column 'x': expected BIGINT, found 1.5"),
        (INT, '{"x": 3000000000}', "out of range for INT"),
        (types.Integer(32, signed=False), '{"x": -1}', "-1 is out of range for INT UNSIGNED"),
        (types.Integer(8, signed=False), '{"x": 256}', "out of range"),
        (types.Integer(64, signed=False), '{"x": 9223372036854775808}', "out of range"),
        (BOOLEAN, '{"x": 1}', "expected BOOLEAN"),
        (TEXT, '{"x": {"a": 1}}', "expected TEXT"),
        (types.Bytes(), '{"x": "?"}', "expected base64"),
        (types.Date(), '{"x": "2024-02-30"}', "expected DATE"),
        (types.Date(), '{"x": "2024-2-3"}', "expected DATE"),
        (types.Decimal(3, 1), '{"x": 1234}', "expected DECIMAL"),
        (Struct((Member("a", BIGINT),)), '{"x": {"a": "b"}}', "column 'x.a'"),
        (Array(BIGINT), '{"x": 1}', "expected an array"),
        (BIGINT, "[1]", "it is [1], not an object"),
        (BIGINT, '{"x": 1', "it is not JSON"),
        (BIGINT, '{"x": 1} {"x": 2}', "it is not JSON"),
        (types.Json(), '{"x": {"a" 1}}', "it is not JSON"),
    ],
)
def test_a_bad_record_says_what_is_wrong_with_which_column(kind: types.Type, line: str, message: str) -> None:
    assert message in reason(kind, line)


def test_a_record_without_a_required_field_is_bad() -> None:
    assert reason(BIGINT, "{}", nullable=False) == "column 'x': it is NOT NULL, and the record has no such field"
    assert reason(BIGINT, '{"x": null}', nullable=False) == "column 'x': it is NOT NULL, and the record has null"


def test_text_that_is_not_utf8_is_bad() -> None:
    decoded = make_decoder(PLAIN, one_column(TEXT)).decode_lines(b'{"x": "\xff"}\n{"x": "ok"}\n')

    assert decoded.rows.to_pylist() == [{"x": "ok"}]
    assert "UTF-8" in decoded.bad[0].reason


def test_good_records_around_bad_ones_keep_their_numbers() -> None:
    decoded = make_decoder(PLAIN, one_column(BIGINT)).decode_lines(b'{"x": 1}\n\nnonsense\r\n{"x": 2}\r\n')

    assert decoded.rows.to_pylist() == [{"x": 1}, {"x": 2}]
    assert decoded.origin is not None
    assert decoded.origin.to_pylist() == [0, 3]
    assert [bad.index for bad in decoded.bad] == [2]


def test_extra_fields_are_passed_over() -> None:
    assert decode(BIGINT, '{"y": {"z": []}, "x": 1}').rows.to_pylist() == [{"x": 1}]


def test_decimals_may_be_bytes() -> None:
    options = JsonOptions(decimal_encoding="bytes")

    assert value(types.Decimal(5, 2), '"/4U="', options) == Decimal("-1.23")


def test_an_unstructured_record_is_taken_whole() -> None:
    options = JsonOptions(unstructured=True)
    schema = Schema((Field("value", types.Json()),))

    decoded = make_decoder(options, schema).decode_lines(b'{"a":  1}\n[2]\n{broken\n')

    assert decoded.rows.to_pylist() == [{"value": '{"a":  1}'}, {"value": "[2]"}]
    assert [bad.index for bad in decoded.bad] == [2]


def test_the_payload_of_an_envelope_is_the_record() -> None:
    options = JsonOptions(include_schema=True)

    assert decode(BIGINT, '{"schema": {}, "payload": {"x": 1}}\n', options).rows.to_pylist() == [{"x": 1}]
    assert "not an object" in reason(BIGINT, '{"schema": {}, "payload": null}\n', options)


def test_messages_are_decoded_one_by_one_and_nulls_skipped() -> None:
    payloads = pa.array([b'{"x": 1}', None, b'{"x":\n 2}', b"bad"], pa.binary())

    decoded = make_decoder(PLAIN, one_column(BIGINT)).decode_messages(payloads)

    assert decoded.rows.to_pylist() == [{"x": 1}, {"x": 2}]
    assert decoded.origin is not None
    assert decoded.origin.to_pylist() == [0, 2]
    assert [bad.index for bad in decoded.bad] == [3]


def test_the_header_of_a_registry_is_skipped() -> None:
    options = JsonOptions(confluent_schema_registry=True)

    decoded = make_decoder(options, one_column(BIGINT)).decode_messages(pa.array([b'\x00\x00\x00\x00\x07{"x": 1}']))

    assert decoded.rows.to_pylist() == [{"x": 1}]


EVERYTHING = Schema(
    (
        Field("b", BOOLEAN),
        Field("i", INT),
        Field("u", types.Integer(32, signed=False)),
        Field("f", DOUBLE),
        Field("t", TEXT),
        Field("ts", TIMESTAMP),
        Field("d", types.Decimal(10, 3)),
        Field("raw", types.Bytes()),
        Field("s", Struct((Member("n", BIGINT), Member("when", TIMESTAMP), Member("tags", Array(TEXT))))),
        Field("l", Array(Struct((Member("v", types.Integer(16, signed=False)), Member("at", TIMESTAMP))))),
    )
)


def random_row(chance: random.Random) -> tuple[object, ...]:
    """A row of EVERYTHING; about every fifth value is NULL."""

    def text() -> str:
        return "".join(chance.choice('ab"\\\n\t\x01é漢😀/') for _ in range(chance.randrange(6)))

    def instant() -> datetime:
        micros = chance.choice([0, 200_000, 123_456])
        return datetime(chance.randrange(1800, 2200), chance.randrange(1, 13), 5, 6, 7, 8, micros, UTC)

    def maybe(thing: object) -> object:
        return None if chance.random() < 0.2 else thing

    return (
        maybe(chance.random() < 0.5),
        maybe(chance.randrange(-(2**31), 2**31)),
        maybe(chance.randrange(2**32)),
        maybe(chance.choice([0.0, 1.5, -1e300, chance.random()])),
        maybe(text()),
        maybe(instant()),
        maybe(Decimal(chance.randrange(-(10**9), 10**9)).scaleb(-3)),
        maybe(chance.randbytes(chance.randrange(5))),
        maybe({"n": maybe(chance.randrange(2**62)), "when": maybe(instant()), "tags": maybe([maybe(text()), "z"])}),
        maybe([{"v": maybe(chance.randrange(2**16)), "at": maybe(instant())} for _ in range(chance.randrange(3))]),
    )


def random_rows(seed: int, count: int = 60) -> pa.RecordBatch:
    chance = random.Random(seed)
    columns = zip(*(random_row(chance) for _ in range(count)), strict=True)
    arrow = arrow_schema(EVERYTHING)
    return pa.RecordBatch.from_arrays([pa.array(c, f.type) for c, f in zip(columns, arrow, strict=True)], schema=arrow)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    "options",
    [
        PLAIN,
        JsonOptions(decimal_encoding="bytes"),
        JsonOptions(decimal_encoding="string"),
        JsonOptions(include_schema=True),
    ],
    ids=["plain", "bytes", "string", "envelope"],
)
def test_encoded_rows_are_decoded_alike_by_both_decoders(seed: int, options: JsonOptions) -> None:
    rows = random_rows(seed)

    lines = make_encoder(options, EVERYTHING).encode_lines(rows)
    fast = JsonDecoder(options, EVERYTHING)._fast(lines)
    slow = decode_rows(lines.splitlines(), EVERYTHING, options)

    assert fast is not None
    assert not slow.bad
    assert fast.rows.equals(rows)
    assert slow.rows.equals(rows)


@pytest.mark.parametrize("seed", range(8))
def test_broken_records_never_change_their_neighbours(seed: int) -> None:
    chance = random.Random(seed)
    rows = random_rows(seed)
    lines = make_encoder(PLAIN, EVERYTHING).encode_lines(rows).splitlines()
    broken = set(chance.sample(range(len(lines)), 10))
    damaged = [line[: chance.randrange(1, len(line) - 1)] if at in broken else line for at, line in enumerate(lines)]

    decoded = make_decoder(PLAIN, EVERYTHING).decode_lines(b"\n".join(damaged))

    assert {bad.index for bad in decoded.bad} == broken
    assert decoded.rows.equals(rows.take(pa.array(sorted(set(range(len(lines))) - broken))))


def test_only_chunks_with_bad_records_of_a_large_block_are_decoded_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    slow: list[int] = []

    def counted(lines: list[bytes], schema: Schema, options: JsonOptions) -> Decoded:
        slow.append(len(lines))
        return decode_rows(lines, schema, options)

    monkeypatch.setattr("engine.formats.json.decode.decode_rows", counted)
    lines = [b'{"x": %d, "more": "%s"}' % (number, b"-" * 80) for number in range(20_000)]
    lines[7], lines[15_000] = b"bad", b""

    decoded = make_decoder(PLAIN, one_column(BIGINT)).decode_lines(b"\n".join(lines))

    good = [number for number in range(20_000) if number not in (7, 15_000)]
    assert decoded.rows.column("x").to_pylist() == good
    assert decoded.origin is not None
    assert decoded.origin.to_pylist() == good
    assert [bad.index for bad in decoded.bad] == [7]
    assert sum(slow) < 2_000


def test_a_record_without_a_registrys_header_is_bad_and_hides_no_other() -> None:
    payloads = pa.array([b'\0\0\0\0\1{"n": 1}', None, b'{"n": 2}', b"\0\0", b'\0\0\0\1\0{"n": 3}'], pa.binary())

    decoded = JsonDecoder(JsonOptions(confluent_schema_registry=True), Schema((Field("n", BIGINT),))).decode_messages(
        payloads
    )

    assert [row["n"] for row in decoded.rows.to_pylist()] == [1, 3]
    assert decoded.origin is not None
    assert decoded.origin.to_pylist() == [0, 4]
    assert [(refusal.index, refusal.raw) for refusal in decoded.bad] == [(2, b'{"n": 2}'), (3, b"\0\0")]
