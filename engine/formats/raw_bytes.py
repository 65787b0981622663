"""Raw bytes: a record is the value of the only column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from engine.formats.base import Decoded, Format, FormatOptions, RecordKind

if TYPE_CHECKING:
    import pyarrow as pa

    from engine.formats.schema_registry import Subject
    from engine.schema import Schema


class RawBytesOptions(FormatOptions):
    """Raw bytes have no options."""

    format: str = Field("raw_bytes", description="`raw_bytes`.")


class RawBytes:
    """Passes records through, in both directions; a record without a value gives no row."""

    def decode_lines(self, block: bytes) -> Decoded:
        """Raise: bytes have no lines."""
        raise TypeError("raw bytes have no lines")

    def decode_messages(self, payloads: pa.BinaryArray) -> Decoded:
        """Return one row per payload; NULL payloads are skipped."""
        import pyarrow as pa  # noqa: PLC0415 - `arroyo check` must not pay for Arrow
        import pyarrow.compute as pc  # noqa: PLC0415 - the same

        origin = pc.indices_nonzero(payloads.is_valid()).cast(pa.int64()) if payloads.null_count else None
        schema = pa.schema([("value", pa.binary())])
        return Decoded(pa.RecordBatch.from_arrays([payloads.drop_null()], schema=schema), origin)

    def encode_lines(self, rows: pa.RecordBatch) -> bytes:
        """Raise: bytes have no lines."""
        raise TypeError("raw bytes have no lines")

    def encode_messages(self, rows: pa.RecordBatch) -> pa.BinaryArray:
        """Return one payload per row."""
        return rows.column(0)


def _check(
    options: FormatOptions, schema: Schema, direction: Literal["source", "sink", "lookup"], connector: str
) -> str | None:
    if [(field.name, str(field.type)) for field in schema] == [("value", "BYTEA")]:
        return None
    return "raw_bytes format requires a schema with a single field called `value` of type BYTEA"


def _make(options: FormatOptions, schema: Schema, subject: Subject | None) -> RawBytes:
    return RawBytes()


RAW_BYTES = Format(
    name="raw_bytes",
    summary="The record's bytes are the value of the one column `value`.",
    prefix="raw_bytes",
    options=RawBytesOptions,
    records=RecordKind.BYTES,
    decoder=_make,
    encoder=_make,
    check=_check,
)
