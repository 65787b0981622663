"""Backups of a control plane in one file: its database, the key of its secrets, its first token.

    arroyo.tar      manifest.json   format 1, engine 0.1.0, store 15, taken at 2026-01-01T00:00:00Z
                    arroyo.db       a consistent snapshot, even while a control plane uses it
                    secrets.key     unless the key is in the environment
                    token           unless it is a setting

Pipelines' states are not included: they are large, and a restored control plane continues with them as they are. A run
that is then started has to be newer than every run that has written to its state since the backup, so the generations
are raised to those in the states (`put_back`).
"""

from __future__ import annotations

import io
import json
import os
import sqlite3
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from engine import __version__
from engine.checkpoints.layout import StatePaths
from engine.errors import BackupError, StoreDamagedError, StoreTooNewError, message_of
from engine.jobs.disk import DataDirectory
from engine.store.access.vault import secure
from engine.store.migrations import MIGRATIONS

_FORMAT = 1
_MANIFEST, _DATABASE, _KEY, _TOKEN = "manifest.json", "arroyo.db", "secrets.key", "token"
_SMALL = 1024 * 1024
"""Size limit of the small files."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """Description of a backup; `store` is the number of migrations of its database."""

    format: int
    engine: str
    store: int
    taken_at: str


def take(directory: DataDirectory, file: Path, at: datetime) -> Manifest:
    """Copy the control plane of a data directory, which may be running, into a new file."""
    if not directory.database.exists():
        raise BackupError(f"{directory.root} has no control plane's database", hint="choose another --data-dir")
    if file.exists():
        raise BackupError(f"{file} already exists", hint="choose another name, or move it away")
    with tempfile.TemporaryDirectory(dir=file.absolute().parent, prefix=".backup-") as folder:
        copy, packed = Path(folder) / _DATABASE, Path(folder) / "packed"
        store_version(directory.database)  # refuses what is no database
        try:
            _copy_database(directory.database, copy)
        except sqlite3.Error as error:
            raise BackupError(
                f"{directory.database} cannot be copied to {file.absolute().parent}: {message_of(error)}",
                hint="see that there is room for the copy, and try again",
            ) from error
        manifest = Manifest(_FORMAT, __version__, store_version(copy), at.isoformat())
        descriptor = os.open(packed, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as output, tarfile.open(fileobj=output, mode="w") as archive:
            _add_text(archive, _MANIFEST, json.dumps(asdict(manifest)))
            archive.add(copy, _DATABASE, filter=_of_nobody)
            for source, name in ((directory.secrets_key, _KEY), (directory.token, _TOKEN)):
                with suppress(FileNotFoundError):
                    _add_text(archive, name, source.read_text())
        with packed.open("rb") as written:
            os.fsync(written.fileno())
        packed.rename(file)
    return manifest


def take_aside(directory: DataDirectory, before: int, at: datetime, keep: int, spare: Path | None = None) -> Path:
    """Copy the control plane into the data directory before its database is changed. The newest copies are retained,
    and `spare`, whatever its age: it is about to be restored."""
    directory.backups.mkdir(mode=0o700, exist_ok=True)
    file = directory.backups / f"{at:%Y%m%dT%H%M%S%f}-store-{before}.tar"
    take(directory, file, at)
    for old in sorted(directory.backups.glob("*-store-*.tar"))[:-keep]:
        if spare is None or not old.samefile(spare):
            old.unlink()
    return file


def read_manifest(file: Path) -> Manifest:
    """Read the manifest of a backup; refuse a file that is no backup, or a backup of a later version."""
    with _is_backup(file), tarfile.open(file) as archive:
        manifest = Manifest(**json.loads(_text(archive, _MANIFEST) or "null"))
        is_too_new = manifest.format > _FORMAT or manifest.store > len(MIGRATIONS)
    if is_too_new:
        raise too_new(f"the backup {file}", manifest.store)
    return manifest


@contextmanager
def _is_backup(file: Path) -> Iterator[None]:
    """Turn errors while reading a file into the error that it is no backup: it may be truncated, or come from
    anywhere."""
    try:
        yield
    except (BackupError, StoreDamagedError):
        raise
    except (OSError, tarfile.TarError, ValueError, TypeError, KeyError, RecursionError, sqlite3.Error) as error:
        raise BackupError(f"{file} is no backup of a control plane", hint="`arroyo backup` makes one") from error


def put_back(directory: DataDirectory, file: Path) -> Manifest:
    """Restore a copy over a control plane's data, which is overwritten; the control plane must not be running."""
    manifest = read_manifest(file)
    directory.root.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=directory.root, prefix=".restore-") as folder, tarfile.open(file) as archive:
        database = Path(folder) / _DATABASE
        with _is_backup(file):
            _unpack_database(archive, database, file)
            _move_generations_on(database, directory)
            _begin_changes_anew(database)
            texts = {directory.secrets_key: _text(archive, _KEY), directory.token: _text(archive, _TOKEN)}
        for path, text in texts.items():
            if text is not None:
                secure(path, text)
        # what a database that is replaced has not yet taken over from its log must not be taken over by another one
        for suffix in ("-wal", "-shm"):
            directory.database.with_name(directory.database.name + suffix).unlink(missing_ok=True)
        database.rename(directory.database)
    return manifest


