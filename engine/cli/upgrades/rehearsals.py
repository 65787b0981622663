"""`arroyo rehearsals`, and `arroyo rehearse --pipeline`: rehearsals that a control plane plays."""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping

from engine.cli.arguments.udf_files import read_udf_files
from engine.cli.base import Command
from engine.cli.client import Client, Json, field_of, is_away, segment
from engine.cli.long_poll import PATIENCE
from engine.cli.remote import (
    FAILED,
    add_pipeline,
    connect,
    errors_shown,
    facts,
    instant,
    path_of,
    rows_of,
    say,
    show,
    table,
    warn,
)
from engine.cli.terminal import dim, read_script
from engine.cli.terminal import say as tell
from engine.errors import EngineError, RequestError, UnreachableError
from engine.values.start_positions import read_starts

DIFFERENT, INTERRUPTED = 2, 130
_OPEN = ("waiting", "running")
_PAUSE = 0.5
_MOST = 1000
_ELSEWHERE = ("scratch", "parallelism", "connections", "old_udf")
"""What only a rehearsal on this machine is told; a control plane knows it of the pipeline."""


@errors_shown
def rehearse_there(args: Namespace) -> int:
    """Have the control plane rehearse a script in the place of what a pipeline runs, and show what came of it."""
    if told := [name for name in _ELSEWHERE if getattr(args, name)]:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in told)
        raise RequestError(
            f"{options} cannot be said with --pipeline: its control plane plays the rehearsal",
            hint="leave it out, or rehearse from a savepoint in a directory with --savepoint",
        )
    client, path = connect(args), f"/pipelines/{segment(args.pipeline)}/rehearsals"
    begun = client.send("POST", path, _body(args))
    if args.no_wait:
        show(args, begun, _describe)
        return 0
    rehearsal = segment(field_of(begun if isinstance(begun, dict) else {}, "id"))
    try:
        answer = _until_over(begun, lambda: client.get(f"{path}/{rehearsal}"))
    except KeyboardInterrupt:
        client.send("DELETE", f"{path}/{rehearsal}", None)
        warn("rehearsal.stopped: it is called off")
        return INTERRUPTED
    return _show_outcome(answer, as_json=args.json or args.format == "json")


def _body(args: Namespace) -> dict[str, Json]:
    read_starts(args.start_from, "--start-from")
    settings: dict[str, Json] = {"start_from": "; ".join(args.start_from)} if args.start_from else {}
    if args.memory is not None:
        settings["memory"] = args.memory
    body: dict[str, Json] = {
        "query": read_script(args.file),
        "keep_state": args.keep_state,
        "reset": args.reset,
        "hold_back": args.hold_back,
        "examples": args.rows,
    }
    optional: dict[str, Json] = {
        "udfs": [file.text for file in read_udf_files(args.udf)] or None,
        "settings": settings or None,
        "savepoint_id": args.from_savepoint,
        "limit_micros": None if args.limit is None else int(args.limit * 1_000_000),
    }
    return body | {name: value for name, value in optional.items() if value is not None}


def _until_over(
    begun: Json,
    look: Callable[[], Json],
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> Mapping[str, Json]:
    """The rehearsal once it is over; what it is at is told meanwhile."""
    answer, answered, told = begun, clock(), None
    while True:
        if not isinstance(answer, dict):
            raise UnreachableError("what answers is no control plane", hint="name the address of one with --url")
        if field_of(answer, "state") not in _OPEN:
            return answer
        if (at := answer.get("step") or answer["state"]) != told:
            tell(dim(f"{answer['id']}: {at}"))
            told = at
        pause(_PAUSE)
        try:
            answer = look()
        except EngineError as error:
            if not is_away(error) or clock() - answered > PATIENCE:
                raise
        else:
            answered = clock()


def _show_outcome(answer: Mapping[str, Json], *, as_json: bool) -> int:
    """The report, or why there is none."""
    report, failure = answer.get("report"), answer.get("failure")
    if isinstance(report, dict):
        say(json.dumps(report, indent=2) if as_json else str(answer.get("text")).rstrip("\n"))
        return DIFFERENT if answer.get("differs") else 0
    if isinstance(failure, dict):
        hint = f"\n  hint: {failure['hint']}" if failure.get("hint") else ""
        warn(f"{failure.get('code')}: {failure.get('message')}{hint}")
    return FAILED


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_pipeline(parser)
    parser.add_argument("rehearsal", nargs="?", help="Show this rehearsal and its findings (default: list all)")
    parser.add_argument("--stop", action="store_true", help="Cancel this rehearsal")


@errors_shown
def run(args: Namespace) -> int:
    """The rehearsals of a pipeline, newest first, or one of them."""
    client = connect(args)
    if args.rehearsal is None:
        if args.stop:
            raise RequestError("no rehearsal to stop is named", hint="name it, as the list does")
        return _list(args, client)
    path = path_of(args, "rehearsals", args.rehearsal)
    answer = client.send("DELETE", path, None) if args.stop else client.get(path)
    show(args, answer, _describe)
    return 0


def _list(args: Namespace, client: Client) -> int:
    answer = client.get(path_of(args, "rehearsals"), {"limit": _MOST})
    if args.json:
        say(json.dumps(answer, indent=2))
        return 0
    rows = [
        (
            row.get("id"),
            row.get("step") or row.get("state"),
            row.get("version"),
            _found(row),
            instant(row.get("created_at")),
            instant(row.get("ended_at")),
            row.get("creator"),
        )
        for row in rows_of(answer)
    ]
    say(table(("ID", "STATE", "VERSION", "FOUND", "CREATED", "ENDED", "BY"), rows))
    return 0


def _found(row: Mapping[str, Json]) -> str | None:
    if isinstance(failure := row.get("failure"), dict):
        return str(failure.get("code"))
    differs = row.get("differs")
    return None if differs is None else "rows differ" if differs else "no row differs"


def _describe(answer: Mapping[str, Json]) -> str:
    failure = answer.get("failure")
    shown = [
        ("id", field_of(answer, "id")),
        ("state", field_of(answer, "state")),
        ("step", answer.get("step")),
        ("version", answer.get("version")),
        ("savepoint", answer.get("savepoint_id")),
        ("created", instant(answer.get("created_at"))),
        ("started", instant(answer.get("started_at"))),
        ("ended", instant(answer.get("ended_at"))),
        ("by", answer.get("creator")),
        ("failure", f"{failure.get('code')}: {failure.get('message')}" if isinstance(failure, dict) else None),
        ("hint", failure.get("hint") if isinstance(failure, dict) else None),
    ]
    text = answer.get("text")
    return facts(shown) + (f"\n\n{text}".rstrip("\n") if text else "")


REHEARSALS = Command(add_arguments, run)
