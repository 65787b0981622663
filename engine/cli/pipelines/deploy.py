"""`arroyo deploy`."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from engine.cli.arguments import (
    add_checkpoint_interval,
    add_into_argument,
    add_upgrade_arguments,
    interval_part,
    upgrade_part,
)
from engine.cli.base import Command, Json, field_of, segment
from engine.cli.pipelines.list_pipelines import tags_part
from engine.cli.remote import add_connection, add_pipeline, connect, describe, errors_shown, facts, path_of, show
from engine.cli.terminal import why_unreadable
from engine.cli.waiting import add_dry_run, add_wait, change
from engine.errors import RequestError
from engine.values.run_settings import RUN_SETTINGS
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
    names = ", ".join((*RUN_SETTINGS, "spark.*"))
    setting = f"Change a setting of the pipeline's runs ({names}); may be repeated (default: unchanged)"
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
    """Deploy the script of the file, and run it; settings without an option are unchanged."""
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
    """Return a setting by its key."""
    key, equals, value = text.partition("=")
    if not equals:
        raise RequestError(f"--set {text!r} is not of the form key=value")
    return key, value


def secret_part(text: str) -> tuple[str, Json]:
    """Return a secret by its name. Its value is never an argument, which others can see while the command runs."""
    name, equals, file = text.partition("=")
    if equals:
        return name, read_text(file).rstrip("\r\n")
    variable = f"{SECRET_PREFIX}{name}"
    if variable not in os.environ:
        raise RequestError(f"there is no value for the secret {name!r}", hint=f"set {variable}, or write {name}=FILE")
    return name, os.environ[variable]


DEPLOY = Command(add_arguments, run)


def add_fork_arguments(parser: ArgumentParser) -> None:
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
def run_fork(args: Namespace) -> int:
    """Create a pipeline that continues from a savepoint of another one."""
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


FORK = Command(add_fork_arguments, run_fork)


def add_reprocess_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_pipeline(parser)
    since = "Read rows with an event time of T1 or later"
    parser.add_argument("--from", dest="since", metavar="T1", help=since)
    start = (
        "Set where this table starts: earliest, timestamp:2026-01-31T00:00:00Z or offsets:{...}; may be repeated "
        "(default: its first record)"
    )
    parser.add_argument("--start-from", metavar="TABLE=POSITION", action="append", default=[], help=start)
    into = "Write under a prefix: files to a directory PREFIX, records to topics and keys PREFIX-NAME"
    parser.add_argument("--into", metavar="PREFIX", required=True, help=into)
    parser.add_argument("--name", help="Name the new pipeline (default: PIPELINE-PREFIX)")
    partial = "Accept incomplete windows at T1"
    parser.add_argument("--partial-windows", action="store_true", help=partial)
    secrets = "Set a secret, as `deploy` does; may be repeated (default: those of the original)"
    parser.add_argument("--secret", action="append", default=[], metavar="NAME[=FILE]", help=secrets)
    hand_over = (
        "Replace PIPELINE's query and state with the new ones once it has caught up; omit --from and --start-from "
        "for an existing reprocessing"
    )
    over = parser.add_mutually_exclusive_group()
    over.add_argument("--hand-over", action="store_true", help=hand_over)
    apart = "Cancel the hand-over, if PIPELINE does not have the state yet"
    over.add_argument("--stay-apart", action="store_true", help=apart)
    over.add_argument("--show-hand-over", action="store_true", help="Show the progress of the hand-over")
    other = "Accept that rows whose values differ are retracted with the recomputed values"
    parser.add_argument("--accept-other-values", action="store_true", help=other)
    parser.add_argument("--key", help="Set an idempotency key: repeated commands with the same key act once")
    add_wait(parser, "running", "finished")
    parser.add_argument("--dry-run", action="store_true", help="Show the effects and change nothing")


@errors_shown
def run_reprocess(args: Namespace) -> int:
    """Create a second pipeline that reads the same input again and writes elsewhere."""
    makes_one = args.since is not None or bool(args.start_from)
    if makes_one and (args.stay_apart or args.show_hand_over):
        raise RequestError(
            "--stay-apart and --show-hand-over are about a pipeline that was made before, and make none",
            hint="leave out --from and --start-from",
        )
    if args.stay_apart or args.show_hand_over or (args.hand_over and not makes_one):
        return _hand_over(args)
    options: dict[str, Json] = {
        "since": args.since,
        "start_from": "; ".join(args.start_from) or None,
        "name": args.name,
        "secrets": dict(secret_part(text) for text in args.secret) or None,
        "partial_windows": True if args.partial_windows else None,
        "hand_over": True if args.hand_over else None,
        "accept_other_values": True if args.accept_other_values else None,
    }
    body: dict[str, Json] = {"into": args.into, **{name: part for name, part in options.items() if part is not None}}
    path = path_of(args, "reprocess")
    if args.dry_run:
        show(args, connect(args).send("POST", f"{path}?dry_run=true", body), _lines)
        return 0
    return change(args, "POST", path, body, key=args.key, text=_describe_reprocess)


def _hand_over(args: Namespace) -> int:
    """Request the hand-over of a pipeline that reads the input again, cancel it, or show its progress."""
    name = args.name or f"{args.pipeline}-{args.into}"
    path = f"/pipelines/{quote(name, safe='')}/hand-over"
    method = "DELETE" if args.stay_apart else "GET" if args.show_hand_over else "POST"
    said = [
        f"{name}=true"
        for name, is_said in (("dry_run", args.dry_run), ("accept_other_values", args.accept_other_values))
        if is_said and method == "POST"
    ]
    query = f"?{'&'.join(said)}" if said else ""
    show(args, connect(args).send(method, f"{path}{query}", None if method != "POST" else {}), _lines_of_hand_over)
    return 0


def _lines_of_hand_over(about: Mapping[str, Any]) -> str:
    name, origin, step = (field_of(about, part) for part in ("copy_name", "pipeline", "step"))
    waits = about.get("waits_for")
    lines = [f"{name} and {origin}: {step}" + (f" ({waits})" if waits else ""), *about.get("says", ())]
    plan = about.get("plan")
    text = str(plan.get("text", "")) if isinstance(plan, dict) else ""
    return "\n".join([lines[0], *(f"  {line}" for line in lines[1:]), *text.splitlines()])


def _describe_reprocess(answer: Mapping[str, Json]) -> str:
    about = answer.get("reprocesses")
    return "\n".join((describe(answer), _lines(about))) if isinstance(about, dict) else describe(answer)


def _lines(about: Mapping[str, Any]) -> str:
    name, origin = field_of(about, "name"), field_of(about, "pipeline")
    head = f"{name} reads the input of {origin} again, and goes on with what comes"
    lines = [*(f"writes {line}" for line in about.get("writes", ())), *about.get("stays", ())]
    return "\n".join([head, *(f"  {line}" for line in lines)])


REPROCESS = Command(add_reprocess_arguments, run_reprocess)
