"""Build one file from the segments of one partition. The same segments always result in the same bytes.

    segment 1    PAR1 [A] [B] footer: A at 4, B at 54      segment 2    PAR1 [C] footer: C at 4
    the file     PAR1 [A] [B] [C] footer: A at 4, B at 54, C at 104

Large Parquet row groups are copied unchanged, which is as fast as copying a file. Small ones are decoded and merged
into large ones, and so are those without columns that the table got later. See
`docs/decisions/files-are-built-of-segments.md`.
"""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from engine.connectors.files.parquet_footer import MAGIC, Footer
from engine.delivery.segments import open_segment, reading_segment
from engine.formats.base import FormatOptions
from engine.formats.parquet import ParquetOptions
from engine.schema import Schema, arrow_schema

_FEW = 8
"""Up to this number of segments are copied whatever their size: about as many as the tasks of one epoch write."""
_LARGE = 4 * 1024 * 1024
"""Size from which a segment's row groups are copied unchanged."""
_CHUNK = 1024 * 1024


def join_segments(form: FormatOptions | None, schema: Schema, segments: Sequence[Path], draft: Path) -> None:
    """Write segments into one file, in their order."""
    if len(segments) > 1 and isinstance(form, ParquetOptions):
        _join_parquet(form, schema, segments, draft)
        return
    with draft.open("wb") as whole:
        for segment in segments:
            with open_segment(segment) as part:
                shutil.copyfileobj(part, whole, _CHUNK)


def _join_parquet(form: ParquetOptions, schema: Schema, segments: Sequence[Path], draft: Path) -> None:
    # open files may have rows of a version of the script that had fewer columns
    older = {path for path in segments if _names_in(path) != list(schema.names)}
    if len(segments) <= _FEW and not older:
        _copy_groups(segments, draft)
        return
    sources: list[Path] = []
    gathered: list[Path] = []
    try:
        for is_large, paths in groupby(segments, key=lambda path: path not in older and path.stat().st_size >= _LARGE):
            if is_large:
                sources += paths
                continue
            gathered.append(draft.with_name(f"{draft.name}.{len(gathered)}"))
            sources.append(gathered[-1])
            _gather(form, schema, list(paths), gathered[-1])
        _copy_groups(sources, draft)
    finally:
        for path in gathered:
            path.unlink(missing_ok=True)


def _gather(form: ParquetOptions, schema: Schema, segments: Sequence[Path], target: Path) -> None:
    """Decode small files into row groups of the requested size."""
    waiting: list[pa.Table] = []
    columns = arrow_schema(schema)
    with pq.ParquetWriter(target, columns, compression=form.compression) as writer:
        for segment in segments:
            with pq.ParquetFile(segment) as part:
                groups = (part.read_row_group(group, use_threads=False) for group in range(part.num_row_groups))
                waiting += [_with_all(columns, rows) for rows in groups]
            if sum(table.nbytes for table in waiting) >= form.row_group_size:
                writer.write_table(pa.concat_tables(waiting))
                waiting = []
        if waiting:
            writer.write_table(pa.concat_tables(waiting))


def _names_in(segment: Path) -> list[str]:
    with reading_segment(segment):
        return list(pq.read_schema(segment).names)


def _with_all(columns: pa.Schema, rows: pa.Table) -> pa.Table:
    """Return rows with all columns; missing columns are NULL."""
    if rows.schema.names == columns.names:
        return rows
    present = {name: rows[name] for name in rows.schema.names}
    return pa.table([present.get(field.name, pa.nulls(rows.num_rows, field.type)) for field in columns], columns)


def _copy_groups(segments: Sequence[Path], draft: Path) -> None:
    """Concatenate the row groups of files, byte by byte."""
    footers: list[Footer] = []
    with draft.open("wb") as whole:
        whole.write(MAGIC)
        for segment in segments:
            with open_segment(segment) as part:
                end, footer = _read_footer(part)
                footers.append(footer.moved(whole.tell() - len(MAGIC)))
                part.seek(len(MAGIC))
                remaining = end - len(MAGIC)
                while remaining:
                    remaining -= whole.write(part.read(min(remaining, _CHUNK)))
        whole.write(footers[0].joined(footers[1:]).to_bytes())


def _read_footer(file: BinaryIO) -> tuple[int, Footer]:
    """Return the start of a file's footer, and the footer."""
    tail = len(MAGIC) + 4
    size = file.seek(-tail, os.SEEK_END)
    (length,) = struct.unpack("<I", file.read(4))
    file.seek(size - length)
    return size - length, Footer.read(file.read(length))
