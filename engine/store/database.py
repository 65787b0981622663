"""The database file: who may open it, migrations, and transactions."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from sqlalchemy import Connection, Engine, MetaData, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DatabaseError, OperationalError
from sqlalchemy.pool import ConnectionPoolEntry

from engine.errors import DataDirLockedError, message_of
from engine.jobs.disk import DataDirectory
from engine.jobs.processes.processes import try_lock
from engine.jobs.troubles import Troubles, unwritable_store
from engine.store import backups
from engine.store.access.vault import Vault, fresh_key, secure
from engine.store.migrations import MIGRATIONS
from engine.values.instants import now

LOG = logging.getLogger(__name__)
METADATA = MetaData()

_PRAGMAS = ("journal_mode = WAL", "synchronous = FULL", "busy_timeout = 10000", "foreign_keys = ON")


@dataclass(frozen=True, slots=True)
class Database:
    """An open, migrated database. A lock excludes other control planes while it is open."""

    engine: Engine
    lock: IO[str]
    vault: Vault = field(repr=False)
    """Encrypts secrets."""
    troubles: Troubles = field(default_factory=Troubles)
    """Records a failed write until a later one succeeds."""
    _turn: threading.Lock = field(default_factory=threading.Lock, repr=False)
    """Serialises the writers of this process: SQLite would let them sleep and retry."""

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction with a consistent view that writes nothing."""
        with self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction that is the only writer from its first statement on; an exception rolls it back."""
        try:
            with self._turn, self.engine.connect().execution_options(write=True) as connection, connection.begin():
                yield connection
        except OperationalError as error:
            self.troubles.store = unwritable_store(Path(self.engine.url.database or ""), str(error.orig))
            raise
        self.troubles.store = None

    def retry_writing(self) -> None:
        """Write a page if the last write has failed, so that the trouble is cleared once there is room again. Raise
        like any write."""
        if self.troubles.store is not None:
            with self.writing() as connection:
                # the same number: SQLite writes the page all the same
                connection.exec_driver_sql(f"PRAGMA user_version = {len(MIGRATIONS)}")

    @contextmanager
    def rehearsing(self) -> Iterator[Connection]:
        """Open a writing transaction that is rolled back at its end."""
        with self._turn, self.engine.connect().execution_options(write=True) as connection:
            transaction = connection.begin()
            try:
                yield connection
            finally:
                transaction.rollback()

    def close(self) -> None:
        """Close the file and release the lock."""
        self.engine.dispose()
        self.lock.close()


def open_database(directory: DataDirectory, secrets_key: str | None = None, kept_backups: int = 5) -> Database:
    """Lock the data directory, open its database and migrate it; raise if another control plane holds the lock, if a
    later version has written it, or if the key of its secrets is lost. It is copied before a migration. Without
    `secrets_key`, the key is in a file, which is created at the first start."""
    directory.root.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = lock_directory(directory)
    try:
        _check_file(directory)
    except BaseException:
        lock.close()
        raise
    # as many connections as there are threads for requests; those beyond `pool_size` are reopened each time. The one
    # that was used last is used next: each of them rereads the pages that another one has written
    engine = create_engine(f"sqlite:///{directory.database}", pool_size=20, max_overflow=40, pool_use_lifo=True)
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    try:
        _prepare_migration(directory, kept_backups)
        database = Database(engine, lock, _open_vault(directory, secrets_key))
        with _damage_named(directory.database):
            _check_pages(database)
            _migrate(database)
            _check_vault(database)
    except BaseException:
        engine.dispose()
        lock.close()
        raise
    return database


def lock_directory(directory: DataDirectory) -> IO[str]:
    """Exclude every other control plane from a data directory, until the lock is closed."""
    lock = try_lock(directory.lock)
    if lock is None:
        raise DataDirLockedError(
            f"another control plane uses {directory.root}{_who(directory.server)}",
            hint="use that control plane, stop it, or choose another --data-dir",
        )
    return lock


def _check_file(directory: DataDirectory) -> None:
    """Create the file if there is none. Raise if it cannot be a database, or has lost its content."""
    database = directory.database
    if database.is_dir():
        raise backups.damaged(database, "it is a directory")
    if database.exists() and not database.stat().st_size and directory.has_pipelines:
        raise backups.damaged(database, "it is empty, although pipelines have state here")
    database.touch(mode=0o600)


def _check_pages(database: Database) -> None:
    """Check the pages for damage that a query would meet later."""
    with database.reading() as connection:
        if (found := connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one()) != "ok":
            raise _PagesDamagedError(found)


class _PagesDamagedError(Exception):
    """SQLite has found damaged pages."""


@contextmanager
def _damage_named(file: Path) -> Iterator[None]:
    """Turn SQLite's errors of damage into one that names the file and how to restore a backup."""
    try:
        yield
    except _PagesDamagedError as error:
        raise backups.damaged(file, message_of(error).replace("\n", " ")) from error
    except DatabaseError as error:
        # a disk that is full and a file that is locked or read-only are no damage
        if isinstance(error, OperationalError) and "no such" not in str(error.orig):
            raise
        raise backups.damaged(file, str(error.orig)) from error


def _prepare_migration(directory: DataDirectory, kept_backups: int) -> None:
    """Refuse a database of a later version, and copy one that is to be migrated; an empty database needs neither."""
    version = backups.store_version(directory.database)
    if version > len(MIGRATIONS):
        raise backups.too_new(f"the database of {directory.root}", version)
    if 0 < version < len(MIGRATIONS):
        file = backups.take_aside(directory, version, now(), kept_backups)
        LOG.warning("the database is changed for this version of the engine; how it was before is in %s", file)


def _open_vault(directory: DataDirectory, secrets_key: str | None) -> Vault:
    if secrets_key:
        return Vault([key.strip() for key in secrets_key.split(",") if key.strip()])
    if not directory.secrets_key.exists():
        secure(directory.secrets_key, fresh_key() + "\n")
    # what is no text is no key, which the vault says
    return Vault([directory.secrets_key.read_text(errors="replace").strip()])


def _check_vault(database: Database) -> None:
    """Raise if the key does not fit the stored secrets, before a driver needs one of them."""
    with database.reading() as connection:
        query = "SELECT sealed FROM secrets UNION ALL SELECT sealed FROM stored_secrets"
        for sealed in connection.exec_driver_sql(query).scalars():
            database.vault.unseal(sealed)


def _prepare(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
    """Configure a connection: transactions are begun by us, and commits survive a loss of power."""
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in _PRAGMAS:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin(connection: Connection) -> None:
    """Begin a transaction. A writer takes its lock immediately, since upgrading the lock later would fail under
    contention."""
    writes = connection.get_execution_options().get("write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _migrate(database: Database) -> None:
    """Apply the migrations that this file lacks, each in a transaction of its own."""
    for number, statements in enumerate(MIGRATIONS, start=1):
        with database.writing() as connection:
            if connection.exec_driver_sql("PRAGMA user_version").scalar_one() >= number:
                continue
            for statement in statements:
                connection.exec_driver_sql(statement)
            connection.exec_driver_sql(f"PRAGMA user_version = {number}")


def _who(server: Path) -> str:
    """Return the address of the other control plane, if its file names one."""
    try:
        address = json.loads(server.read_text())
        return f" (process {address['pid']}, {address['url']})"
    except (OSError, ValueError, KeyError):
        return ""
