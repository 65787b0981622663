from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.connectors.base import Table
from engine.connectors.filesystem.options import FilesystemSourceOptions
from engine.connectors.filesystem.watched import WatchedFilesystemSource
from engine.connectors.options import read_table_options
from engine.errors import BadRecordError, EngineError, FilesChangedError, ScriptRefused
from engine.schema import Field, Schema
from engine.types import BIGINT, TEXT, TIMESTAMP
from tests.connectors.tables import (
    NUMBERS,
    batch,
    between,
    connector,
    given,
    positions,
    read_all,
    rows,
    source,
    start,
    table,
)

SECOND = 1_000_000_000


def directory(folder: Path, **options: Any) -> Table:
    return table("filesystem", NUMBERS, path=folder, type="source", **{"format": "json"} | options)


def put(path: Path, *numbers: int, at: int = 0) -> None:
    """A file of rows, last changed so many seconds after 1970."""
    path.write_text("".join(f'{{"n": {number}}}\n' for number in numbers))
    os.utime(path, ns=(at * SECOND, at * SECOND))


@pytest.mark.parametrize("kind", ["single_file", "filesystem"])
def test_a_file_that_is_missing_is_named_with_advice(kind: str, tmp_path: Path) -> None:
    of = table(kind, NUMBERS, path=tmp_path / "nothing", type="source", format="json")

    with pytest.raises(EngineError) as refused:
        start(source(of))

    assert refused.value.code == "data.missing_file"
    assert str(tmp_path / "nothing") in refused.value.message
    assert refused.value.hint


def test_a_directory_is_no_single_file(tmp_path: Path) -> None:
    with pytest.raises(EngineError) as refused:
        start(source(table("single_file", NUMBERS, path=tmp_path, type="source", format="json")))

    assert refused.value.code == "data.unreadable_file"


def test_a_file_that_is_not_compressed_as_it_says_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / "in.json.gz").write_text('{"n": 1}\n')

    with pytest.raises(EngineError) as refused:
        read_all(source(table("single_file", NUMBERS, path=tmp_path / "in.json.gz", type="source", format="json")))

    assert refused.value.code == "data.unreadable_file"


