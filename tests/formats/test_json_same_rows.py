"""Whatever lines there are, all ways to decode JSON give the same rows and refuse the same records for the same
reasons. `decode_rows` is the judge, since it looks at one record at a time. `JSON_CASES` says how many blocks of random
lines are played; `make test-all` plays twenty thousand."""

from __future__ import annotations

import os
import random

import pyarrow as pa
import pytest

from engine import types
from engine.formats.base import Decoded
from engine.formats.checked_columns import select
from engine.formats.json.decode import JsonDecoder
from engine.formats.json.decode_narrow import MOST_COLUMNS
from engine.formats.json.decode_rows import decode_rows
from engine.formats.json.options import JsonOptions
from engine.formats.lines import split_lines
from engine.schema import Field, Schema

CASES = int(os.environ.get("JSON_CASES", "1500"))
_BATCHES = 10

PLAIN_KINDS: tuple[types.Type, ...] = (
    types.BOOLEAN,
    types.BIGINT,
    types.INT,
    types.Integer(8),
    types.Integer(32, signed=False),
    types.Integer(64, signed=False),
    types.DOUBLE,
    types.Float(32),
    types.TEXT,
    types.TIMESTAMP,
)
OTHER_KINDS: tuple[types.Type, ...] = (
    types.Date(),
    types.Bytes(),
    types.Decimal(5, 2),
    types.Decimal(38, 10),
    types.Json(),
    types.Struct((types.Member("a", types.BIGINT), types.Member("b", types.TIMESTAMP))),
    types.Struct((types.Member("a", types.TEXT),)),
    types.Array(types.BIGINT),
    types.Array(types.DOUBLE),
    types.Array(types.TEXT),
    types.Array(types.TIMESTAMP),
)
NAMES = ("a", "b", "at", "n", "größe", 'quo"ted', "x y")
OPTIONS = (
    JsonOptions(),
    JsonOptions(),
    JsonOptions(timestamp_format="unix_millis"),
    JsonOptions(timestamp_format="unix_micros"),
    JsonOptions(decimal_encoding="bytes"),
    JsonOptions(decimal_encoding="string"),
    JsonOptions(include_schema=True),
)
NUMBERS = (
    *("0", "-0", "1", "-1", "7", "127", "128", "-128", "-129", "255", "256", "2147483647", "2147483648", "4294967296"),
    *("9007199254740991", "9007199254740992", "-9007199254740993", "9223372036854775807", "9223372036854775808"),
    *("-9223372036854775808", "-9223372036854775809", "18446744073709551615", "1" + "0" * 40, "1696852800123456"),
    *("1.0", "1e3", "1E+3", "1.5", "-0.0", "0.1", "1e400", "-1e400", "1e-400", "3.5e38", "1e39", "12.345", "0.125"),
    *("1.23456789012345678901234567890", "123456789.123456789", "5e-324", "16777217", "1e22", "123.45", "999.995"),
)
NOT_NUMBERS = ("NaN", "Infinity", "-Infinity", "nan", "inf", "01", "+1", ".5", "1.", "0x10", "1_0", "--1", "1e", "tru")
INSTANTS = (
    *("2023-10-09T12:00:00Z", "2023-10-09 12:00:00", "2023-10-09T12:00:00", "2023-10-09T12:00", "2023-10-09T12"),
    *("2023-10-09", "2023-10-09T14:00:00+02:00", "2023-10-09T14:00:00+0200", "2023-10-09T14:00:00-02"),
    *("2023-10-09T12:00:00.2Z", "2023-10-09T12:00:00.123456789", "2023-10-09T12:00:00.123456789+01:30"),
    *("1969-12-31T23:59:59.999999999Z", "1969-12-31T23:59:59.9999999", "0001-01-01T00:00:00", "9999-12-31T23:59:59Z"),
    *("1677-09-21T00:12:43", "2262-04-11T23:47:17Z", "2024-02-29", "2024-01-01T00:00:00.000+00:00"),
)
NOT_INSTANTS = (
    *("2023-02-30", "2023-10-09T24:00:00Z", "2023-10-09T12:00:60Z", "2023-10-09T12:00:00z", "2023-10-09t12:00:00"),
    *("2023-10-09T12:00:00.1234567890", "2023-10-09T12:00:00.", "2023-10-09T12:00:00,5", " 2023-10-09", "2023-10-09 "),
    *("20231009T120000Z", "2023-10-09T12:00:00+24:00", "2023-10-09T12:00:00+00:60", "+2023-10-09", "-0001-01-01"),
    *("2023-10-09T12:00:00 Z", "2023-10-09T12Z", "2023-10-09Z", "2023-1-9", "10000-01-01", "12:00", "soon", ""),
    *("2023-10-09T120000", "2023-10-09T12:00:00-00:00", "2023-10-09T12:00+01"),
)
TEXTS = (
    *(
        "",
        "a",
        "7",
        "-7",
        "1.5",
        "true",
        "null",
        "aGk=",
        "aGk",
        "AQ==",
        "/4U=",
        "é",
        "漢😀",
        "x" * 70,
        "12:00",
        " 7",
        "0x7",
    ),
    *("0x7", "\u00a0", "\u2028", "NaN", "1e3", "٣", "a/b", "\x7f", "\ufeff", "{}", "[1, 2]", "a, b: c"),
)
ESCAPES = (
    *(r"\n", r"\"", r"\\", r"\/", r"\u00e9", r"\ud83d\ude00", r"\u0000", r"\u001f", r"\ud800", r"\udc00\ud800"),
    *(r"\x", r"\u12", r"\ud83d\u0041", "\\", "\t", "\x01", "\x00", r"\u00E9\b\f\r\t"),
)


