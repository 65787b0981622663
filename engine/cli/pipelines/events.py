"""`arroyo events`."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence

from engine.cli.base import Client, Command, Json, segment
from engine.cli.remote import add_connection, connect, errors_shown, instant, rows_of, say
from engine.cli.waiting import MOST, Follower
from engine.errors import DurationError, RequestError
from engine.values.durations import read_duration
from engine.values.instants import now, to_micros


def add_arguments(parser: ArgumentParser) -> None:
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
def run(args: Namespace) -> int:
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


def readable(event: Mapping[str, Json]) -> str:
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
        say(json.dumps(event) if args.json else readable(event))


EVENTS = Command(add_arguments, run)
