"""`arroyo reprocess`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from engine.cli.base import Command
from engine.cli.client import Json, field_of
from engine.cli.pipelines.deploy import secret_part
from engine.cli.remote import add_pipeline, connect, describe, errors_shown, path_of, show
from engine.cli.waiting import add_wait, change
from engine.errors import RequestError


def add_arguments(parser: ArgumentParser) -> None:
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
def run(args: Namespace) -> int:
    """Make a new pipeline beside this one that reads the same input again and writes elsewhere."""
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
    return change(args, "POST", path, body, key=args.key, text=_describe)


def _hand_over(args: Namespace) -> int:
    """Ask for the hand-over of a pipeline that reads again already, take it back, or show how far it is."""
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


def _describe(answer: Mapping[str, Json]) -> str:
    about = answer.get("reprocesses")
    return "\n".join((describe(answer), _lines(about))) if isinstance(about, dict) else describe(answer)


def _lines(about: Mapping[str, Any]) -> str:
    name, origin = field_of(about, "name"), field_of(about, "pipeline")
    head = f"{name} reads the input of {origin} again, and goes on with what comes"
    lines = [*(f"writes {line}" for line in about.get("writes", ())), *about.get("stays", ())]
    return "\n".join([head, *(f"  {line}" for line in lines)])


REPROCESS = Command(add_arguments, run)
