"""`arroyo backup` and `arroyo restore-backup`: the whole control plane as a file, on the machine that it is on."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cli.base import Command, path
from engine.cli.remote import errors_shown, say
from engine.errors import BackupError, StoreDamagedError
from engine.jobs.disk.data_directory import DataDirectory
from engine.values.instants import now

if TYPE_CHECKING:
    from engine.settings import Settings


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", type=path, help="Write the backup to this new file")
    _add_data_directory(parser)


def _restore_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", type=path, help="Restore the backup in this file")
    parser.add_argument(
        "--replace",
        action="store_true",
        help="Replace the control plane in the data directory, after a backup of it",
    )
    _add_data_directory(parser)


def _add_data_directory(parser: ArgumentParser) -> None:
    parser.add_argument("--data-dir", type=path, help="Use the control plane of this data directory")


@errors_shown
def run_backup(args: Namespace) -> int:
    """Copy the control plane's memory into a file, also while it is at work."""
    from engine.store import backups  # noqa: PLC0415 - the other verbs start faster without the database's library

    directory = DataDirectory(_settings(args).data_dir)
    manifest = backups.take(directory, args.file, now())
    say(f"{args.file}: store version {manifest.store}, taken at {manifest.taken_at}; it holds secrets, keep it safe")
    say(f"the states of pipelines are not in it: they stay in {directory.root / 'state'}")
    return 0


@errors_shown
def run_restore_backup(args: Namespace) -> int:
    """Put a control plane's memory back; none may be at work in that data directory."""
    from engine.store import backups  # noqa: PLC0415 - the other verbs start faster without the database's library
    from engine.store.database import lock_directory  # noqa: PLC0415 - the same

    settings = _settings(args)
    directory = DataDirectory(settings.data_dir)
    directory.root.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = lock_directory(directory)
    try:
        manifest = backups.read_manifest(args.file)
        if directory.database.exists():
            if not args.replace:
                raise BackupError(
                    f"{directory.root} has a control plane's database",
                    hint="--replace overwrites it, after a backup of it",
                )
            say(f"{_set_aside(directory, settings.kept_backups, args.file)}: what was there before")
        backups.put_back(directory, args.file)
    finally:
        lock.close()
    say(f"{directory.root} is as it was at {manifest.taken_at}; `arroyo serve` goes on from there")
    return 0


def _set_aside(directory: DataDirectory, keep: int, spare: Path) -> Path:
    """A backup of what is about to be overwritten by the backup `spare`; what cannot be read any more is only moved
    away."""
    from engine.store import backups  # noqa: PLC0415 - the other verbs start faster without the database's library

    try:
        return backups.take_aside(directory, backups.store_version(directory.database), now(), keep, spare)
    except (BackupError, StoreDamagedError):
        broken = directory.database.with_suffix(f".broken-{now():%Y%m%dT%H%M%S}")
        return directory.database.rename(broken)


def _settings(args: Namespace) -> Settings:
    from engine.settings import load  # noqa: PLC0415 - `--help` must not pay for pydantic

    return load(os.environ, overrides={"data_dir": args.data_dir} if args.data_dir else {})


BACKUP = Command(_arguments, run_backup)
RESTORE_BACKUP = Command(_restore_arguments, run_restore_backup)
