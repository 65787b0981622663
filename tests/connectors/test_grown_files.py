"""Files that change after a watching source has read them: they grow, are cut, or are others."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.connectors.base import Position
from engine.connectors.files import read_files
from engine.connectors.filesystem.options import FilesystemSourceOptions
from engine.connectors.filesystem.watched import WatchedFilesystemSource
from engine.errors import FilesChangedError
from tests.connectors.tables import NUMBERS, between, rows, start, table

SECOND = 1_000_000_000
At = Mapping[str, Position]


def lines(numbers: Iterable[int]) -> str:
    return "".join(f'{{"n": {number}}}\n' for number in numbers)


class Watched:
    """A source that watches a path, one position after the other. Its clock is at `now` seconds after 1970."""

    def __init__(self, path: Path, **options: Any) -> None:
        given = {"format": "json", "source__watch": True, "source__settle_time": "2 seconds", **options}
        self.table = table("filesystem", NUMBERS, path=path, type="source", **given)
        self.now = 1000
        self.source = self.open()
        self.at: At = start(self.source)

    def open(self) -> WatchedFilesystemSource:
        assert isinstance(self.table.options, FilesystemSourceOptions)
        return WatchedFilesystemSource(self.table, self.table.options, clock=lambda: self.now * SECOND)

    def read(self, max_rows: int | None = None) -> list[int]:
        """The numbers in the next epoch."""
        before, self.at = self.at, dict(self.source.advance(self.at, max_rows))
        return self.numbers(before, self.at)

    def numbers(self, before: At, after: At) -> list[int]:
        return [row["n"] for row in rows(between(self.source, before, after))]


def write(path: Path, content: str | bytes, at: int) -> None:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    os.utime(path, ns=(at * SECOND, at * SECOND))


@pytest.fixture(params=["file", "directory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path]:
    """The file, and the path of a table that reads it: the file itself, or its directory."""
    folder = tmp_path / "in"
    folder.mkdir()
    return folder / "a.json", folder / "a.json" if request.param == "file" else folder


def test_a_file_that_grows_is_read_on_from_where_it_ended(place: tuple[Path, Path]) -> None:
    file, path = place
    write(file, lines(range(5)), at=10)
    watched = Watched(path)
    assert watched.read() == [0, 1, 2, 3, 4]

    write(file, lines(range(7)), at=20)
    before = watched.at

    assert watched.read() == [5, 6]
    assert watched.read() == []
    write(file, lines(range(9)), at=30)
    assert watched.numbers(before, watched.at) == [5, 6], "a replay reads the same, although the file has grown on"
    assert watched.read() == [7, 8]


@pytest.mark.parametrize(
    ("content", "change"),
    [
        (lines(range(3)), "it was cut from 90 to 27 bytes"),
        (lines([9, *range(1, 10)]), "it was rewritten"),
        (lines([9, *range(1, 12)]), "it has grown to 110 bytes, and the first 90 have changed"),
    ],
)
def test_a_file_that_has_changed_is_an_error_or_a_new_file(place: tuple[Path, Path], content: str, change: str) -> None:
    file, path = place
    write(file, lines(range(10)), at=10)
    watched, lenient = Watched(path), Watched(path, source__on_change="new_file")
    assert watched.read() == lenient.read() == list(range(10))
    write(file, content, at=20)

    with pytest.raises(FilesChangedError) as refused:
        watched.read()

    assert str(file) in refused.value.message
    assert change in refused.value.message
    assert "new_file" in str(refused.value.hint)
    assert lines(lenient.read()) == content
    assert lenient.read() == []
    write(file, content + lines([7]), at=30)
    assert lenient.read() == [7]


def test_a_file_that_was_only_touched_is_read_once(place: tuple[Path, Path]) -> None:
    file, path = place
    write(file, lines(range(3)), at=10)
    watched = Watched(path)
    watched.read()
    os.utime(file, ns=(20 * SECOND, 20 * SECOND))

    assert watched.read() == []
    assert watched.source.is_at_end("files", watched.at["files"])


def test_a_last_line_that_is_half_written_waits(place: tuple[Path, Path]) -> None:
    file, path = place
    write(file, lines(range(2)), at=10)
    watched = Watched(path)
    watched.read()
    write(file, lines(range(3)) + '{"n": 1', at=999)

    assert watched.read() == [2]
    assert not watched.source.is_at_end("files", watched.at["files"])

    write(file, lines([0, 1, 2, 17]), at=999)
    assert watched.read() == [17]
    assert watched.source.is_at_end("files", watched.at["files"])


def test_a_last_line_without_an_end_is_read_once_it_has_settled(place: tuple[Path, Path]) -> None:
    file, path = place
    write(file, '{"n": 1}', at=10)
    watched = Watched(path)
    assert watched.read() == [1]

    write(file, '{"n": 1}\n{"n": 2}\n', at=20)
    assert watched.read() == [2]

    write(file, '{"n": 1}\n{"n": 2}\n{"n": 3}', at=30)
    assert watched.read() == [3]
    write(file, '{"n": 1}\n{"n": 2}\n{"n": 3}3', at=40)
    with pytest.raises(FilesChangedError, match="or the last line has"):
        watched.read()


@pytest.mark.parametrize("kind", ["gz", "parquet"])
def test_files_that_are_read_as_a_whole_cannot_grow(kind: str, tmp_path: Path) -> None:
    file = tmp_path / f"a.{kind}"

    def put(numbers: range, at: int) -> None:
        if kind == "gz":
            write(file, gzip.compress(lines(numbers).encode(), mtime=0), at)
        else:
            pq.write_table(pa.table({"n": list(numbers)}), file)
            os.utime(file, ns=(at * SECOND, at * SECOND))

    form = "parquet" if kind == "parquet" else "json"
    put(range(5), at=10)
    watched, lenient = (Watched(tmp_path, format=form, source__on_change=what) for what in ("fail", "new_file"))
    for of in (watched, lenient):
        assert [of.read(2), of.read(2), of.read()] == [[0, 1], [2, 3], [4]]
    os.utime(file, ns=(15 * SECOND, 15 * SECOND))
    assert watched.read() == []
    put(range(7), at=20)

    with pytest.raises(FilesChangedError, match=r"uncompressed lines only|it was"):
        watched.read()

    assert lenient.read() == [0, 1, 2, 3, 4, 5, 6]


def test_epochs_of_few_rows_go_through_files_that_grow(tmp_path: Path) -> None:
    write(tmp_path / "a.json", lines(range(5)), at=10)
    write(tmp_path / "b.json", lines([10, 11]), at=11)
    watched = Watched(tmp_path)
    assert [watched.read(3), watched.read(3)] == [[0, 1, 2], [3, 4, 10]]
    write(tmp_path / "a.json", lines(range(7)), at=20)

    assert [watched.read(3), watched.read(3)] == [[11, 5, 6], []]


def test_a_planned_file_that_has_changed_before_it_is_read_is_an_error(tmp_path: Path) -> None:
    write(tmp_path / "a.json", lines(range(5)), at=10)
    watched = Watched(tmp_path)
    before = watched.at
    watched.read()

    write(tmp_path / "a.json", lines([9, 9, 9, 9, 9]), at=20)
    with pytest.raises(FilesChangedError, match="it was rewritten"):
        watched.numbers(before, watched.at)
    (tmp_path / "a.json").unlink()
    with pytest.raises(FilesChangedError, match="is gone"):
        watched.numbers(before, watched.at)


def test_a_state_of_an_earlier_version_goes_on(tmp_path: Path) -> None:
    write(tmp_path / "a.json", lines(range(3)), at=10)
    write(tmp_path / "b.json", lines(range(3, 6)), at=11)
    size, time = len(lines(range(3))), {"time": 11 * SECOND}
    done: Position = {"file": "b.json", "seen": 2, "bytes": 2 * size, **time}
    within: Position = {"file": "b.json", "seen": 2, "bytes": 2 * size, "at": size // 3, **time}

    watched = Watched(tmp_path)
    watched.at = {"files": done}
    assert watched.read() == []
    write(tmp_path / "c.json", lines([6]), at=12)
    assert watched.read() == [6]
    write(tmp_path / "b.json", lines(range(3, 6)) + lines([7]), at=20)
    assert watched.read() == [7], "the last file that was read is known since"

    write(tmp_path / "b.json", lines(range(3, 6)), at=11)
    other = Watched(tmp_path)
    other.at = {"files": within}
    assert other.read() == [4, 5, 6]


def test_a_change_that_an_earlier_version_cannot_prove_is_an_error(tmp_path: Path) -> None:
    write(tmp_path / "b.json", lines(range(4)), at=20)
    watched = Watched(tmp_path)
    watched.at = {"files": {"file": "b.json", "seen": 1, "bytes": 27, "time": 11 * SECOND}}

    with pytest.raises(FilesChangedError, match="an earlier version has read it"):
        watched.read()


def test_only_the_files_that_were_read_last_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_files, "REMEMBERED", 3)
    watched = Watched(tmp_path)
    for number in range(6):
        write(tmp_path / f"{number}.json", lines([number]), at=10 + number)
        assert watched.read() == [number]

    content = watched.at["files"]
    assert isinstance(content, dict)
    assert isinstance(content["read"], dict)
    assert sorted(content["read"]) == ["3.json", "4.json", "5.json"]
    whole = dict(watched.source.ends_now(start(watched.source), {}))
    assert watched.numbers({"files": content}, whole) == [], "what is forgotten is not read again"


def test_digest_of_a_large_file_covers_its_edges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_files, "EDGE", 4)
    write(tmp_path / "a", "aaaabbbbcccc", at=1)
    digest = read_files.digest_of(tmp_path / "a", 12)
    write(tmp_path / "a", "aaaaBBBBcccc", at=1)
    assert read_files.digest_of(tmp_path / "a", 12) == digest
    for other in ("Aaaabbbbcccc", "aaaabbbbcccC"):
        write(tmp_path / "a", other, at=1)
        assert read_files.digest_of(tmp_path / "a", 12) != digest
    assert read_files.digest_of(tmp_path / "a", 13) is None
    assert read_files.digest_of(tmp_path / "none", 1) is None
