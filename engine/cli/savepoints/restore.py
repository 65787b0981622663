"""`arroyo restore`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from engine.cli.base import Command, Json
from engine.cli.remote import add_pipeline, describe, errors_shown, facts, one_of, path_of
from engine.cli.waiting import add_dry_run, add_wait, change, rollback_facts


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
    """Restore a savepoint; a running job stops first and continues from there."""
    body: dict[str, Json] = {
        "savepoint_id": args.savepoint,
        "allow_replay": args.allow_replay,
        "with_version": args.with_version,
    }
    return change(args, "POST", path_of(args, "restore"), body)


RESTORE = Command(add_arguments, run)


def add_rollback_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_pipeline(parser)
    parser.add_argument("version", type=int, nargs="?", help="Roll back to this version (default: the previous one)")
    parser.add_argument("--to", type=int, metavar="VERSION", help="Set the same value as an option")
    parser.add_argument("--key", help="Set an idempotency key: repeated commands with the same key roll back once")
    add_wait(parser, "running", "finished", "stopped")
    add_dry_run(parser)


@errors_shown
def run_rollback(args: Namespace) -> int:
    """Roll back to an earlier version with its state; a running job stops first and continues from there."""
    version = one_of(args.version, args.to, "a version", "arroyo rollback PIPELINE --to 1")
    body: dict[str, Json] = {} if version is None else {"to": version}
    return change(args, "POST", path_of(args, "rollback"), body, key=args.key, text=_describe)


def _describe(answer: Mapping[str, Json]) -> str:
    return "\n".join((describe(answer), facts(rollback_facts(answer.get("rollback")))))


ROLLBACK = Command(add_rollback_arguments, run_rollback)
