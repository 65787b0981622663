"""CSV: whole files of rows, only for lookup tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field, field_validator

from engine import types
from engine.formats.base import Format, FormatOptions, RecordKind

if TYPE_CHECKING:
    from engine.schema import Schema

_NUMBERS = types.Integer | types.Float | types.Decimal
_READ = _NUMBERS | types.Boolean | types.Text | types.Json | types.Timestamp | types.Date


class CsvOptions(FormatOptions):
    """Layout of a CSV file."""

    format: str = Field("csv", description="`csv`.")
    delimiter: str = Field(",", alias="csv.delimiter", description="The one character between values.")
    header: bool = Field(
        True, alias="csv.header", description="Whether the first line names the columns; otherwise they go by position."
    )
    null: str = Field("", alias="csv.null", description="The text that stands for NULL; text in quotes is never NULL.")

    @field_validator("delimiter")
    @classmethod
    def _is_a_character(cls, value: str) -> str:
        if len(value) != 1 or not value.isascii() or value in '"\r\n':
            raise ValueError("must be a single ASCII character other than a quote or a line break")
        return value


def _check(
    options: FormatOptions, schema: Schema, direction: Literal["source", "sink", "lookup"], connector: str
) -> str | None:
    if direction != "lookup":
        return "'csv' is only supported for lookup tables"
    unreadable = next((field for field in schema if not isinstance(field.type, _READ)), None)
    return f"CSV cannot hold column {unreadable.name!r} of type {unreadable.type}" if unreadable else None


CSV = Format(
    name="csv",
    summary="CSV files, with quotes where they are needed; only for lookup tables.",
    prefix="csv",
    options=CsvOptions,
    records=RecordKind.CSV_FILE,
    check=_check,
)
