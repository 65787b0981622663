"""`arroyo token`, `arroyo backup` and `arroyo restore-backup`: access to the control plane, and copies of it."""

from __future__ import annotations

import json
import os
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cli.base import Command, Json, field_of, path, segment
from engine.cli.remote import add_connection, connect, errors_shown, instant, rows_of, say, show, table
from engine.errors import BackupError, RequestError, StoreDamagedError
from engine.jobs.disk import DataDirectory
from engine.values.durations import read_duration
from engine.values.instants import now, to_micros

if TYPE_CHECKING:
    from engine.settings import Settings


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument("action", choices=("create", "list", "revoke"), help="Create, list or revoke tokens")
    parser.add_argument("name", nargs="?", help="Name the token to create or to revoke")
    parser.add_argument(
        "--expires-in", metavar="DURATION", help="Let the new token expire after this long, such as '30 days'"
    )
    add_connection(parser)


@errors_shown
def run(args: Namespace) -> int:
    """Manage named tokens."""
    client = connect(args)
    if args.action == "list":
        answer = client.get("/tokens")
        say(json.dumps(answer, indent=2) if args.json else _listed(answer))
        return 0
    if args.name is None:
        raise RequestError(f"arroyo token {args.action} needs a name", hint=f"arroyo token {args.action} NAME")
    if args.action == "revoke":
        client.send("DELETE", f"/tokens/{segment(args.name)}", None)
        return 0
    body: dict[str, Json] = {"name": args.name}
    if args.expires_in is not None:
        body["expires_at"] = to_micros(_end(args.expires_in))
    show(args, client.send("POST", "/tokens", body), _value)
    return 0


def _end(length: str) -> datetime:
    try:
        return now() + read_duration(length)
    except OverflowError as error:
        raise RequestError(
            f"--expires-in {length!r} is too long a time", hint="leave it out for a token without an end"
        ) from error


def _value(fresh: Mapping[str, Json]) -> str:
    """Print only the value, so that it can be written to a file."""
    return field_of(fresh, "token")


def _listed(answer: Json) -> str:
    head = ("NAME", "VALID", "CREATED", "BY", "EXPIRES", "REVOKED")
    rows = [
        (
            row.get("name"),
            "yes" if row.get("valid") else "no",
            instant(row.get("created_at")),
            row.get("created_by"),
            instant(row.get("expires_at")),
            instant(row.get("revoked_at")),
        )
        for row in rows_of(answer)
    ]
    return table(head, rows)


TOKEN = Command(add_arguments, run)


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
    """Copy the control plane's data into a file, also while it is running."""
    from engine.store import backups  # noqa: PLC0415 - the other verbs start faster without the database's library

    directory = DataDirectory(_settings(args).data_dir)
    manifest = backups.take(directory, args.file, now())
    say(f"{args.file}: store version {manifest.store}, taken at {manifest.taken_at}; it holds secrets, keep it safe")
    say(f"the states of pipelines are not in it: they stay in {directory.root / 'state'}")
    return 0


@errors_shown
def run_restore_backup(args: Namespace) -> int:
    """Restore a control plane's data; it must not be running."""
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
    """Return a backup of the data that the backup `spare` is about to overwrite; data that cannot be read is only moved
    aside."""
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
