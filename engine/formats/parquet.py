"""Parquet: whole files of rows, without single records to decode."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from engine.formats.base import Format, FormatOptions, RecordKind
from engine.values.option_values import ByteCount


class ParquetOptions(FormatOptions):
    """Options for writing Parquet files; reading needs none."""

    format: str = Field("parquet", description="`parquet`.")
    compression: Literal["zstd", "none", "snappy", "gzip", "lz4", "lz4_raw"] = Field(
        "zstd", alias="parquet.compression", description="The codec of the column chunks."
    )
    row_group_size: ByteCount = Field(
        128 * 1024 * 1024, alias="parquet.row_group_size", description="The size of a row group before compression."
    )


PARQUET = Format(
    name="parquet",
    summary="Parquet files, for connectors that read and write whole files.",
    prefix="parquet",
    options=ParquetOptions,
    records=RecordKind.PARQUET_FILE,
)
