"""The newest rows that a sink has written into files of this machine, for people to look at while a run may be at work.

    out/a.json      closed at noon     row 1, row 2
    out/b.json      closed at one      row 3, row 4          of both, the newest three are 2, 3, 4

Of a file of lines the last megabyte is read, of a Parquet file its last rows; nothing is locked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

from engine.connectors.base import Table
from engine.connectors.files.listing import list_files
from engine.connectors.filesystem.options import FilesystemSinkOptions
from engine.connectors.single_file.options import SingleFileOptions
from engine.connectors.text_files import compression_of
from engine.errors import NotReadBackError

_MOST_BYTES = 1024 * 1024
_MOST_FILES = 200
_DEEPEST = 100
_HALF = re.compile("[\ud800-\udfff]")
Rows = list[dict[str, Any]]


def place_of_rows(table: Table) -> Path:
    """Where the rows lie that a sink has written; refused where they cannot be read back."""
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


def newest_rows(place: Path, limit: int) -> Rows:
    """The newest rows in a file or in the files of a directory, the newest last; none where there is nothing yet."""
    if not place.exists():
        return []
    found: Rows = []
    files = list_files(place, None, by_time=True)
    for file in reversed(files[-_MOST_FILES:]):
        path = place / file.key.name if file.key.name else place
        found = [*_rows_of(path, limit - len(found)), *found]
        if len(found) >= limit:
            break
    return found


def _rows_of(path: Path, limit: int) -> Rows:
    try:
        if path.suffix == ".parquet":
            return _last_of_parquet(path, limit)
        return [_as_row(line) for line in _last_lines(path)[-limit:]]
    except FileNotFoundError:  # somebody has removed it since the directory was listed
        return []
    except (OSError, ValueError) as error:  # what Arrow says of a file that is no Parquet is a ValueError
        raise NotReadBackError(f"{path.name} cannot be read: {error}", hint="look at the file where it is") from error


def _last_lines(path: Path) -> Sequence[bytes]:
    """The last whole lines of a file; of a compressed one nothing, since it is read from its beginning only."""
    if compression_of(path) != "none":
        return ()
    with path.open("rb") as file:
        size = file.seek(0, 2)
        start = max(0, size - _MOST_BYTES)
        file.seek(start)
        content = file.read(_MOST_BYTES)
    lines = content.split(b"\n")
    return [line for line in (lines[1:] if start else lines) if line.strip()]


def _as_row(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = line.decode(errors="replace")
    if not _is_sendable(row):
        row = line.decode(errors="replace")
    return row if isinstance(row, dict) else {"value": row}


def _is_sendable(value: object, depth: int = 0) -> bool:
    """Whether an answer can hold it: one has no escaped half of a character, and is not nested without end."""
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


def _last_of_parquet(path: Path, limit: int) -> Rows:
    import pyarrow.parquet as pq  # noqa: PLC0415

    file = pq.ParquetFile(path)
    rows: Rows = []
    for group in reversed(range(file.num_row_groups)):
        table = file.read_row_group(group)
        missing = limit - len(rows)
        rows = [*({name: _plain(value) for name, value in row.items()} for row in _last(table, missing)), *rows]
        if len(rows) >= limit:
            break
    return rows


def _last(table: Any, count: int) -> Iterator[dict[str, Any]]:
    yield from table.slice(max(0, table.num_rows - count)).to_pylist()


def _plain(value: object) -> object:
    """A value as JSON has it."""
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
