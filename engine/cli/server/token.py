"""`arroyo token`."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from datetime import datetime

from engine.cli.base import Command
from engine.cli.client import Json, field_of, segment
from engine.cli.remote import add_connection, connect, errors_shown, instant, rows_of, say, show, table
from engine.errors import RequestError
from engine.values.durations import read_duration
from engine.values.instants import now, to_micros


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument("action", choices=("create", "list", "revoke"), help="Create, list or revoke tokens")
    parser.add_argument("name", nargs="?", help="Name the token to create or to revoke")
    parser.add_argument(
        "--expires-in", metavar="DURATION", help="Let the new token expire after this long, such as '30 days'"
    )
    add_connection(parser)


@errors_shown
def run(args: Namespace) -> int:
    """Look after named tokens."""
    client = connect(args)
    if args.action == "list":
        answer = client.get("/tokens")
        say(json.dumps(answer, indent=2) if args.json else _listed(answer))
        return 0
    if args.name is None:
        raise RequestError(f"arroyo token {args.action} needs a name", hint=f"arroyo token {args.action} NAME")
    if args.action == "revoke":
        client.send("DELETE", f"/tokens/{segment(args.name)}", None)
        return 0
    body: dict[str, Json] = {"name": args.name}
    if args.expires_in is not None:
        body["expires_at"] = to_micros(_end(args.expires_in))
    show(args, client.send("POST", "/tokens", body), _value)
    return 0


def _end(length: str) -> datetime:
    try:
        return now() + read_duration(length)
    except OverflowError as error:
        raise RequestError(
            f"--expires-in {length!r} is too long a time", hint="leave it out for a token without an end"
        ) from error


def _value(fresh: Mapping[str, Json]) -> str:
    """The value alone, so that it can go into a file."""
    return field_of(fresh, "token")


def _listed(answer: Json) -> str:
    head = ("NAME", "VALID", "CREATED", "BY", "EXPIRES", "REVOKED")
    rows = [
        (
            row.get("name"),
            "yes" if row.get("valid") else "no",
            instant(row.get("created_at")),
            row.get("created_by"),
            instant(row.get("expires_at")),
            instant(row.get("revoked_at")),
        )
        for row in rows_of(answer)
    ]
    return table(head, rows)


TOKEN = Command(add_arguments, run)
