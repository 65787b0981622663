"""`arroyo fork`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from engine.cli.arguments.upgrade import add_upgrade_arguments, upgrade_part
from engine.cli.base import Command
from engine.cli.client import Json, segment
from engine.cli.dry_run import add_dry_run
from engine.cli.pipelines.deploy import read_text, secret_part, setting_part
from engine.cli.remote import add_connection, describe, errors_shown, facts
from engine.cli.waiting import add_wait, change


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument("savepoint", help="Start from the savepoint with this id; `arroyo savepoints` lists them")
    parser.add_argument("name", help="Name the new pipeline")
    parser.add_argument(
        "--sql", required=True, metavar="FILE", help="Read the query from this file; - is standard input"
    )
    udf = "Use the Python functions of this file; may be repeated (default: as in the original)"
    parser.add_argument("--udf", action="append", default=[], metavar="FILE", help=udf)
    setting = "Change a setting of the pipeline's runs; may be repeated (default: as in the original)"
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help=setting)
    secrets = "Set a secret, as `deploy` does; may be repeated (default: those of the original)"
    parser.add_argument("--secret", action="append", default=[], metavar="NAME[=FILE]", help=secrets)
    parser.add_argument("--key", help="Set an idempotency key: repeated commands with the same key fork once")
    add_upgrade_arguments(parser)
    add_wait(parser, "running", "finished")
    add_dry_run(parser)
    add_connection(parser)


@errors_shown
def run(args: Namespace) -> int:
    """Make a new pipeline that goes on from a savepoint of another one."""
    options: dict[str, Json] = {
        "udfs": [read_text(file) for file in args.udf] or None,
        "settings": dict(setting_part(text) for text in args.set) or None,
        "secrets": dict(secret_part(text) for text in args.secret) or None,
    }
    parts = {name: part for name, part in options.items() if part is not None}
    body: dict[str, Json] = {"name": args.name, "query": read_text(args.sql), **parts, **upgrade_part(args)}
    path = f"/savepoints/{segment(args.savepoint)}/fork"
    return change(args, "POST", path, body, key=args.key, text=_describe)


def _describe(answer: Mapping[str, Json]) -> str:
    origin = answer.get("forked_from")
    if not isinstance(origin, dict):
        return describe(answer)
    begin = f"savepoint {origin.get('savepoint_id')} of {origin.get('pipeline')}, epoch {origin.get('epoch')}"
    return "\n".join((describe(answer), facts([("forked from", begin)])))


FORK = Command(add_arguments, run)
