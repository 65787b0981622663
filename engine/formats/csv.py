"""CSV: whole files of rows, which only lookup tables read so far."""

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
    """How a CSV file is laid out."""

    format: str = Field("csv", description="`csv`.")
    delimiter: str = Field(",", alias="csv.delimiter", description="The one character between values.")
    header: bool = Field(
        True, alias="csv.header", description="Whether the first line names the columns; without, they go by position."
    )
    null: str = Field(
        "", alias="csv.null", description="What stands for NULL, where it is not in quotes; text in quotes never is."
    )

    @field_validator("delimiter")
    @classmethod
    def _is_a_character(cls, value: str) -> str:
        if len(value) != 1 or not value.isascii() or value in '"\r\n':
            raise ValueError("it must be one character, and neither a quote nor the end of a line")
        return value


def _check(
    options: FormatOptions, schema: Schema, direction: Literal["source", "sink", "lookup"], connector: str
) -> str | None:
    if direction != "lookup":
        return "'csv' is only read by lookup tables so far"
    strangers = [field for field in schema if not isinstance(field.type, _READ)]
    if strangers:
        return f"CSV cannot hold column {strangers[0].name!r} of type {strangers[0].type}"
    return None


CSV = Format(
    name="csv",
    summary="CSV files with quotes where they are needed; only lookup tables read them so far.",
    prefix="csv",
    options=CsvOptions,
    records=RecordKind.CSV_FILE,
    check=_check,
)
