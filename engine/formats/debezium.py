"""Changes as Debezium writes them: one JSON object with the row before and after, and what was done to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from engine.formats.base import Format
from engine.formats.json import JSON, JsonOptions

if TYPE_CHECKING:
    from engine.formats.base import FormatOptions
    from engine.schema import Schema


class DebeziumOptions(JsonOptions):
    """How the rows of a change are written; Debezium's own ways are the defaults."""

    format: str = Field("debezium_json", description="`debezium_json`.")
    timestamp_format: Literal["rfc3339", "unix_millis"] = Field(
        "unix_millis", alias="json.timestamp_format", description="Timestamps as text, or as milliseconds since 1970."
    )
    decimal_encoding: Literal["number", "string", "bytes"] = Field(
        "bytes", alias="json.decimal_encoding", description="Decimals as numbers, as text, or as base64 of the digits."
    )


def _check(
    options: FormatOptions, schema: Schema, direction: Literal["source", "sink", "lookup"], connector: str
) -> str | None:
    assert isinstance(options, DebeziumOptions)
    if options.unstructured:
        return "'json.unstructured' has no columns, and so no rows that could change"
    return JSON.check(options, schema, direction, connector)


DEBEZIUM_JSON = Format(
    name="debezium_json",
    summary="Changes of rows as Debezium writes them, with the row before and after; `r` is read as `c`.",
    prefix="json",
    options=DebeziumOptions,
    check=_check,
    carries_changes=True,
)
