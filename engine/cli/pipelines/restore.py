"""`arroyo restore`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from engine.cli.base import Command
from engine.cli.client import Json
from engine.cli.dry_run import add_dry_run
from engine.cli.remote import add_pipeline, errors_shown, path_of
from engine.cli.waiting import add_wait, change


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_pipeline(parser)
    parser.add_argument("savepoint", help="Restore the savepoint with this id; `arroyo savepoints` lists them")
    parser.add_argument("--with-version", action="store_true", help="Restore the query of the savepoint too")
    parser.add_argument(
        "--allow-replay", action="store_true", help="Accept that output since the savepoint is written again"
    )
    add_wait(parser, "running", "finished", "stopped")
    add_dry_run(parser)


@errors_shown
def run(args: Namespace) -> int:
    """Go back to a savepoint; a running job stops first and goes on from there."""
    body: dict[str, Json] = {
        "savepoint_id": args.savepoint,
        "allow_replay": args.allow_replay,
        "with_version": args.with_version,
    }
    return change(args, "POST", path_of(args, "restore"), body)


RESTORE = Command(add_arguments, run)
