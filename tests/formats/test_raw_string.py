from __future__ import annotations

import pyarrow as pa

from engine.formats import make_decoder, make_encoder
from engine.formats.raw_string.format import RAW_STRING, RawStringOptions
from engine.schema import Field, Schema
from engine.types import BIGINT, TEXT

LINES = Schema((Field("value", TEXT),))


def test_each_line_is_a_row() -> None:
    decoded = make_decoder(RawStringOptions(), LINES).decode_lines(b"a\n\nb")

    assert decoded.rows.to_pylist() == [{"value": "a"}, {"value": ""}, {"value": "b"}]


def test_a_line_that_is_not_utf8_is_bad() -> None:
    decoded = make_decoder(RawStringOptions(), LINES).decode_lines(b"a\n\xff\nb\n")

    assert decoded.rows.to_pylist() == [{"value": "a"}, {"value": "b"}]
    assert [bad.index for bad in decoded.bad] == [1]


def test_rows_are_written_as_lines() -> None:
    rows = pa.RecordBatch.from_arrays([pa.array(["a", None, "b"])], names=["value"])

    assert make_encoder(RawStringOptions(), LINES).encode_lines(rows) == b"a\n\nb\n"


def test_another_schema_is_refused() -> None:
    wrong = RAW_STRING.check(RawStringOptions(), Schema((Field("value", BIGINT),)), "source", "single_file")

    assert wrong == "raw_string format requires a schema with a single field called `value` of type TEXT"
    assert RAW_STRING.check(RawStringOptions(), LINES, "source", "single_file") is None
