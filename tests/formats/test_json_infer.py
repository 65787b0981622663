"""Columns that are found out from records have room for all of them."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as given_by

from engine import types
from engine.formats import make_decoder
from engine.formats.json.options import JsonOptions
from engine.formats.json.parse import infer_columns
from engine.schema import Field, Schema


def columns(*records: object) -> dict[str, str]:
    found = infer_columns(json.dumps(record).encode() for record in records)
    return {name: str(kind) for name, kind in found.columns}


def test_a_column_has_the_type_that_has_all_of_its_values() -> None:
    assert columns(
        {"id": 1, "at": "2026-01-02T03:04:05Z", "tags": ["a"], "who": {"name": "Ann", "age": None}, "on": True},
        {"id": 2.5, "at": None, "tags": [], "who": {"name": "Bob"}, "on": False, "note": None},
    ) == {
        "id": "DOUBLE",
        "at": "TIMESTAMP",
        "tags": "TEXT[]",
        "who": "STRUCT<name TEXT, age TEXT>",
        "on": "BOOLEAN",
        "note": "TEXT",
    }


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, -5], "BIGINT"),
        ([2**63], "DECIMAL(38, 0)"),
        ([2**63, 1.5], "DOUBLE"),
        ([10**50], "DOUBLE"),
        (["2026-01-02"], "TEXT"),
        (["2026-01-02 03:04"], "TIMESTAMP"),
        (["2026-01-02T03:04:05Z", "soon"], "TEXT"),
        (["2026-13-02T03:04:05Z"], "TEXT"),
        ([1, "one"], "JSON"),
        ([True, 1], "JSON"),
        ([{}], "JSON"),
        ([[]], "JSON"),
        ([[1], ["a"]], "JSON"),
        ([[[1], [2.5]]], "DOUBLE[][]"),
        ([{"a b": 1}], "JSON"),
        ([{"a": 1, "A": 2}], "JSON"),
        ([{str(number): 1 for number in range(300)}], "JSON"),
    ],
)
def test_column_of_mixed_types_is_inferred_as_json(values: list[object], kind: str) -> None:
    assert columns(*({"x": value} for value in values)) == {"x": kind}


def test_values_other_than_objects_are_counted_and_null_columns_are_named() -> None:
    found = infer_columns([b"[1]", b"not json", b'{"a": null, "b": 1}', b'{"a": NaN}', b"", b"[" * 100_000])

    assert (found.records, found.strangers, found.guessed) == (1, 5, ("a",))


VALUES = given_by.recursive(
    given_by.none()
    | given_by.booleans()
    | given_by.integers(-(2**70), 2**70)
    | given_by.floats(allow_nan=False, allow_infinity=False)
    | given_by.datetimes().map(lambda at: at.isoformat() + "Z")
    | given_by.text(max_size=5),
    lambda parts: (
        given_by.lists(parts, max_size=3) | given_by.dictionaries(given_by.sampled_from("abc"), parts, max_size=3)
    ),
    max_leaves=6,
)
NAMES = given_by.sampled_from(["a", "b", "c d", 'e"f', "ä"])


@settings(max_examples=200, deadline=None)
@given(given_by.lists(given_by.dictionaries(NAMES, VALUES, min_size=1, max_size=4), min_size=1, max_size=6))
def test_every_record_fits_the_columns_that_are_found_out_of_it(records: list[dict[str, object]]) -> None:
    lines = [json.dumps(record).encode() for record in records]
    found = infer_columns(lines)
    schema = Schema(tuple(Field(name, kind, nullable=True) for name, kind in found.columns))

    decoded = make_decoder(JsonOptions(), schema).decode_lines(b"\n".join(lines) + b"\n")

    assert [bad.reason for bad in decoded.bad] == []
    for name, kind in found.columns:
        if kind in (types.BIGINT, types.BOOLEAN):
            assert decoded.rows.column(name).to_pylist() == [record.get(name) for record in records]
        if kind == types.DOUBLE:
            pairs = zip(decoded.rows.column(name).to_pylist(), (record.get(name) for record in records), strict=True)
            assert all(have is want or math.isclose(have, float(want)) for have, want in pairs)
