"""A control plane can be put back as it was, and a newer one is never opened by an older."""

from __future__ import annotations

import io
import json
import sqlite3
import stat
import tarfile
from argparse import ArgumentParser
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from engine.cli.base import Command
from engine.cli.server.token import BACKUP, RESTORE_BACKUP
from engine.errors import BackupError, SecretsKeyError, StoreDamagedError, StoreTooNewError
from engine.jobs.decisions.spec import Pipeline, Spec, Version
from engine.jobs.decisions.states import State
from engine.jobs.decisions.status import Status
from engine.jobs.disk import DataDirectory
from engine.store import backups
from engine.store.database import open_database
from engine.store.jobs import jobs
from engine.store.jobs.records import read_record
from engine.store.migrations import MIGRATIONS
from engine.store.pipelines import pipeline_secrets, pipelines, versions

T0 = datetime(2026, 1, 1, tzinfo=UTC)
NEWEST = len(MIGRATIONS)


def _pipeline(letter: str) -> Pipeline:
    return Pipeline(f"pl_{letter * 16}", f"orders-{letter}", f"job_{letter * 16}", 1, 1, T0)


def _write(directory: DataDirectory, letter: str) -> None:
    """A pipeline with a secret."""
    database, pipeline = open_database(directory), _pipeline(letter)
    with database.writing() as connection:
        pipelines.add(connection, pipeline)
        versions.add(connection, Version(pipeline.id, 1, Spec("SELECT 1"), "p", "{}", T0))
        jobs.add(connection, Status(pipeline.job_id, pipeline.id, State.STOPPED, T0, T0, generation=3))
        pipeline_secrets.replace(connection, database.vault, pipeline.id, {"PASSWORD": "hidden"}, T0)
    directory.token.write_text(f"token-{letter}\n")
    database.close()


def _names(directory: DataDirectory) -> list[str]:
    database = open_database(directory)
    with database.reading() as connection:
        names = list(connection.exec_driver_sql("SELECT name FROM pipelines ORDER BY name").scalars())
    database.close()
    return names


def test_a_backup_puts_back_records_secrets_and_the_token(tmp_path: Path) -> None:
    directory, other = DataDirectory(tmp_path / "a"), DataDirectory(tmp_path / "b")
    _write(directory, "a")
    backups.take(directory, tmp_path / "copy", T0)
    _write(directory, "b")

    manifest = backups.put_back(other, tmp_path / "copy")

    assert (manifest.store, manifest.taken_at) == (NEWEST, T0.isoformat())
    assert _names(directory) == ["orders-a", "orders-b"]
    assert _names(other) == ["orders-a"]
    assert other.token.read_text() == "token-a\n"
    database = open_database(other)
    with database.reading() as connection:
        assert pipeline_secrets.read(connection, database.vault, _pipeline("a").id) == {"PASSWORD": "hidden"}
    database.close()


def test_a_backup_is_taken_while_the_control_plane_is_at_work(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path / "a")
    _write(directory, "a")
    database = open_database(directory)
    with database.writing() as connection:
        pipelines.add(connection, _pipeline("b"))
        backups.take(directory, tmp_path / "copy", T0)
    database.close()

    backups.put_back(DataDirectory(tmp_path / "b"), tmp_path / "copy")

    assert _names(DataDirectory(tmp_path / "b")) == ["orders-a"]


def test_only_its_owner_can_read_a_backup(tmp_path: Path) -> None:
    _write(DataDirectory(tmp_path / "a"), "a")
    backups.take(DataDirectory(tmp_path / "a"), tmp_path / "copy", T0)

    assert stat.S_IMODE((tmp_path / "copy").stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".backup")] == []


def test_a_run_after_a_restore_is_newer_than_all_that_have_written_to_the_state(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path / "a")
    _write(directory, "a")
    backups.take(directory, tmp_path / "copy", T0)
    state = directory.state(_pipeline("a").id)
    state.mkdir(parents=True)
    (state / "generation").write_text("9")

    backups.put_back(directory, tmp_path / "copy")

    database = open_database(directory)
    with database.reading() as connection:
        assert read_record(connection, "orders-a").status.generation == 9
    database.close()


def test_write_ahead_log_of_a_replaced_database_is_not_replayed(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path / "a")
    _write(directory, "a")
    backups.take(directory, tmp_path / "copy", T0)
    for suffix in ("-wal", "-shm"):
        Path(f"{directory.database}{suffix}").write_bytes(b"of another database")

    backups.put_back(directory, tmp_path / "copy")

    assert _names(directory) == ["orders-a"]


@pytest.mark.parametrize("content", [b"", b"nonsense", None])
def test_invalid_backup_is_refused_and_the_database_is_unchanged(tmp_path: Path, content: bytes | None) -> None:
    directory, file = DataDirectory(tmp_path / "a"), tmp_path / "copy"
    _write(directory, "a")
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(BackupError, match="is no backup"):
        backups.put_back(directory, file)

    assert _names(directory) == ["orders-a"]


