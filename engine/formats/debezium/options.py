"""Options of Debezium records."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from engine.formats.json.options import TIMESTAMP_FORMAT, JsonOptions, TimestampFormat


class DebeziumOptions(JsonOptions):
    """Options for the rows of a record; Debezium's conventions are the defaults."""

    format: str = Field("debezium_json", description="`debezium_json`.")
    timestamp_format: TimestampFormat = Field(
        "unix_millis", alias="json.timestamp_format", description=TIMESTAMP_FORMAT
    )
    decimal_encoding: Literal["number", "string", "bytes"] = Field(
        "bytes", alias="json.decimal_encoding", description="Decimals as numbers, as text, or as base64 of the digits."
    )