def random_schema(chance: random.Random) -> Schema:
    kinds = PLAIN_KINDS if chance.random() < 0.5 else PLAIN_KINDS + OTHER_KINDS
    names = chance.sample(NAMES, chance.randrange(1, len(NAMES)))
    return Schema(tuple(Field(name, chance.choice(kinds), chance.random() < 0.8) for name in names))


def any_text(chance: random.Random) -> str:
    text = chance.choice(chance.choice((TEXTS, INSTANTS, NOT_INSTANTS, NUMBERS)))
    return text + chance.choice(ESCAPES) if chance.random() < 0.1 else text


def any_value(chance: random.Random, depth: int = 0) -> str:
    match chance.randrange(8 if depth < 3 else 6):
        case 0 | 1:
            return chance.choice(NUMBERS)
        case 2 | 3:
            return f'"{any_text(chance)}"'
        case 4:
            return chance.choice(("null", "true", "false"))
        case 5:
            return chance.choice(NOT_NUMBERS) if chance.random() < 0.1 else "null"
        case 6:
            return "[" + ", ".join(any_value(chance, depth + 1) for _ in range(chance.randrange(3))) + "]"
    members = (f'"{chance.choice("abc")}": {any_value(chance, depth + 1)}' for _ in range(chance.randrange(3)))
    return "{" + ",".join(members) + "}"


def fitting_value(chance: random.Random, kind: types.Type, options: JsonOptions) -> str:
    match kind:
        case types.Boolean():
            return chance.choice(("true", "false"))
        case types.Integer() | types.Float() | types.Decimal():
            return chance.choice(NUMBERS[:14]) if chance.random() < 0.8 else chance.choice(NUMBERS)
        case types.Timestamp() if options.timestamp_format == "rfc3339":
            return f'"{chance.choice(INSTANTS)}"'
        case types.Timestamp():
            return chance.choice(NUMBERS)
        case types.Date():
            return chance.choice(
                ('"2024-02-29"', '"0001-01-01"', '"9999-12-31"', '"1582-10-15"', "19782", '"2024-2-3"')
            )
        case types.Struct(members):
            parts = (f'"{part.name}": {column_value(chance, part.type, options)}' for part in members)
            return "{" + ", ".join(parts) + "}"
        case types.Array(element):
            return "[" + ",".join(column_value(chance, element, options) for _ in range(chance.randrange(3))) + "]"
    return f'"{any_text(chance)}"'


def column_value(chance: random.Random, kind: types.Type, options: JsonOptions) -> str:
    lot = chance.random()
    if lot < 0.08:
        return any_value(chance)
    return "null" if lot < 0.15 else fitting_value(chance, kind, options)