def _archive(file: Path, **members: bytes) -> None:
    with tarfile.open(file, "w") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name.replace("_", "."))
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


GOOD = json.dumps({"format": 1, "engine": "0", "store": NEWEST, "taken_at": "now"}).encode()


@pytest.mark.parametrize(
    "manifest",
    [
        b'{"format": "one", "engine": "0", "store": 1, "taken_at": "now"}',
        b'{"format": 1, "engine": "0", "store": null, "taken_at": "now"}',
        b'{"format": 1}',
        b"[" * 100_000,
        b"\xff",
    ],
)
def test_a_manifest_that_says_nothing_is_that_of_no_backup(tmp_path: Path, manifest: bytes) -> None:
    _archive(tmp_path / "copy", manifest_json=manifest)

    with pytest.raises(BackupError, match="is no backup"):
        backups.read_manifest(tmp_path / "copy")


def test_an_archive_of_links_is_no_backup(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "copy", "w") as archive:
        link = tarfile.TarInfo("manifest.json")
        link.type, link.linkname = tarfile.SYMTYPE, "elsewhere"
        archive.addfile(link)

    with pytest.raises(BackupError, match="is no backup"):
        backups.read_manifest(tmp_path / "copy")


def test_the_database_of_something_else_is_no_backup_and_nothing_is_touched(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path / "a")
    _write(directory, "a")
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE songs (title)")
    other = (tmp_path / "other.db").read_bytes()
    _archive(tmp_path / "copy", manifest_json=GOOD, arroyo_db=other, token=b"stolen")

    with pytest.raises(BackupError, match="is no backup"):
        backups.put_back(directory, tmp_path / "copy")

    assert (_names(directory), directory.token.read_text()) == (["orders-a"], "token-a\n")


@pytest.mark.parametrize("part", [0.2, 0.5, 0.99])
def test_a_backup_that_was_cut_is_refused_and_nothing_is_touched(tmp_path: Path, part: float) -> None:
    directory, file = DataDirectory(tmp_path / "a"), tmp_path / "copy"
    _write(directory, "a")
    backups.take(directory, file, T0)
    whole = file.read_bytes().rstrip(b"\0")
    file.write_bytes(whole[: int(len(whole) * part)])
    _write(directory, "b")

    with pytest.raises(BackupError):
        backups.put_back(directory, file)

    assert (_names(directory), directory.token.read_text()) == (["orders-a", "orders-b"], "token-b\n")


def test_a_copy_for_which_there_is_no_room_is_refused_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: Path, target: Path) -> None:
        target.write_bytes(b"a part")
        raise sqlite3.OperationalError("database or disk is full")

    _write(DataDirectory(tmp_path / "a"), "a")
    monkeypatch.setattr(backups, "_copy_database", full)

    with pytest.raises(BackupError, match="disk is full"):
        backups.take(DataDirectory(tmp_path / "a"), tmp_path / "copy", T0)

    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]


