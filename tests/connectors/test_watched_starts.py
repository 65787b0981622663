"""Where a directory that is watched begins."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest

from engine.connectors.base import HasMovingStart, Position
from engine.connectors.filesystem.source import FilesystemSource
from engine.connectors.filesystem.source_from import FilesystemSourceFrom
from engine.values.start_positions import read_start
from tests.connectors.tables import NUMBERS, between, rows, table
from tests.connectors.tables import source as open_source

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def changed_at(path: Path, moment: datetime, number: int) -> None:
    path.write_text(f'{{"n": {number}, "name": "x"}}\n')
    os.utime(path, ns=(int(moment.timestamp()) * 10**9,) * 2)


@pytest.mark.parametrize(
    ("start", "numbers"),
    [
        ("earliest", [1, 2, 3, 4]),
        ("timestamp:2026-01-01T12:00:00Z", [2, 3, 4]),
        ("timestamp:2026-01-01T12:00:00.000001Z", [3, 4]),
        ("latest", [4]),
    ],
)
def test_files_that_changed_before_are_passed_over(start: str, numbers: list[int], tmp_path: Path) -> None:
    for number, moment in enumerate((NOON - timedelta(hours=1), NOON, NOON + timedelta(hours=1)), 1):
        changed_at(tmp_path / f"{9 - number}.json", moment, number)
    watched = table("filesystem", NUMBERS, path=tmp_path, type="source", format="json", source__watch=True)
    told = replace(watched, start=read_start(start))
    source = cast("FilesystemSource", open_source(told))
    names = source.partitions()
    moves = isinstance(source, HasMovingStart)
    first: dict[str, Position] = dict(
        source.begin(names, is_first=True)
        if isinstance(source, HasMovingStart)
        else {n: source.start(n) for n in names}
    )
    changed_at(tmp_path / "later.json", NOON + timedelta(hours=2), 4)

    read = rows(list(between(source, first, source.advance(first, None))))

    assert [row["n"] for row in read] == numbers
    assert moves == (start != "earliest")


def test_history_of_a_directory_ends_behind_the_last_file_there_is(tmp_path: Path) -> None:
    changed_at(tmp_path / "b.json", NOON, 1)
    changed_at(tmp_path / "a.json", NOON + timedelta(hours=1), 2)
    watched = table("filesystem", NUMBERS, path=tmp_path, type="source", format="json", source__watch=True)
    source = cast("FilesystemSource", open_source(watched))
    begin = {"files": source.start("files")}
    half = source.advance(begin, 1)["files"]

    end = source.ends_now(begin, {})["files"]
    changed_at(tmp_path / "c.json", NOON + timedelta(hours=2), 3)
    later = source.advance(begin, None)["files"]

    assert source.advance({"files": half}, 1)["files"] == end != later
    assert source.earlier(half, end) == source.earlier(end, half) == half
    assert source.earlier(later, end) == end
    assert source.earlier(begin["files"], half) == begin["files"]


def test_rows_appended_to_a_skipped_file_are_read(tmp_path: Path) -> None:
    changed_at(tmp_path / "a.json", NOON, 1)
    watched = table("filesystem", NUMBERS, path=tmp_path, type="source", format="json", source__watch=True)
    source = cast("FilesystemSourceFrom", open_source(replace(watched, start=read_start("latest"))))
    first = dict(source.begin(source.partitions(), is_first=True))
    (tmp_path / "a.json").write_text('{"n": 1, "name": "x"}\n{"n": 2, "name": "x"}\n')

    assert [row["n"] for row in rows(list(between(source, first, source.advance(first, None))))] == [2]
