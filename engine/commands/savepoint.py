"""`arroyo savepoint`."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from engine.commands.base import Command
from engine.commands.client import Json
from engine.commands.remote import FAILED, add_pipeline, connect, errors_shown, facts, instant, path_of, show

_PAUSE = 0.5


def add_arguments(parser: ArgumentParser) -> None:
    """What the verb takes."""
    add_pipeline(parser)
    parser.add_argument("--label", help="Label the savepoint for people; labels need not differ")


@errors_shown
def run(args: Namespace) -> int:
    """Take a savepoint and wait until it is settled. The job runs on."""
    client = connect(args)
    answer = client.send("POST", path_of(args, "savepoints"), {"label": args.label})
    while isinstance(answer, dict) and answer.get("state") == "pending":
        time.sleep(_PAUSE)
        answer = client.get(path_of(args, "savepoints", str(answer["id"])))
    show(args, answer, _describe)
    return 0 if isinstance(answer, dict) and answer.get("state") == "completed" else FAILED


def _describe(savepoint: Mapping[str, Json]) -> str:
    return facts(
        [
            *((name, savepoint.get(name)) for name in ("id", "label", "state", "epoch")),
            ("watermark", instant(savepoint.get("watermark"))),
            ("bytes", savepoint.get("bytes")),
            ("path", savepoint.get("path")),
            ("failure", savepoint.get("failure_message")),
        ]
    )


SAVEPOINT = Command("savepoint", "Take a savepoint of a running pipeline", add_arguments, run)
