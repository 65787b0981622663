"""`arroyo savepoint`."""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from engine.commands.base import Command
from engine.commands.client import Json, field_of
from engine.commands.dry_run import add_dry_run, send
from engine.commands.remote import (
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
)

_PAUSE = 0.5


def add_arguments(parser: ArgumentParser) -> None:
    """What the verb takes."""
    add_pipeline(parser)
    parser.add_argument("--label", help="Label the savepoint for people; labels need not be unique")
    parser.add_argument("--reason", help="Say what the savepoint is taken for")
    add_dry_run(parser)


@errors_shown
def run(args: Namespace) -> int:
    """Take a savepoint and wait until it is settled. The job runs on."""
    return take(args, {"label": args.label, "reason": args.reason})


def take(args: Namespace, body: Mapping[str, Json]) -> int:
    """Ask for a savepoint, and show what came of it; with `--dry-run` what would."""
    if args.dry_run:
        send(args, "POST", path_of(args, "savepoints"), body, _describe)
        return 0
    client = connect(args)
    answer = client.send("POST", path_of(args, "savepoints"), body)
    while isinstance(answer, dict) and answer.get("state") == "pending":
        time.sleep(_PAUSE)
        answer = client.get(path_of(args, "savepoints", field_of(answer, "id")))
    show(args, answer, _describe)
    return 0 if isinstance(answer, dict) and answer.get("state") == "completed" else FAILED


def _describe(savepoint: Mapping[str, Json]) -> str:
    return facts(
        [
            ("id", field_of(savepoint, "id")),
            *((name, savepoint.get(name)) for name in ("label", "state", "epoch", "version")),
            ("watermark", instant(savepoint.get("watermark"))),
            ("bytes", savepoint.get("bytes")),
            ("path", savepoint.get("path")),
            ("failure", savepoint.get("failure_message")),
        ]
    )


@errors_shown
def run_list(args: Namespace) -> int:
    """The savepoints of a pipeline, a line each, newest first."""
    answer = connect(args).get(path_of(args, "savepoints"), {"limit": 1000})
    if args.json:
        say(json.dumps(answer, indent=2))
        return 0
    head = ("ID", "STATE", "EPOCH", "VERSION", "WATERMARK", "CREATED", "BY", "LABEL")
    named = ("id", "state", "epoch", "version")
    say(
        table(
            head,
            [
                (
                    *(row.get(name) for name in named),
                    instant(row.get("watermark")),
                    instant(row.get("created_at")),
                    row.get("creator"),
                    row.get("label"),
                )
                for row in rows_of(answer)
            ],
        )
    )
    return 0


SAVEPOINT = Command("savepoint", "Take a savepoint of a running pipeline", add_arguments, run)
SAVEPOINTS = Command("savepoints", "List the savepoints of a pipeline", add_pipeline, run_list)