def store_version(database: Path) -> int:
    """Return the number of migrations that a database has seen."""
    try:
        with closing(sqlite3.connect(database)) as connection:
            version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    except sqlite3.DatabaseError as error:
        raise damaged(database, message_of(error)) from error
    return version


def damaged(database: Path, reason: str) -> StoreDamagedError:
    """Return the error for a file that is no database, or only parts of one."""
    return StoreDamagedError(
        f"the database {database} is damaged: {reason}",
        hint=f"put back a backup, which moves the file aside: arroyo restore-backup FILE --data-dir {database.parent} "
        f"--replace; {database.parent / 'backups'} holds the backups made before upgrades",
    )


def too_new(place: str, store: int) -> StoreTooNewError:
    """Return the error for data that a later version has written."""
    return StoreTooNewError(
        f"{place} was written by a later version of the engine: it is at version {store} of the store, and engine "
        f"{__version__} knows {len(MIGRATIONS)}",
        hint="start the version that wrote it, or put back a backup from before the upgrade: arroyo restore-backup",
    )


def _copy_database(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as database, closing(sqlite3.connect(target)) as copy:
        database.backup(copy)
        # a copy is a single file; it is one with a log again once it is opened as a control plane's database
        copy.execute("PRAGMA journal_mode = DELETE")


def _unpack_database(archive: tarfile.TarFile, database: Path, file: Path) -> None:
    member = archive.extractfile(_DATABASE) if _DATABASE in archive.getnames() else None
    if member is None:
        raise BackupError(f"{file} has no database", hint="`arroyo backup` makes a whole one")
    descriptor = os.open(database, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as output:
        while block := member.read(_SMALL):
            output.write(block)
        os.fsync(output.fileno())
    with closing(sqlite3.connect(database)) as connection:
        try:
            (verdict,) = connection.execute("PRAGMA integrity_check").fetchone()
        except sqlite3.DatabaseError as error:
            verdict = message_of(error)
    if verdict != "ok":
        raise BackupError(f"the database in {file} is damaged: {verdict}", hint="put back another backup")


def _move_generations_on(database: Path, directory: DataDirectory) -> None:
    """Raise the generation of each job to at least that of its state: a run with an older number may not write to
    it."""
    with closing(sqlite3.connect(database)) as connection, connection:
        for job_id, pipeline_id in connection.execute("SELECT id, pipeline_id FROM jobs").fetchall():
            with suppress(OSError, ValueError):
                newest = int(StatePaths(directory.state(pipeline_id)).generation.read_text())
                statement = "UPDATE jobs SET generation = ?, revision = revision + 1 WHERE id = ? AND generation < ?"
                connection.execute(statement, (newest, job_id, newest))


def _begin_changes_anew(database: Path) -> None:
    """Restart the change feed, so that no reader continues after changes that are undone now."""
    with (
        closing(sqlite3.connect(database)) as connection,
        connection,
        suppress(sqlite3.OperationalError),  # a backup of an earlier version has no such table yet
    ):
        connection.execute("UPDATE change_log SET id = lower(hex(randomblob(8)))")


def _add_text(archive: tarfile.TarFile, name: str, text: str) -> None:
    content = text.encode()
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), 0o600
    archive.addfile(member, io.BytesIO(content))


def _of_nobody(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Remove the owner of a file, which does not matter where it is unpacked."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode = 0o600
    return member


def _text(archive: tarfile.TarFile, name: str) -> str | None:
    """Return a small file of the archive; None if it is missing."""
    member = archive.extractfile(name) if name in archive.getnames() else None
    return None if member is None else member.read(_SMALL).decode()