def test_a_bad_record_tells_file_line_column_and_remedy(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text('{"n": 1}\n{"n": 2}\n{"n": "x"}\n{"n": 4}\n')
    of = table("single_file", NUMBERS, path=tmp_path / "in.json", type="source", format="json")

    with pytest.raises(BadRecordError) as refused:
        read_all(source(of), max_rows=2)

    assert refused.value.code == "data.bad_record"
    assert f"{tmp_path / 'in.json'}, line 3: column 'n': expected BIGINT, found \"x\"" in refused.value.message
    assert "bad_data = 'drop'" in str(refused.value.hint)


def test_bad_records_may_be_dropped_and_are_counted(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text('{"n": 1}\nnonsense\n{}\n{"n": 4}\n')
    options: dict[str, Any] = {"path": tmp_path / "in.json", "type": "source", "format": "json", "bad_data": "drop"}
    reader = source(table("single_file", NUMBERS, **options))
    [piece] = reader.slices("0", reader.start("0"), positions(reader, None)[-1]["0"], 1)

    chunks = list(reader.read(piece))

    assert [row["n"] for row in rows([chunk.rows for chunk in chunks])] == [1, 4]
    assert sum(chunk.dropped for chunk in chunks) == 2


def test_lines_know_their_number_and_file(tmp_path: Path) -> None:
    put(tmp_path / "in.json", 1, 2, 3)
    path = tmp_path / "in.json"
    of = table("single_file", NUMBERS, {"l": "line", "f": "filename"}, path=path, type="source", format="json")

    records = read_all(source(of), max_rows=2)

    assert [(row["l"], row["f"]) for row in records] == [(1, str(path)), (2, str(path)), (3, str(path))]


def test_lines_that_are_too_long_are_cut(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("abcdef\nab\n")
    lines = Schema((Field("value", TEXT),))
    of = table("single_file", lines, path=tmp_path / "in.txt", type="source", format="raw_string")
    cut = Table(of.name, of.connector, of.direction, of.options, of.schema, of.format, framing_max_length=3)

    assert [row["value"] for row in read_all(source(cut))] == ["abc", "ab"]


def test_only_files_that_match_are_read(tmp_path: Path) -> None:
    put(tmp_path / "a.json", 1)
    put(tmp_path / "b.jsonl", 2)
    put(tmp_path / ".c.json", 3)

    records = read_all(source(directory(tmp_path, source__regex_pattern=r"\.json$")))

    assert [row["n"] for row in records] == [1]


def test_an_empty_directory_is_finished_at_once(tmp_path: Path) -> None:
    reader = source(directory(tmp_path))

    assert reader.is_finished("files", reader.start("files"))


def test_a_file_added_inside_a_planned_range_is_noticed(tmp_path: Path) -> None:
    put(tmp_path / "a.json", 1)
    put(tmp_path / "c.json", 3)
    reader = source(directory(tmp_path))
    last = positions(reader, None)[-1]
    put(tmp_path / "b.json", 2)

    with pytest.raises(FilesChangedError) as refused:
        rows(between(reader, start(reader), last))

    assert refused.value.code == "data.files_changed"


def test_a_file_changed_inside_a_planned_range_is_noticed(tmp_path: Path) -> None:
    put(tmp_path / "a.json", 1)
    reader = source(directory(tmp_path))
    last = positions(reader, None)[-1]
    put(tmp_path / "a.json", 1, 2)

    with pytest.raises(FilesChangedError):
        rows(between(reader, start(reader), last))


def test_rows_appended_to_a_file_during_its_read_are_ignored(tmp_path: Path) -> None:
    put(tmp_path / "a.json", 1)
    reader = source(directory(tmp_path))
    last = positions(reader, None)[-1]
    pieces = reader.slices("files", reader.start("files"), last["files"], 2)
    put(tmp_path / "a.json", 1, 2)

    assert [row["n"] for piece in pieces for chunk in reader.read(piece) for row in chunk.rows.to_pylist()] == [1]


def test_files_that_were_read_may_be_taken_away(tmp_path: Path) -> None:
    put(tmp_path / "a.json", 1)
    put(tmp_path / "b.json", 2)
    reader = source(directory(tmp_path))
    middle = dict(reader.advance(start(reader), 1))
    (tmp_path / "a.json").unlink()

    assert [row["n"] for row in rows(between(reader, middle, reader.advance(middle, None)))] == [2]


def watching(folder: Path, now: list[int]) -> WatchedFilesystemSource:
    of = directory(folder, source__watch=True, source__settle_time="2 seconds")
    assert isinstance(of.options, FilesystemSourceOptions)
    return WatchedFilesystemSource(of, of.options, clock=lambda: now[0] * SECOND)


def test_a_watching_source_goes_on_with_new_files_in_the_order_of_their_time(tmp_path: Path) -> None:
    now = [100]
    reader = watching(tmp_path, now)
    put(tmp_path / "z.json", 1, at=10)
    first = dict(reader.advance(start(reader), None))
    put(tmp_path / "a.json", 2, at=20)

    second = dict(reader.advance(first, None))

    assert not reader.bounded
    assert not reader.is_finished("files", second["files"])
    assert [row["n"] for row in rows(between(reader, first, second))] == [2]
    assert dict(reader.advance(second, None)) == second


def test_a_watching_source_leaves_files_alone_that_may_still_be_written(tmp_path: Path) -> None:
    now = [100]
    reader = watching(tmp_path, now)
    put(tmp_path / "a.json", 1, at=99)
    before = start(reader)

    assert dict(reader.advance(before, None)) == before

    now[0] = 101
    assert [row["n"] for row in rows(between(reader, before, reader.advance(before, None)))] == [1]


def test_a_directory_is_read_to_its_end_when_no_file_follows_that_may_still_be_written(tmp_path: Path) -> None:
    now = [100]
    reader = watching(tmp_path, now)
    put(tmp_path / "a.json", 1, 2, at=10)
    within = dict(reader.advance(start(reader), 1))
    behind = dict(reader.advance(within, None))
    assert not reader.is_at_end("files", within["files"])
    reader.advance(behind, None)
    assert reader.is_at_end("files", behind["files"])

    put(tmp_path / "b.json", 3, at=99)
    assert dict(reader.advance(behind, None)) == behind
    assert not reader.is_at_end("files", behind["files"])

    now[0] = 101
    last = dict(reader.advance(behind, None))
    assert not reader.is_at_end("files", behind["files"])
    assert reader.is_at_end("files", last["files"])


def test_parquet_is_read_by_column_and_cast_to_the_declared_types(tmp_path: Path) -> None:
    naive = pa.array([datetime(2024, 1, 1, tzinfo=UTC).replace(tzinfo=None)], pa.timestamp("ns"))
    pq.write_table(pa.table({"more": ["x"], "N": pa.array([7], pa.int32()), "at": naive}), tmp_path / "a.parquet")
    schema = Schema((Field("n", BIGINT), Field("at", TIMESTAMP), Field("absent", TEXT)))

    [row] = read_all(source(table("filesystem", schema, path=tmp_path, type="source", format="parquet")))

    assert row == {"n": 7, "at": datetime(2024, 1, 1, tzinfo=UTC), "absent": None}


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ({"m": [1]}, "data.unreadable_file"),
        ({"n": ["x"]}, "data.unreadable_file"),
        ({"n": [1, None]}, "data.bad_record"),
    ],
)
def test_parquet_that_does_not_fit_is_refused(columns: dict[str, list[object]], code: str, tmp_path: Path) -> None:
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")

    with pytest.raises(EngineError) as refused:
        read_all(source(directory(tmp_path, format="parquet")))

    assert refused.value.code == code


def test_rows_of_parquet_with_null_where_none_may_be_can_be_dropped(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": [1, None, 3]}), tmp_path / "a.parquet")

    assert [row["n"] for row in read_all(source(directory(tmp_path, format="parquet", bad_data="drop")))] == [1, 3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path": "ftp://host/x"}, "must be a directory, s3://... or s3::https://..., not ftp:"),
        ({"path": "x", "source__regex_pattern": "("}, "not a valid regular expression"),
        ({"path": "x", "source__compression": "rar"}, "'none', 'gzip' or 'zstd'"),
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(ScriptRefused, match=message):
        read_table_options(connector("filesystem"), given(type="source", format="json", **options), table="t")


def test_a_file_url_is_a_path() -> None:
    of = table("filesystem", NUMBERS, path="file:///data/in", type="source", format="json")

    assert isinstance(of.options, FilesystemSourceOptions)
    assert of.options.path == Path("/data/in")


def test_a_file_without_its_last_newline_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_bytes(b'{"n": 1}\n{"n": 2}')
    of = table("single_file", NUMBERS, path=tmp_path / "in.json", type="source", format="json")

    for max_rows in (None, 1, 2, 3):
        assert [row["n"] for row in read_all(source(of), max_rows)] == [1, 2]


def test_an_empty_batch_has_the_tables_schema() -> None:
    assert batch(NUMBERS).num_rows == 0