def test_a_key_that_is_no_text_is_no_key(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    _write(directory, "a")
    directory.secrets_key.write_bytes(b"\xff\xfe")

    with pytest.raises(SecretsKeyError, match="is not a key"):
        open_database(directory)


def test_a_damaged_database_in_a_backup_is_refused(tmp_path: Path) -> None:
    file, bad = tmp_path / "copy", tmp_path / "arroyo.db"
    bad.write_bytes(b"nonsense" * 1000)
    manifest = tmp_path / "manifest.json"
    manifest.write_text(json.dumps({"format": 1, "engine": "0", "store": NEWEST, "taken_at": "now"}))
    with tarfile.open(file, "w") as archive:
        archive.add(manifest, "manifest.json")
        archive.add(bad, "arroyo.db")

    with pytest.raises(BackupError, match="is damaged"):
        backups.put_back(DataDirectory(tmp_path / "b"), file)

    assert not DataDirectory(tmp_path / "b").database.exists()


def test_a_database_of_a_later_version_is_refused_by_name(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    _write(directory, "a")
    with closing(sqlite3.connect(directory.database)) as connection:
        connection.execute(f"PRAGMA user_version = {NEWEST + 1}")

    with pytest.raises(StoreTooNewError, match=f"version {NEWEST + 1} of the store"):
        open_database(directory)

    assert not directory.backups.exists()


def test_a_backup_of_a_later_version_is_refused_by_name(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path / "a")
    _write(directory, "a")
    with closing(sqlite3.connect(directory.database)) as connection:
        connection.execute(f"PRAGMA user_version = {NEWEST + 1}")
    backups.take(directory, tmp_path / "copy", T0)

    with pytest.raises(StoreTooNewError):
        backups.read_manifest(tmp_path / "copy")


def test_the_database_is_copied_before_it_is_changed_for_a_newer_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = DataDirectory(tmp_path)
    _write(directory, "a")
    assert not directory.backups.exists()
    monkeypatch.setattr("engine.store.database.MIGRATIONS", (*MIGRATIONS, ("DROP TABLE keys",)))

    open_database(directory).close()
    open_database(directory).close()

    (copy,) = directory.backups.iterdir()
    assert backups.read_manifest(copy).store == NEWEST
    assert f"store-{NEWEST}" in copy.name


def test_number_of_stored_backups_follows_the_setting(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    _write(directory, "a")

    files = [backups.take_aside(directory, NEWEST, T0 + timedelta(days=day), keep=2) for day in range(4)]

    assert sorted(directory.backups.iterdir()) == files[2:]


def _call(verb: Command, *arguments: str) -> int:
    parser = ArgumentParser()
    verb.add_arguments(parser)
    return verb.run(parser.parse_args([*arguments]))


def test_the_command_line_makes_a_backup_and_puts_it_back(tmp_path: Path, capsys: Any) -> None:
    home, copy = str(tmp_path / "a"), str(tmp_path / "copy")
    directory = DataDirectory(tmp_path / "a")
    _write(directory, "a")

    assert _call(BACKUP, copy, "--data-dir", home) == 0
    assert "it holds secrets" in capsys.readouterr().out
    assert _call(BACKUP, copy, "--data-dir", home) == 2
    assert "already exists" in capsys.readouterr().err
    _write(directory, "b")
    assert _call(RESTORE_BACKUP, copy, "--data-dir", home) == 2
    assert "--replace" in capsys.readouterr().err
    assert _call(RESTORE_BACKUP, copy, "--data-dir", home, "--replace") == 0

    assert _names(directory) == ["orders-a"]
    (aside,) = directory.backups.iterdir()
    backups.put_back(DataDirectory(tmp_path / "c"), aside)
    assert _names(DataDirectory(tmp_path / "c")) == ["orders-a", "orders-b"]


def test_the_oldest_copy_is_there_until_it_is_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = DataDirectory(tmp_path / "a")
    _write(directory, "a")
    oldest = backups.take_aside(directory, NEWEST, T0, keep=1)
    _write(directory, "b")
    monkeypatch.setenv("ARROYO__KEPT_BACKUPS", "1")

    assert _call(RESTORE_BACKUP, str(oldest), "--data-dir", str(directory.root), "--replace") == 0

    assert _names(directory) == ["orders-a"]
    assert oldest.exists()


def test_a_manifest_of_another_kind_is_no_backup(tmp_path: Path) -> None:
    file, manifest = tmp_path / "copy", tmp_path / "manifest.json"
    manifest.write_text(json.dumps({"format": "1", "engine": "0", "store": None, "taken_at": "now"}))
    with tarfile.open(file, "w") as archive:
        archive.add(manifest, "manifest.json")

    with pytest.raises(BackupError, match="is no backup"):
        backups.read_manifest(file)


def test_a_backup_is_not_put_back_under_a_control_plane_at_work(tmp_path: Path, capsys: Any) -> None:
    directory, copy = DataDirectory(tmp_path / "a"), str(tmp_path / "copy")
    _write(directory, "a")
    _call(BACKUP, copy, "--data-dir", str(directory.root))
    database = open_database(directory)

    assert _call(RESTORE_BACKUP, copy, "--data-dir", str(directory.root), "--replace") == 2
    assert "server.locked" in capsys.readouterr().err
    database.close()


def test_a_directory_without_a_control_plane_has_no_backup(tmp_path: Path, capsys: Any) -> None:
    assert _call(BACKUP, str(tmp_path / "copy"), "--data-dir", str(tmp_path / "nothing")) == 2
    assert "server.backup" in capsys.readouterr().err


def test_a_key_from_the_environment_is_not_in_a_backup(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path / "a")
    _write(directory, "a")
    directory.secrets_key.rename(tmp_path / "kept elsewhere")
    backups.take(directory, tmp_path / "copy", T0)

    backups.put_back(DataDirectory(tmp_path / "b"), tmp_path / "copy")

    with pytest.raises(SecretsKeyError):
        open_database(DataDirectory(tmp_path / "b"))


def test_a_broken_database_is_moved_away_for_a_backup(tmp_path: Path, capsys: Any) -> None:
    directory, copy = DataDirectory(tmp_path / "a"), str(tmp_path / "copy")
    _write(directory, "a")
    _call(BACKUP, copy, "--data-dir", str(directory.root))
    directory.database.write_bytes(b"nonsense" * 1000)
    assert _call(BACKUP, str(tmp_path / "other"), "--data-dir", str(directory.root)) == 2
    assert "is damaged" in capsys.readouterr().err
    with pytest.raises(StoreDamagedError, match="is damaged: file is not a database"):
        open_database(directory)

    assert _call(RESTORE_BACKUP, copy, "--data-dir", str(directory.root), "--replace") == 0

    assert _names(directory) == ["orders-a"]
