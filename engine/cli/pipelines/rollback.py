"""`arroyo rollback`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from engine.cli.base import Command
from engine.cli.client import Json
from engine.cli.dry_run import add_dry_run, rollback_facts
from engine.cli.remote import add_pipeline, describe, errors_shown, facts, one_of, path_of
from engine.cli.waiting import add_wait, change


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_pipeline(parser)
    parser.add_argument("version", type=int, nargs="?", help="Roll back to this version (default: the previous one)")
    parser.add_argument("--to", type=int, metavar="VERSION", help="Set the same value as an option")
    parser.add_argument("--key", help="Set an idempotency key: repeated commands with the same key roll back once")
    add_wait(parser, "running", "finished", "stopped")
    add_dry_run(parser)


@errors_shown
def run(args: Namespace) -> int:
    """Go back to an earlier version with its state; a running job stops first and goes on from there."""
    version = one_of(args.version, args.to, "a version", "arroyo rollback PIPELINE --to 1")
    body: dict[str, Json] = {} if version is None else {"to": version}
    return change(args, "POST", path_of(args, "rollback"), body, key=args.key, text=_describe)


def _describe(answer: Mapping[str, Json]) -> str:
    return "\n".join((describe(answer), facts(rollback_facts(answer.get("rollback")))))


ROLLBACK = Command(add_arguments, run)
