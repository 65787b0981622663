"""`arroyo deploy`."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path

from engine.cli.arguments.checkpoint_interval import add_checkpoint_interval, interval_part
from engine.cli.arguments.into import add_into_argument
from engine.cli.arguments.upgrade import add_upgrade_arguments, upgrade_part
from engine.cli.base import Command
from engine.cli.client import Json, segment
from engine.cli.dry_run import add_dry_run
from engine.cli.pipelines.choice import tags_part
from engine.cli.remote import add_connection, errors_shown
from engine.cli.terminal import why_unreadable
from engine.cli.waiting import add_wait, change
from engine.errors import RequestError
from engine.jobs.decisions.spec import RUN_SETTINGS
from engine.values.secret_references import SECRET_PREFIX
from engine.values.sink_prefix import writing_under


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument("file", help="Read the query from this file; - is standard input")
    parser.add_argument("--name", help="Name the pipeline (default: the name of the file)")
    parallelism = "Set the parallelism (default: unchanged, and 1 for a new pipeline)"
    parser.add_argument("--parallelism", type=int, help=parallelism)
    add_into_argument(parser)
    add_checkpoint_interval(parser)
    udf = "Use the Python functions of this file; may be repeated (default: unchanged)"
    parser.add_argument("--udf", action="append", default=[], metavar="FILE", help=udf)
    setting = (
        f"Change a setting of the pipeline's runs ({', '.join(RUN_SETTINGS)}); may be repeated (default: unchanged)"
    )
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help=setting)
    tag = "Tag the pipeline, such as team=sales; may be repeated, and replaces all tags (default: unchanged)"
    parser.add_argument("--tag", action="append", default=[], metavar="KEY[=VALUE]", help=tag)
    secrets = "Set a secret of the pipeline, from FILE or from ARROYO_SECRET_NAME; may be repeated"
    parser.add_argument("--secret", action="append", default=[], metavar="NAME[=FILE]", help=secrets)
    parser.add_argument("--defaults", action="store_true", help="Reset omitted options to their defaults")
    parser.add_argument("--key", help="Set an idempotency key: repeated commands with the same key deploy once")
    parser.add_argument("--force", action="store_true", help="Discard the state if the query has changed")
    no_upgrade = "Refuse a changed query instead of upgrading its state"
    parser.add_argument("--no-upgrade", action="store_true", help=no_upgrade)
    add_upgrade_arguments(parser)
    add_wait(parser, "running", "finished")
    add_dry_run(parser)
    add_connection(parser)


_DEFAULTS: Mapping[str, Json] = {"parallelism": 1, "udfs": [], "settings": {}, "checkpoint_interval_micros": None}


@errors_shown
def run(args: Namespace) -> int:
    """Make the pipeline what the file says, and let it run; what is left out stays as it is."""
    query = writing_under(read_text(args.file), args.into)
    name = args.name if args.name is not None or args.file == "-" else Path(args.file).stem
    if name is None:
        raise RequestError("a query from standard input has no name", hint="name the pipeline with --name")
    options: dict[str, Json] = {
        "parallelism": args.parallelism,
        "udfs": [read_text(file) for file in args.udf] or None,
        "settings": dict(setting_part(text) for text in args.set) or None,
        "tags": tags_part(args.tag) or None,
        "secrets": dict(secret_part(text) for text in args.secret) or None,
    }
    left_out = _DEFAULTS if args.defaults else {}
    parts = {name: part for name, part in options.items() if part is not None}
    upgrade: dict[str, Json] = {**upgrade_part(args), **({"upgrade": "never"} if args.no_upgrade else {})}
    body: dict[str, Json] = {"query": query, "force": args.force, **left_out, **parts, **interval_part(args), **upgrade}
    return change(args, "PUT", f"/pipelines/by-name/{segment(name)}", body, key=args.key)


def read_text(file: str) -> str:
    """Read a file or standard input."""
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        reason = why_unreadable(error)
        raise RequestError(f"{file} cannot be read: {reason}", hint="name a file, or - for standard input") from error


def setting_part(text: str) -> tuple[str, Json]:
    """A setting by its key."""
    key, equals, value = text.partition("=")
    if not equals:
        raise RequestError(f"--set {text!r} is not of the form key=value")
    return key, value


def secret_part(text: str) -> tuple[str, Json]:
    """A secret by its name. Its value is never an argument, which others can see while the command runs."""
    name, equals, file = text.partition("=")
    if equals:
        return name, read_text(file).rstrip("\r\n")
    variable = f"{SECRET_PREFIX}{name}"
    if variable not in os.environ:
        raise RequestError(f"there is no value for the secret {name!r}", hint=f"set {variable}, or write {name}=FILE")
    return name, os.environ[variable]


DEPLOY = Command(add_arguments, run)
