"""Making one file of the segments of one partition; the same segments always give the same bytes."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq

from engine.formats.base import FormatOptions
from engine.formats.parquet import ParquetOptions
from engine.schema import Schema, arrow_schema


def join_segments(form: FormatOptions | None, schema: Schema, segments: Sequence[Path], draft: Path) -> None:
    """Make a file of segments, in their order."""
    if len(segments) > 1 and isinstance(form, ParquetOptions):
        _join_parquet(form, schema, segments, draft)
        return
    with draft.open("wb") as whole:
        for segment in segments:
            with segment.open("rb") as part:
                shutil.copyfileobj(part, whole, 1024 * 1024)


def _join_parquet(form: ParquetOptions, schema: Schema, segments: Sequence[Path], draft: Path) -> None:
    with pq.ParquetWriter(draft, arrow_schema(schema), compression=form.compression) as writer:
        for segment in segments:
            with pq.ParquetFile(segment) as part:
                for group in range(part.num_row_groups):
                    writer.write_table(part.read_row_group(group, use_threads=False))
