"""`arroyo logs`, `arroyo events`, `arroyo tail`."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence

from engine.cli.base import Client, Command, Json, segment
from engine.cli.remote import add_connection, add_pipeline, connect, errors_shown, instant, path_of, rows_of, say, warn
from engine.cli.terminal import plain
from engine.cli.waiting import MOST, Follower
from engine.errors import DurationError, RequestError
from engine.values.durations import read_duration
from engine.values.instants import now, to_micros

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


def add_events_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument("pipeline", nargs="?", help="Choose the pipeline by name or id (default: all of them)")
    parser.add_argument("-f", "--follow", action="store_true", help="Follow the events until Ctrl-C")
    severity = "Show events of at least this severity (default: info)"
    parser.add_argument("--severity", choices=("info", "warn", "error"), default="info", help=severity)
    since = "Show events since this time (ISO 8601; UTC without a zone) or for this long, such as '1 hour'"
    parser.add_argument("--since", metavar="INSTANT", help=since)
    parser.add_argument("--limit", type=int, default=100, help="Show the newest events, this many (default: 100)")
    add_connection(parser)


@errors_shown
def run_events(args: Namespace) -> int:
    """Print the events, oldest first, and new ones with --follow."""
    client = connect(args)
    query: dict[str, str | int | float] = {"severity": args.severity}
    # before what is shown, so that nothing falls between
    newest = _newest_of_all(client, args) if args.follow else 0
    first = rows_of(client.get(_path(args), {**query, **_since(args), "limit": args.limit}))[::-1]
    _show(args, first)
    sys.stdout.flush()  # a reader of a pipe gets each line immediately
    if args.follow:
        query["limit"] = MOST
        follower: Follower[int] = Follower(lambda after: client.get(_path(args), {**query, "after": after}))
        for event in events_after(max(_newest(first), newest), follower):
            _show(args, [event])
            sys.stdout.flush()
    return 0


def events_after(number: int, follower: Follower[int]) -> Iterator[Mapping[str, Json]]:
    """Yield the events after one, without end."""
    for answer in follower.answers(number, lambda answer, before: _newest(rows_of(answer)) or before):
        yield from rows_of(answer)


def readable_event(event: Mapping[str, Json]) -> str:
    """Return an event in a line, and its remedy in another."""
    level, code = str(event.get("level", "")).upper(), event.get("code")
    run_id = "" if event.get("run_id") is None else f" run {event['run_id']}"
    message = f"{code}: {event.get('message')}" if code else str(event.get("message"))
    behalf = f", for {event['requested_by']}" if event.get("requested_by") else ""
    who = f"  ({event['who']}{behalf})" if event.get("who") else ""
    hint = f"\n  hint: {event['details']}" if event.get("details") else ""
    return f"{instant(event.get('created_at'))} {level:<5} {event.get('pipeline')}{run_id}  {message}{who}{hint}"


def _path(args: Namespace) -> str:
    return "/events" if args.pipeline is None else f"/pipelines/{segment(args.pipeline)}/events"


def _since(args: Namespace) -> dict[str, str | int]:
    """Return the instant of the argument; a duration is relative to now."""
    if args.since is None:
        return {}
    try:
        return {"since": to_micros(now() - read_duration(args.since))}
    except DurationError:
        return {"since": args.since}
    except OverflowError as error:
        raise RequestError(f"--since {args.since!r} is too long ago", hint="leave it out for all events") from error


def _newest_of_all(client: Client, args: Namespace) -> int:
    """Return the newest event of any severity: earlier ones are not shown later."""
    return _newest(rows_of(client.get(_path(args), {"limit": 1})))


def _newest(events: Sequence[Mapping[str, Json]]) -> int:
    number = events[-1].get("id") if events else None
    return number if isinstance(number, int) else 0


def _show(args: Namespace, events: Sequence[Mapping[str, Json]]) -> None:
    for event in events:
        say(json.dumps(event) if args.json else readable_event(event))


EVENTS = Command(add_events_arguments, run_events)
