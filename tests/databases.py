"""Databases as all migrations leave them: to migrate one anew takes longer than most tests that need one."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from engine.jobs.disk import DataDirectory
from engine.store.database import Database, open_database


def new_database(directory: DataDirectory) -> Database:
    """An empty database, as `open_database` makes it in a new directory."""
    directory.root.mkdir(parents=True, exist_ok=True, mode=0o700)
    directory.database.touch(mode=0o600)
    directory.database.write_bytes(_migrated())
    return open_database(directory)


@cache
def _migrated() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        directory = DataDirectory(Path(folder))
        open_database(directory).close()
        return directory.database.read_bytes()
