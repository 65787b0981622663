"""A database that is damaged is named when the control plane starts, with the way to a backup."""

from __future__ import annotations

import sqlite3
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.cli.server import serve
from engine.errors import StoreDamagedError
from engine.jobs.disk import DataDirectory
from engine.store.database import open_database


def truncated(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:20_000])


def random_head(file: Path) -> None:
    file.write_bytes(b"\x13\x37" * 50 + file.read_bytes()[100:])


def random_pages(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[8192:24576] = bytes(range(1, 256)) * 64 + bytes(64)
    file.write_bytes(content)


def no_database(file: Path) -> None:
    file.write_text("these are notes, and no database\n" * 200)


def emptied(file: Path) -> None:
    DataDirectory(file.parent).state("pl_aaaaaaaaaaaaaaaa").mkdir(parents=True)
    file.write_bytes(b"")


def a_directory(file: Path) -> None:
    file.unlink()
    file.mkdir()


def without_tables(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("DROP TABLE secrets")


@pytest.mark.parametrize(
    "damage",
    [truncated, random_head, random_pages, no_database, emptied, a_directory, without_tables],
    ids=lambda damage: damage.__name__,
)
def test_a_damaged_database_is_one_sentence_with_the_file_and_the_way_to_a_backup(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    directory = DataDirectory(tmp_path)
    open_database(directory).close()
    damage(directory.database)

    with pytest.raises(StoreDamagedError, match="is damaged: ") as raised:
        open_database(directory)

    message = str(raised.value)
    assert str(directory.database) in message
    assert f"arroyo restore-backup FILE --data-dir {tmp_path}" in message
    assert "\n" not in raised.value.message
    with pytest.raises(StoreDamagedError):
        open_database(directory)  # and not that it is locked


def test_an_empty_file_without_pipelines_is_a_new_control_plane(tmp_path: Path) -> None:
    DataDirectory(tmp_path).database.touch()

    open_database(DataDirectory(tmp_path)).close()


def test_serve_ends_without_a_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = DataDirectory(tmp_path)
    open_database(directory).close()
    random_pages(directory.database)

    code = serve.run(Namespace(host=None, port=0, data_dir=tmp_path, config=None, insecure=False, stop=False))

    error = capsys.readouterr().err
    assert code != 0
    assert str(directory.database) in error
    assert "Traceback" not in error
