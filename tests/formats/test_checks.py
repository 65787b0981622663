from __future__ import annotations

import pytest

from engine.formats.json.format import JSON
from engine.formats.json.options import JsonOptions
from engine.schema import Field, Schema
from engine.types import BIGINT, Json

NUMBERS = Schema((Field("n", BIGINT),))


def test_compression_is_for_the_filesystem_sink_only() -> None:
    options = JsonOptions(compression="gzip")

    assert JSON.check(options, NUMBERS, "sink", "filesystem") is None
    assert JSON.check(options, NUMBERS, "sink", "single_file") == (
        "'json.compression' is only supported for the filesystem connector"
    )


def test_writing_with_a_registry_names_what_is_missing() -> None:
    message = JSON.check(JsonOptions(confluent_schema_registry=True), NUMBERS, "sink", "single_file")

    assert message is not None
    assert "only supported for the kafka connector" in message


def test_unstructured_json_wants_its_one_column() -> None:
    options = JsonOptions(unstructured=True)

    assert JSON.check(options, Schema((Field("value", Json()),)), "source", "single_file") is None
    assert JSON.check(options, NUMBERS, "source", "single_file") is not None


def test_two_envelopes_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="exclude each other"):
        JsonOptions(include_schema=True, confluent_schema_registry=True)
