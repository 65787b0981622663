"""One rule for numbers, whichever way they are read: finite, in range, and decimals rounded as CAST does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from engine import types
from engine.compile import compile_script
from engine.connectors.base import Table
from engine.connectors.files.csv_rows import read_csv
from engine.formats import make_decoder, make_encoder
from engine.formats.csv import CsvOptions
from engine.formats.debezium.options import DebeziumOptions
from engine.formats.json.decode_narrow import MOST_COLUMNS
from engine.formats.json.options import JsonOptions
from engine.formats.record_rows import ParsedRecord, to_rows
from engine.schema import Field, Schema, arrow_schema

DOUBLE, FLOAT, PRICE = types.DOUBLE, types.Float(32), types.Decimal(10, 2)
TEXT = JsonOptions.model_validate({"format": "json", "json.non_finite": "text"})
REFUSE = JsonOptions.model_validate({"format": "json", "json.excess_digits": "refuse"})
PLAIN = JsonOptions(format="json")
MORE = tuple(Field(f"c{index}", types.BIGINT) for index in range(MOST_COLUMNS))
"""So many that Arrow's reader decodes them."""


def read(kind: types.Type, value: str, options: JsonOptions = PLAIN, more: tuple[Field, ...] = ()) -> object:
    """What a JSON value becomes in a column, or why it is bad."""
    schema = Schema((Field("v", kind), *more))
    decoded = make_decoder(options, schema).decode_lines(f'{{"v":{value}}}\n'.encode())
    return decoded.bad[0].reason if decoded.bad else decoded.rows.column("v")[0].as_py()


@pytest.mark.parametrize("more", [(), MORE], ids=["narrow", "wide"])
@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (DOUBLE, "1e999", "column 'v': 1e999 is out of range for DOUBLE"),
        (DOUBLE, '"-1e999"', "column 'v': \"-1e999\" is out of range for DOUBLE"),
        (DOUBLE, "9" * 309, f"column 'v': {'9' * 57}... is out of range for DOUBLE"),
        (DOUBLE, "1e308", 1e308),
        (FLOAT, "1e39", "column 'v': 1e39 is out of range for FLOAT"),
        (FLOAT, "3.4028235e38", 3.4028234663852886e38),
        (DOUBLE, "NaN", "it is not JSON: NaN is no number of JSON"),
        (DOUBLE, "-Infinity", "it is not JSON: -Infinity is no number of JSON"),
        (DOUBLE, '"inf"', "column 'v': expected a number, found \"inf\""),
        (DOUBLE, '"NaN"', "column 'v': expected a number, found \"NaN\""),
        (DOUBLE, '"1_0"', "column 'v': expected a number, found \"1_0\""),
        (DOUBLE, '"1e3"', 1000.0),
        (types.Array(FLOAT), "[1e39]", "column 'v': 1e39 is out of range for FLOAT"),
        (PRICE, "1.005", "1.01"),
        (PRICE, "-1.005", "-1.01"),
        (PRICE, "1e999", "column 'v': expected DECIMAL(10, 2), found 1e999"),
    ],
)
def test_numbers_of_json_are_finite_and_in_range_and_rounded_to_their_places(
    kind: types.Type, value: str, expected: object, more: tuple[Field, ...]
) -> None:
    found = read(kind, value, more=more)

    assert (str(found) if isinstance(kind, types.Decimal) else found) == expected


@pytest.mark.parametrize("more", [(), MORE], ids=["narrow", "wide"])
def test_a_bare_nan_is_bad_in_a_field_that_is_no_column_and_a_text_with_the_word_is_not(
    more: tuple[Field, ...],
) -> None:
    assert read(DOUBLE, '1.0,"other":NaN', more=more) == "it is not JSON: NaN is no number of JSON"
    assert read(DOUBLE, '1.0,"other":"so: NaN, Inf"', more=more) == 1.0
    assert read(types.TEXT, "NaN", more=more) == "it is not JSON: NaN is no number of JSON"


