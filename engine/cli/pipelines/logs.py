"""`arroyo logs`."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping

from engine.cli.base import Command, Json
from engine.cli.remote import add_pipeline, connect, errors_shown, path_of, rows_of, say, warn
from engine.cli.terminal import plain
from engine.cli.waiting import MOST, Follower

_COLOURS = {"warn": "\033[33m", "error": "\033[31m"}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_pipeline(parser)
    parser.add_argument("--limit", type=int, default=100, help="Show this many lines (default: 100)")
    parser.add_argument("-f", "--follow", action="store_true", help="Follow the logs until the job stops or Ctrl-C")


@errors_shown
def run(args: Namespace) -> int:
    """Print the last log lines of a pipeline's drivers, and with --follow the new ones."""
    client = connect(args)
    first = client.get(path_of(args, "logs"), {"limit": args.limit})
    show = as_json if args.json else readable if sys.stdout.isatty() else str
    for line in _lines(first):
        sys.stdout.write(show(line) + "\n")
    sys.stdout.flush()  # a reader of a pipe gets each line immediately
    if args.follow:
        path = path_of(args, "logs")
        follower: Follower[str] = Follower(lambda cursor: client.get(path, {"after": cursor, "limit": MOST}))
        for line in lines_after(first, follower):
            sys.stdout.write(show(line) + "\n")
            sys.stdout.flush()
    return 0


def lines_after(first: Json, follower: Follower[str]) -> Iterator[str]:
    """Yield the lines after those of an answer, until the job has stopped and all were read."""
    shown = first if isinstance(first, dict) else {}
    for answer in follower.answers(_cursor_of(shown), lambda answer, _: _cursor_of(answer)):
        yield from _lines(answer)


def _cursor_of(answer: Mapping[str, Json]) -> str | None:
    """Return the cursor after an answer; None if the log has ended, or if the server has no cursors."""
    cursor = answer.get("cursor")
    return None if cursor is None or answer.get("over") else str(cursor)


def as_json(line: str) -> str:
    """Return the line unchanged, if it is a JSON object; else the text of such an object."""
    return line if _read(line) is not None else json.dumps({"text": line})


def readable(line: str) -> str:
    """Return a line for a terminal; one that is no entry of a driver's log is only escaped."""
    entry = _read(line)
    if entry is None or "text" not in entry:
        return plain(line)
    level = str(entry.get("level", ""))
    begin, end = (_COLOURS[level], "\033[0m") if level in _COLOURS else ("", "")
    moment = str(entry.get("time", "")).replace("T", " ")[:19]
    epoch = "" if entry.get("epoch") is None else f" epoch {entry['epoch']}"
    code = f"{entry['code']}: " if entry.get("code") else ""
    hint = f"\n  hint: {entry['hint']}" if entry.get("hint") else ""
    trace = f"\n{entry['trace']}" if entry.get("trace") else ""
    place = plain(f" run {entry.get('run')}{epoch}")
    message = plain(f"{code}{entry['text']}{hint}{trace}")
    return f"{plain(moment)} {begin}{plain(level.upper()):<5}{end}{place}  {message}"


def _read(line: str) -> dict[str, Json] | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _lines(answer: Json) -> list[str]:
    lines = answer.get("data") if isinstance(answer, dict) else None
    return [str(line) for line in lines] if isinstance(lines, list) else []


LOGS = Command(add_arguments, run)


def add_tail_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_pipeline(parser)
    parser.add_argument("table", nargs="?", help="Show this preview table (default: the only one of the pipeline)")
    parser.add_argument("--limit", type=int, default=10, help="Show this many rows first (default: 10)")
    parser.add_argument("--no-follow", action="store_true", help="Exit after these rows")


@errors_shown
def run_tail(args: Namespace) -> int:
    """Print the newest rows of a preview sink and the new ones, a line of JSON each, until the job stops or Ctrl-C."""
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
    sys.stdout.flush()  # a reader of a pipe gets each line immediately
    if not args.no_follow:
        follower: Follower[str] = Follower(lambda cursor: look({"after": cursor, "limit": MOST}))
        for line in lines_after(first, follower):
            say(line)
            sys.stdout.flush()
    return 0


TAIL = Command(add_tail_arguments, run_tail)
