"""Read the newest rows of a sink's files on this machine for display, possibly while a run writes them.

    out/a.json      closed at noon     row 1, row 2
    out/b.json      closed at one      row 3, row 4          the newest three of both are 2, 3, 4

In a file of lines the last megabyte is read. In a Parquet file the last row group is decoded in pieces of about a
megabyte, and only the last piece is kept, because a group can be larger than memory. In total the result has at most a
megabyte, or the requested number of rows. Nothing is locked. The rows are contiguous: if a row cannot be shown, earlier
rows are not shown either, and the result gives the reason.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.connectors.base import Table
from engine.connectors.files.listing import list_files
from engine.connectors.filesystem.options import FilesystemSinkOptions
from engine.connectors.single_file.options import SingleFileOptions
from engine.connectors.text_files import compression_of
from engine.errors import NotReadBackError, message_of

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_MOST_BYTES = 1024 * 1024
_MOST_FILES = 200
_FIRST_ROWS_AT_ONCE = 16
_MOST_ROWS_AT_ONCE = 1_000
_LARGEST_GROUP = 1024 * 1024 * 1024
"""Size of a row group that takes about five seconds to decode."""
_AS_MUCH = f"{_MOST_BYTES // 1024**2} MiB"
_DEEPEST = 100
_HALF = re.compile("[\ud800-\udfff]")
Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class NewestRows:
    """The newest rows, newest last, and why earlier rows are missing; None if there are none, or no more were
    requested."""

    rows: Rows
    left_out: str | None = None


def place_of_rows(table: Table) -> Path:
    """Return the path of the rows that a sink has written; raise if its rows cannot be read back."""
    form = "" if table.format is None else table.format.format
    if isinstance(table.options, FilesystemSinkOptions) and isinstance(table.options.location, Path):
        if form in ("json", "parquet", "debezium_json"):
            return table.options.location
        raise NotReadBackError(f"{table.name} is written as {form}, which is not read back")
    if isinstance(table.options, SingleFileOptions) and form in ("json", "debezium_json"):
        return table.options.path
    raise NotReadBackError(
        f"what {table.name} has written is not in files of JSON or Parquet on this machine",
        hint="read it where it is, or look at the script with Preview",
    )


def newest_rows(place: Path, limit: int) -> NewestRows:
    """Return the newest rows in a file or in the files of a directory; none if nothing is written yet."""
    if not place.exists():
        return NewestRows([])
    found, size = Rows(), 0
    files = list_files(place, None, by_time=True)
    for before in reversed(range(len(files))):
        name = files[before].key.name
        last = _last_of(place / name if name else place, limit - len(found))
        found, size = [*last.rows, *found], size + last.size
        if len(found) >= limit:
            break
        left_out = last.left_out or _why_no_more(before, len(files) - before, size)
        if left_out is not None:
            return NewestRows(found, left_out)
    return NewestRows(found)


def _why_no_more(before: int, read: int, size: int) -> str | None:
    """Return why earlier files are not read; None if they are, or if there are none."""
    if before > 0 and size >= _MOST_BYTES:
        return f"they are in files before those whose rows, of {_AS_MUCH} together, are shown"
    if before > 0 and read >= _MOST_FILES:
        return f"only the newest {_MOST_FILES} files are looked into"
    return None


@dataclass(frozen=True, slots=True)
class _Last:
    """Last rows of a file, their size, and why other requested rows of it are missing."""

    rows: Rows
    size: int = 0
    left_out: str | None = None


def _last_of(path: Path, limit: int) -> _Last:
    try:
        return _last_of_parquet(path, limit) if path.suffix == ".parquet" else _last_of_lines(path, limit)
    except FileNotFoundError:  # it was removed after the directory was listed
        return _Last([])
    except (OSError, ValueError) as error:  # what Arrow says of a file that is no Parquet is a ValueError
        raise NotReadBackError(
            f"{path.name} cannot be read: {message_of(error)}", hint="look at the file where it is"
        ) from error


def _last_of_lines(path: Path, limit: int) -> _Last:
    """Return the last whole lines; none of a compressed file, which can only be read from its beginning."""
    if compression_of(path) != "none":
        return _Last([], left_out=f"{path.name} is compressed, and not looked into")
    with path.open("rb") as file:
        size = file.seek(0, 2)
        start = max(0, size - _MOST_BYTES)
        file.seek(start)
        content = file.read(_MOST_BYTES)
    lines = content.split(b"\n")
    filled = [line for line in (lines[1:] if start else lines) if line.strip()]
    shown = filled[-limit:]
    rows, size = [_as_row(line) for line in shown], sum(map(len, shown))
    if start == 0:
        return _Last(rows, size)
    whole = f"of {path.name} the last {_AS_MUCH} is read"
    return _Last(rows, size, whole if rows else f"the newest row of {path.name} is longer than {_AS_MUCH}")


def _as_row(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = line.decode(errors="replace")
    if not _is_sendable(row):
        row = line.decode(errors="replace")
    return row if isinstance(row, dict) else {"value": row}


def _is_sendable(value: object, depth: int = 0) -> bool:
    """Whether a JSON answer can contain the value: no unpaired surrogate, and no excessive nesting."""
    if depth > _DEEPEST:
        return False
    match value:
        case str():
            return value.isascii() or not _HALF.search(value)
        case dict():
            return all(_is_sendable(key) and _is_sendable(part, depth + 1) for key, part in value.items())
        case list():
            return all(_is_sendable(part, depth + 1) for part in value)
    return True


def _last_of_parquet(path: Path, limit: int) -> _Last:
    import pyarrow.parquet as pq  # noqa: PLC0415

    kept = _Kept(limit)
    with pq.ParquetFile(path, buffer_size=_MOST_BYTES, pre_buffer=False) as file:
        for group in reversed(range(file.num_row_groups)):
            if kept.is_full:
                break
            kept = _last_of_group(file, group, kept, path.name)
        is_cut = kept.rows < file.metadata.num_rows
    rows = [{name: _plain(value) for name, value in row.items()} for row in kept.wanted()]
    return _Last(rows, kept.size, f"of {path.name} about the last {_AS_MUCH} is shown" if is_cut else None)


@dataclass(slots=True)
class _Kept:
    """Last rows so far, in batches: up to the requested number of rows, and the allowed number of bytes."""

    limit: int
    batches: deque[pa.RecordBatch] = field(default_factory=deque)
    rows: int = 0
    size: int = 0

    @property
    def is_full(self) -> bool:
        """Whether no earlier rows are needed."""
        return self.rows >= self.limit or self.size >= _MOST_BYTES

    def add(self, batch: pa.RecordBatch) -> None:
        """Append a batch, and drop the rows that are no longer needed."""
        self.batches.append(batch)
        self.rows += batch.num_rows
        self.size += batch.nbytes
        while len(self.batches) > 1:
            first = self.batches[0]
            if self.rows - first.num_rows < self.limit and self.size - first.nbytes < _MOST_BYTES:
                break
            self.batches.popleft()
            self.rows -= first.num_rows
            self.size -= first.nbytes

    def wanted(self) -> Iterator[dict[str, Any]]:
        """Yield the wanted rows."""
        for at, batch in enumerate(self.batches):
            yield from batch.slice(0 if at else max(0, self.rows - self.limit)).to_pylist()


def _last_of_group(file: pq.ParquetFile, group: int, behind: _Kept, name: str) -> _Kept:
    """Return the last rows of a group with the later ones. A file has no index to the end of a group: all of it is
    decoded."""
    form = file.metadata.row_group(group)
    _refuse_larger(form.total_byte_size, name)
    kept, size = _Kept(behind.limit), 0
    at_once = _rows_at_once(_FIRST_ROWS_AT_ONCE, form.num_rows, form.total_byte_size)
    for batch in file.iter_batches(at_once, row_groups=[group], use_threads=False):
        size += batch.nbytes
        _refuse_larger(size, name)
        kept.add(batch)
        file.reader.set_batch_size(_rows_at_once(2 * batch.num_rows, batch.num_rows, batch.nbytes))
    for batch in behind.batches:
        kept.add(batch)
    return kept


def _rows_at_once(most: int, rows: int, size: int) -> int:
    """Return how many rows to decode next, from the size of the rows decoded before. The file has only their encoded
    size: a text that repeats a thousand times is stored once."""
    return max(1, min(most, _MOST_ROWS_AT_ONCE, _MOST_BYTES * rows // max(1, size)))


def _refuse_larger(size: int, name: str) -> None:
    if size > _LARGEST_GROUP:
        raise NotReadBackError(
            f"{name} has a group of {size} bytes of rows or more, which all must be read for the last of them",
            hint=f"groups of at most {_LARGEST_GROUP} bytes are read; look at the file where it is",
        )


def _plain(value: object) -> object:
    """Return a value for JSON."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case datetime() | date():
            return value.isoformat()
        case bytes():
            return f"{len(value)} bytes"
        case list():
            return [_plain(part) for part in value]
        case dict():
            return {str(name): _plain(part) for name, part in value.items()}
    return str(value)
