"""Raw text: a record is the text of the only column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from engine.formats.base import Format, FormatOptions, RecordKind

if TYPE_CHECKING:
    from engine.formats.base import Decoder, Encoder
    from engine.formats.schema_registry import Subject
    from engine.schema import Schema


class RawStringOptions(FormatOptions):
    """Raw text has no options."""

    format: str = Field("raw_string", description="`raw_string`.")


def _check(
    options: FormatOptions, schema: Schema, direction: Literal["source", "sink", "lookup"], connector: str
) -> str | None:
    if [(field.name, str(field.type)) for field in schema] == [("value", "TEXT")]:
        return None
    return "raw_string format requires a schema with a single field called `value` of type TEXT"


def _decoder(options: FormatOptions, schema: Schema, subject: Subject | None) -> Decoder:
    from engine.formats.raw_string.decode import RawTextDecoder  # noqa: PLC0415 - `arroyo check` must not pay for Arrow

    return RawTextDecoder()


def _encoder(options: FormatOptions, schema: Schema, subject: Subject | None) -> Encoder:
    from engine.formats.raw_string.decode import RawTextEncoder  # noqa: PLC0415 - see `_decoder`

    return RawTextEncoder()


RAW_STRING = Format(
    name="raw_string",
    summary="The record's bytes are the text of the one column `value`.",
    prefix="raw_string",
    options=RawStringOptions,
    records=RecordKind.TEXT,
    decoder=_decoder,
    encoder=_encoder,
    check=_check,
)