def spelled(chance: random.Random, name: str) -> str:
    if chance.random() < 0.03:
        return "".join(f"\\u{ord(letter):04x}" for letter in name)
    return name.replace('"', '\\"')


def random_record(chance: random.Random, schema: Schema, options: JsonOptions) -> str:
    space = chance.choice(("", " ", " ", "  ", "\t"))
    members = [
        f'"{spelled(chance, field.name)}":{space}{column_value(chance, field.type, options)}'
        for field in schema
        if chance.random() < 0.95
    ]
    if chance.random() < 0.1:
        members.append(f'"{chance.choice(NAMES[:4])}": {any_value(chance)}')
    if chance.random() < 0.2:
        members.append(f'"{chance.choice(("more", "A", ""))}": {any_value(chance)}')
    if chance.random() < 0.1:
        chance.shuffle(members)
    record = "{" + f",{space}".join(members) + "}"
    return f'{{"schema": null, "payload": {record}}}' if options.include_schema else record


def random_line(chance: random.Random, schema: Schema, options: JsonOptions, dirt: float) -> bytes:
    line = random_record(chance, schema, options).encode("utf-8", "surrogatepass")
    if chance.random() >= dirt:
        return line
    at = chance.randrange(len(line) + 1)
    match chance.randrange(14):
        case 0:
            return line[:at]
        case 1:
            return (
                line[:at]
                + chance.choice((b"\xff", b"\xed\xa0\x80", b"\xc3", b"\x00", b"\x01", b"\xef\xbb\xbf"))
                + line[at:]
            )
        case 2:
            return line + chance.choice((b" ", b"\t", b"}", b",", b" {}", b"x", b"\r", b"\x0b", b"\xc2\xa0", b"//"))
        case 3:
            return chance.choice((b" ", b"\t", b"\xef\xbb\xbf", b"\x0c")) + line
        case 4:
            return chance.choice((b"", b" ", b"\t \r", b"\x0b", b"\xef\xbb\xbf", b"\xc2\xa0"))
        case 5:
            return chance.choice((b"null", b"[]", b"{}", b"1", b'"a"', b"[{}]", b"nonsense", b"{'a': 1}"))
        case 6:
            return line.replace(b"}", b",}")
        case 7:
            return line.replace(b":", chance.choice((b"=", b"::", b" :", b"")), 1)
        case 8:
            return line.replace(b",", chance.choice((b";", b",,", b" ,", b"")), 1)
        case 9:
            return b"[" * chance.choice((5, 1000)) + line
        case 10:
            return b'{"deep": ' + b"[" * 70 + b"]" * 70 + b"," + line[1:]
        case 11:
            return line + line
        case 12:
            return line.replace(b"}", b", }").replace(b'"', b"'", 1)
    return line[:at] + bytes([chance.randrange(256)]).replace(b"\n", b" ") + line[at + 1 :]


def outcome(decoded: Decoded) -> tuple[str, list[int], list[tuple[int, str, bytes]]]:
    origin = range(decoded.rows.num_rows) if decoded.origin is None else decoded.origin.to_pylist()
    refusals = [(record.index, record.reason, record.raw) for record in decoded.bad]
    rows = [column.cast(_counted(column.type)).to_pylist() for column in decoded.rows.columns]
    # as text, in which NaN is itself and -0.0 is not 0.0
    return repr(rows), list(origin), refusals


def _counted(kind: pa.DataType) -> pa.DataType:
    """The type with instants as microseconds, of which Python's datetime has not all."""
    if pa.types.is_timestamp(kind):
        return pa.int64()
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(part.name, _counted(part.type)) for part in kind])
    return pa.list_(pa.field("element", _counted(kind.value_type))) if pa.types.is_list(kind) else kind


def failure(seed: int) -> str | None:
    """What a case of that number shows, or None when all ways agree."""
    chance = random.Random(seed)
    schema, options = random_schema(chance), chance.choice(OPTIONS)
    dirt = chance.choice((0, 0, 0.1, 0.5))
    lines = [random_line(chance, schema, options, dirt) for _ in range(chance.choice((1, 1, 2, 8)))]
    end = chance.choice((b"\n", b"\n", b"\r\n"))
    block = end.join(lines) + chance.choice((end, b""))
    shown = differences(schema, options, block)
    return None if shown is None else f"case {seed}: {shown}"


