from __future__ import annotations

from datetime import timedelta

import pytest
from pydantic import Field

from engine.connectors.base import Options
from engine.connectors.options import TableOptions, WithOption, parse_options, read_table_options, split_options
from engine.errors import EngineError, ScriptRefused, TextPosition
from engine.formats.json.options import JsonOptions
from engine.values.option_values import ByteCount, MicrosOrInterval
from tests.connectors.tables import connector, given


class Everything(Options):
    """One of each kind."""

    needed: str = Field(description="d")
    count: int = Field(0, ge=0, description="d")
    change: int = Field(0, description="d")
    share: float = Field(0, description="d")
    is_on: bool = Field(False, description="d")
    wait: timedelta | None = Field(None, description="d")
    spacing: MicrosOrInterval | None = Field(None, description="d")
    size: ByteCount = Field(0, description="d")
    names: tuple[str, ...] = Field((), description="d")
    dotted: str | None = Field(None, alias="a.b", description="d")


def complaints(*options: WithOption) -> list[EngineError]:
    with pytest.raises(ScriptRefused) as refused:
        parse_options(Everything, options, table="t", at=TextPosition(9, 9))
    return list(refused.value.complaints)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("count", "12", 12),
        ("count", 12, 12),
        ("change", "-3", -3),
        ("share", "0.5", 0.5),
        ("share", 2, 2.0),
        ("is_on", "true", True),
        ("is_on", False, False),
        ("wait", "1 minute 30 seconds", timedelta(seconds=90)),
        ("wait", timedelta(days=1), timedelta(days=1)),
        ("spacing", 250, timedelta(microseconds=250)),
        ("spacing", "5 ms", timedelta(milliseconds=5)),
        ("size", "128mb", 128 * 1024 * 1024),
        ("size", "1.5 KiB", 1536),
        ("size", 7, 7),
        ("names", ("a", "b"), ("a", "b")),
        ("names", "[a, 'b']", ("a", "b")),
    ],
)
def test_a_value_may_be_native_or_text(name: str, value: str, expected: object) -> None:
    read = parse_options(Everything, given(needed="x", **{name: value}), table="t")

    assert getattr(read, name) == expected


def test_a_dotted_option_is_read_by_its_dotted_name() -> None:
    assert parse_options(Everything, given(needed="x", a__b="c"), table="t").dotted == "c"


def test_all_unknown_options_are_one_complaint_at_the_first_place() -> None:
    [wrong] = complaints(*given(needed="x", coutn=1, blah=2))

    assert wrong.code == "option.unknown"
    assert wrong.message == "there are no options 'coutn', 'blah'"
    assert wrong.hint == "did you mean 'count'?"
    assert wrong.at == TextPosition(1, 2)


def test_a_missing_option_is_named() -> None:
    [wrong] = complaints()

    assert (wrong.code, wrong.message, wrong.at) == (
        "option.missing",
        "option 'needed' is required",
        TextPosition(9, 9),
    )


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("count", "abc", "a whole number of at least zero"),
        ("count", "-1", "a whole number of at least zero"),
        ("change", "1.5", "a whole number"),
        ("share", "x", "a number"),
        ("is_on", "maybe", "true or false"),
        ("wait", "1 month", "a length of time like '5 seconds'"),
        ("size", "12 apples", "a number of bytes like '128mb'"),
        ("names", 3, "a list like ['a', 'b']"),
        ("needed", 3, "a quoted text"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused(name: str, value: str, expected: str) -> None:
    options = given(**{"needed": "x", name: value})

    [wrong] = complaints(*options)

    assert wrong.code == "option.wrong_type"
    assert wrong.message == f"option '{name}' must be {expected}, not '{value}'"


def test_every_complaint_is_collected() -> None:
    wrong = complaints(*given(coutn=1, count="x", wait="y"))

    assert [complaint.code for complaint in wrong] == [
        "option.unknown",
        "option.wrong_type",
        "option.wrong_type",
        "option.missing",
    ]


def test_options_are_sorted_by_whom_they_are_for() -> None:
    split = split_options(given(format="json", json__unstructured=True, path="x", bad_data="drop"))

    assert [option.name for option in split.general] == ["format", "bad_data"]
    assert [option.name for option in split.format] == ["json.unstructured"]
    assert [option.name for option in split.connector] == ["path"]


def test_the_options_of_table_format_and_connector_are_read_together() -> None:
    options = given(path="x", type="source", format="json", json__timestamp_format="UnixMillis", idle_time=-1)

    read = read_table_options(connector("single_file"), options, table="t")

    assert read.direction == "source"
    assert read.general.idle_after is None
    assert isinstance(read.format, JsonOptions)
    assert read.format.timestamp_format == "unix_millis"


def test_complaints_about_all_parts_of_a_table_come_together() -> None:
    options = given(type="source", format="json", json__bla=1, pat="x", bad_data="maybe")

    with pytest.raises(ScriptRefused) as refused:
        read_table_options(connector("single_file"), options, table="t", at=TextPosition(1, 1))

    assert {complaint.code for complaint in refused.value.complaints} == {
        "option.unknown",
        "option.missing",
        "option.bad_value",
    }
    assert "there are no options 'json.bla', 'pat'" in str(refused.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path": "x", "format": "json"}, "option 'type' is required"),
        ({"path": "x", "type": "source"}, "option 'format' is required"),
        ({"path": "x", "type": "lookup", "format": "json"}, "connector 'single_file' has no type 'lookup'"),
        ({"path": "x", "type": "sink", "format": "avro"}, "connector 'single_file' does not support the format 'avro'"),
    ],
)
def test_a_table_without_direction_or_format_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(ScriptRefused, match=message):
        read_table_options(connector("single_file"), given(**options), table="t", at=TextPosition(1, 1))


@pytest.mark.parametrize(
    ("options", "expected"), [({}, 300), ({"idle_micros": 5_000_000}, 5), ({"idle_micros": -1}, None)]
)
def test_the_older_spelling_of_the_idle_time_counts(options: dict[str, int], expected: int | None) -> None:
    after = parse_options(TableOptions, given(**options), table="t").idle_after

    assert after == (None if expected is None else timedelta(seconds=expected))
