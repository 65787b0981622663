"""Narrow tables have a decoder of their own, which gives what the others give and leaves the unusual to them."""

from __future__ import annotations

import pytest

from engine import types
from engine.formats.json.decode import JsonDecoder
from engine.formats.json.decode_blocks import raw_schema
from engine.formats.json.decode_narrow import MOST_COLUMNS, StructDecoder, struct_decoder
from engine.formats.json.decode_rows import decode_rows
from engine.formats.json.options import JsonOptions
from engine.schema import Field, Schema

NARROW = Schema((Field("n", types.BIGINT), Field("text", types.TEXT), Field("at", types.TIMESTAMP)))


def structs_of(schema: Schema) -> StructDecoder | None:
    options = JsonOptions(format="json")
    return struct_decoder(schema, options, raw_schema(schema, options), frozenset(schema.names))


@pytest.mark.parametrize(
    "line",
    [
        '{"n": 1, "text": "a", "at": "2024-01-01T00:00:00Z", "more": {"n": [1, 2]}}',
        '{"text": null, "at": "2024-01-01 00:00:00.123456789"}',
        '{"n": -9223372036854775808, "text": "\\u00e4\\ud83d\\ude00\\n", "at": "2024-01-01T02:00:00+02:00"}',
        '{"n": 1, "n": 2}',
    ],
)
def test_usual_lines_give_the_rows_of_the_slow_way(line: str) -> None:
    decoder = structs_of(NARROW)
    block = f"{line}\n".encode()

    assert decoder is not None
    assert decoder.decode(block) is not None
    fast = JsonDecoder(JsonOptions(format="json"), NARROW).decode_lines(block)
    assert fast.rows.equals(decode_rows([line.encode()], NARROW, JsonOptions(format="json")).rows)


@pytest.mark.parametrize(
    "line",
    [
        '{"n": 1.5}',
        '{"n": 9223372036854775808}',
        '{"text": 5}',
        '{"at": "soon"}',
        "[1]",
        '{"n": 1',
        '{"n": true}',
        "null",
    ],
)
def test_unusual_lines_are_left_to_the_others(line: str) -> None:
    decoder = structs_of(NARROW)

    assert decoder is not None
    assert decoder.decode(f"{line}\n".encode()) is None


@pytest.mark.parametrize(
    "instant",
    [
        "2024-01-01T00:00:00.123Z",
        "1969-12-31T23:59:59.999999Z",
        "1969-12-31T23:59:59.9999999Z",
        "1677-09-21T00:12:43.145224Z",
        "1677-01-01T00:00:00Z",
        "2262-04-11T23:47:16.854775807Z",
        "9999-12-31T23:59:59Z",
        "0001-01-01T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "2024-02-30T00:00:00Z",
        "2024-01-01T24:00:00Z",
        "2024-01-01",
        "2024-01-01T00:00:00",
        "2024-01-01T00:00:00+0530",
    ],
)
@pytest.mark.parametrize("beside", ["2024-01-01T00:00:00.5Z", "2024-01-01T00:00:00", "1970-01-01T00:00:00.000000001Z"])
def test_instants_and_whole_numbers_are_those_of_the_slow_way(instant: str, beside: str) -> None:
    lines = [f'{{"n": 1, "at": "{instant}"}}', f'{{"at": "{beside}"}}', '{"n": 3}']

    fast = JsonDecoder(JsonOptions(format="json"), NARROW).decode_lines("\n".join(lines).encode() + b"\n")
    slow = decode_rows([line.encode() for line in lines], NARROW, JsonOptions(format="json"))

    assert fast.rows.equals(slow.rows)
    assert [bad.index for bad in fast.bad] == [bad.index for bad in slow.bad]


def test_wide_and_nested_tables_have_none() -> None:
    wide = Schema(tuple(Field(f"c{index}", types.BIGINT) for index in range(MOST_COLUMNS + 1)))
    nested = Schema((Field("s", types.Struct((types.Member("a", types.BIGINT),))),))

    assert structs_of(wide) is None
    assert structs_of(nested) is None