def differences(schema: Schema, options: JsonOptions, block: bytes) -> str | None:
    """What the decoder makes of a block, beside what the judge does, when they are not the same."""
    judged = decode_rows(split_lines(block).to_pylist(), schema, options)
    some = Schema(schema.fields[:: 2 if len(block) % 2 else 3])
    for has_structs, read in ((True, schema), (False, schema), (True, some)):
        decoder = JsonDecoder(options, read, schema)
        if not has_structs:
            decoder._columns._all._structs = None  # what Arrow's reader makes of a table that is narrow, too
        decoded, expected = decoder.decode_lines(block), select(judged, read.names)
        decoded.rows.validate(full=True)
        if decoded.rows.schema != expected.rows.schema or outcome(decoded) != outcome(expected):
            return f"{read} of {schema} {options}\n{block!r}\n{outcome(decoded)}\nshould be\n{outcome(expected)}"
    return None


MORE = tuple(Field(f"c{index}", types.BIGINT) for index in range(MOST_COLUMNS))
"""So many that Arrow's reader decodes them."""


@pytest.mark.parametrize(
    ("kind", "block"),
    [
        (types.BIGINT, b"null\n"),
        (types.BIGINT, b" null\n{}\n"),
        (types.BIGINT, b'{"a": 1}\nnull\n{"a": 2}\n'),
        (types.BIGINT, b'{"a": 1}{"a": 2}\n\n'),
        (types.BIGINT, b'{"a":\n{"b": 1}}\n{"a": 1}{"a": 2}\n'),
        (types.BIGINT, b'  {"a": 1} \r\n\t{"a": 2}\r\n'),
        (types.BIGINT, b"\xef\xbb\xbf"),
        (types.BIGINT, b'\xef\xbb\xbf{"a": 1}\n\xef\xbb\xbf{"a": 2}\n'),
        (types.DOUBLE, b'{"a": -0}\n{"a": -0.0}\n'),
        (types.Array(types.DOUBLE), b'{"a": [-0, 0]}\n'),
        (types.Decimal(5, 2), b'{"a": 1e3}\n{"a": 1000}\n{"a": 999.99}\n'),
    ],
)
def test_values_that_the_arrow_reader_would_convert_differently_are_refused(kind: types.Type, block: bytes) -> None:
    schema = Schema((Field("a", kind), *MORE))

    assert differences(schema, JsonOptions(), block) is None


def test_two_records_on_one_line_are_no_record_of_a_narrow_table() -> None:
    schema = Schema((Field("a", types.BIGINT), Field("b", types.Decimal(5, 2), True)))

    assert differences(Schema(schema.fields[:1]), JsonOptions(), b'\r\n{"a": 1}{"a": 2}') is None
    assert differences(schema, JsonOptions(), b'{"b": "NaN"}\n') is None


@pytest.mark.parametrize("timestamp_format", ["unix_millis", "unix_micros"])
def test_a_time_that_no_double_holds_is_refused(timestamp_format: str) -> None:
    options = JsonOptions.model_validate({"format": "json", "json.timestamp_format": timestamp_format})
    schema = Schema((Field("at", types.TIMESTAMP),))

    for number in (2**53 - 1, 2**53, -(2**53), 2**63 - 1):
        assert differences(schema, options, b'{"at": %d}\n' % number) is None


def test_a_name_may_hold_what_json_escapes() -> None:
    schema = Schema((Field('say "hi"', types.BIGINT), Field("a\\b", types.BIGINT)))

    assert differences(schema, JsonOptions(), b'{"say \\"hi\\"": 1, "a\\\\b": 2}\n') is None


@pytest.mark.parametrize("batch", range(_BATCHES))
def test_every_way_gives_the_rows_and_the_refusals_of_the_judge(batch: int) -> None:
    failures = [text for seed in range(batch, CASES, _BATCHES) if (text := failure(seed)) is not None]

    assert not failures, "\n\n".join(failures[:3])