def test_texts_of_what_is_no_finite_number_are_read_where_the_table_says_so() -> None:
    assert [str(read(DOUBLE, f'"{text}"', TEXT)) for text in ("NaN", "Infinity", "-Infinity")] == ["nan", "inf", "-inf"]
    assert read(DOUBLE, "1e999", TEXT) == "column 'v': 1e999 is out of range for DOUBLE"
    assert read(DOUBLE, "NaN", TEXT) == "it is not JSON: NaN is no number of JSON"


@pytest.mark.parametrize(
    ("options", "expected"),
    [(PLAIN, ["1.5", "null", "null", "null", "null"]), (TEXT, ["1.5", '"NaN"', '"Infinity"', '"-Infinity"', "null"])],
)
@pytest.mark.parametrize("kind", [DOUBLE, FLOAT], ids=str)
def test_infinite_numbers_are_written_as_null_or_text(
    kind: types.Type, options: JsonOptions, expected: list[str]
) -> None:
    schema = Schema((Field("v", kind),))
    values = [1.5, float("nan"), float("inf"), float("-inf"), None]
    rows = pa.RecordBatch.from_pylist([{"v": value} for value in values], schema=arrow_schema(schema))

    lines = make_encoder(options, schema).encode_lines(rows).decode().splitlines()

    assert lines == [f'{{"v":{text}}}' for text in expected]


@pytest.mark.parametrize("more", [(), MORE], ids=["narrow", "wide"])
def test_more_digits_than_places_are_bad_data_where_the_table_says_so(more: tuple[Field, ...]) -> None:
    assert (
        read(PRICE, "1.005", REFUSE, more) == "column 'v': 1.005 has more digits behind the point than DECIMAL(10, 2)"
    )
    assert str(read(PRICE, "1.500", REFUSE, more)) == "1.50"


def test_records_of_avro_and_protobuf_follow_the_same_rule() -> None:
    def of(kind: types.Type, value: object) -> object:
        decoded = to_rows([ParsedRecord(0, b"", {"v": value})], Schema((Field("v", kind),)))
        return decoded.bad[0].reason if decoded.bad else decoded.rows.column(0)[0].as_py()

    assert str(of(PRICE, "1.005")) == "1.01"
    assert of(FLOAT, 1e39) == "column 'v': expected FLOAT, found 1e+39"
    assert str(of(DOUBLE, float("nan"))) == "nan", "these formats have it"
    assert of(PRICE, "1e30") == "column 'v': expected DECIMAL(10, 2), found \"1e30\""


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (DOUBLE, "1e999", None),
        (DOUBLE, "inf", None),
        (DOUBLE, "NaN", None),
        (FLOAT, "1e39", None),
        (PRICE, "1.005", "1.01"),
    ],
)
def test_values_of_csv_follow_the_same_rule(tmp_path: Path, kind: types.Type, text: str, expected: str | None) -> None:
    (tmp_path / "a.csv").write_text(f"v\n{text}\n")

    (chunk,) = read_csv(csv_table(kind), tmp_path / "a.csv", "none")

    assert [str(value) for value in chunk.rows.column(0).to_pylist()] == ([] if expected is None else [expected])
    assert chunk.dropped == (1 if expected is None else 0)


def csv_table(kind: types.Type) -> Table:
    script = (
        "CREATE TABLE i (v TEXT) WITH (connector = 'single_file', type = 'source', path = '/a', format = 'json', "
        "bad_data = 'drop'); CREATE TABLE o (v TEXT) WITH (connector = 'blackhole'); INSERT INTO o SELECT v FROM i;"
    )
    return replace(
        compile_script(script).tables["i"], schema=Schema((Field("v", kind),)), format=CsvOptions(format="csv")
    )


def test_the_fingerprint_of_a_script_stays_as_long_as_the_new_options_have_their_defaults() -> None:
    assert {"non_finite", "excess_digits"} <= DebeziumOptions.added & JsonOptions.added
    scripts = [
        "CREATE TABLE i (v DOUBLE) WITH (connector = 'single_file', type = 'source', path = '/a', format = 'json'"
        f"{more}); CREATE TABLE o (v DOUBLE) WITH (connector = 'blackhole'); INSERT INTO o SELECT v FROM i;"
        for more in ("", ", json.excess_digits = 'round'", ", json.excess_digits = 'refuse'")
    ]
    plain, same, other = (compile_script(script).fingerprint for script in scripts)

    assert plain == same != other
