"""`arroyo tail`."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace

from engine.cli.base import Command
from engine.cli.client import Json
from engine.cli.following import MOST, Follower
from engine.cli.pipelines.logs import lines_after
from engine.cli.remote import add_pipeline, connect, errors_shown, path_of, rows_of, say, warn


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_pipeline(parser)
    parser.add_argument("table", nargs="?", help="Show this preview table (default: the only one of the pipeline)")
    parser.add_argument("--limit", type=int, default=10, help="Show this many rows first (default: 10)")
    parser.add_argument("--no-follow", action="store_true", help="Exit after these rows")


@errors_shown
def run(args: Namespace) -> int:
    """The newest rows of a preview sink and those that come, a line of JSON each, until the job rests or Ctrl-C."""
    client = connect(args)
    table: dict[str, str | int | float] = {} if args.table is None else {"table": args.table}

    def look(query: dict[str, str | int | float]) -> Json:
        answer = client.get(path_of(args, "output"), {**table, **query})
        if not isinstance(answer, dict):
            return answer
        if answer.get("missed"):
            warn(f"{answer['missed']} rows were let go before they could be shown")
        return {**answer, "data": [json.dumps(row, ensure_ascii=False) for row in rows_of(answer)]}

    first = look({"limit": args.limit})
    lines = first.get("data") if isinstance(first, dict) else None
    if not lines:
        warn("there are no rows yet; a table WITH (connector = 'preview') is shown here")
    for line in lines if isinstance(lines, list) else []:
        say(str(line))
    sys.stdout.flush()  # whoever reads through a pipe waits for nothing that is here already
    if not args.no_follow:
        follower: Follower[str] = Follower(lambda cursor: look({"after": cursor, "limit": MOST}))
        for line in lines_after(first, follower):
            say(line)
            sys.stdout.flush()
    return 0


TAIL = Command(add_arguments, run)
