"""`arroyo logs`."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

from engine.commands.base import Command
from engine.commands.remote import add_pipeline, connect, errors_shown, path_of, say


def add_arguments(parser: ArgumentParser) -> None:
    """What the verb takes."""
    add_pipeline(parser)
    parser.add_argument("--limit", type=int, default=100, help="Show this many lines (default: 100)")


@errors_shown
def run(args: Namespace) -> int:
    """The last lines that the drivers of a pipeline have printed."""
    answer = connect(args).get(path_of(args, "logs"), {"limit": args.limit})
    if args.json:
        say(json.dumps(answer, indent=2))
        return 0
    lines = answer.get("data") if isinstance(answer, dict) else None
    for line in lines if isinstance(lines, list) else []:
        say(str(line))
    return 0


LOGS = Command("logs", "Show what the drivers of a pipeline have printed", add_arguments, run)
