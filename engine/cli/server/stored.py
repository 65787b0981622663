"""`arroyo connections` and `arroyo tables`: stored connections and tables."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from engine.cli.base import Client, Command, Json, field_of, segment
from engine.cli.remote import FAILED, add_connection, connect, errors_shown, rows_of, say, show, table
from engine.cli.terminal import why_unreadable
from engine.errors import RequestError

_PROFILES, _TABLES = "/connection_profiles", "/connection_tables"
_NAME, _TEXT = '"', "'"
_LONGEST_TEST = 60.0
"""Timeout of a test in seconds; that of the control plane is shorter."""


def add_arguments(parser: ArgumentParser, *, is_table: bool) -> None:
    """Add the arguments of both verbs."""
    kind = "table" if is_table else "connection"
    parser.add_argument(
        "action",
        choices=("list", "create", "test", "delete", *(("schema",) if is_table else ())),
        help="List, save, test or delete tables, or infer the columns of one from its data"
        if is_table
        else "List, save, test or delete connections",
    )
    parser.add_argument("name", nargs="?", help=f"Name the {kind}")
    parser.add_argument("--connector", help="Use this connector")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="Set an option, as in a WITH clause; may be repeated",
    )
    parser.add_argument(
        "--secret-option",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="Set an option from a file, or from standard input with `-`, so that no secret is an argument",
    )
    if is_table:
        parser.add_argument("--connection", help="Use this connection")
        parser.add_argument("--columns", help="Define the columns, as in CREATE TABLE")
    add_connection(parser)


@errors_shown
def run_connections(args: Namespace) -> int:
    """Manage connections."""
    return _run(args, is_table=False)


@errors_shown
def run_tables(args: Namespace) -> int:
    """Manage tables."""
    return _run(args, is_table=True)


def _run(args: Namespace, *, is_table: bool) -> int:
    client, path = connect(args), _TABLES if is_table else _PROFILES
    if args.action == "list":
        answer = _whole_list(client, path)
        say(json.dumps(answer, indent=2) if args.json else _listed(answer, is_table=is_table))
        return 0
    verb = f"arroyo {'tables' if is_table else 'connections'} {args.action}"
    if args.name is None:
        raise RequestError(f"{verb} needs a name", hint=f"{verb} NAME")
    if args.action == "delete":
        client.send("DELETE", f"{path}/{segment(args.name)}", None)
        return 0
    if args.connector is None:
        raise RequestError(f"{verb} needs a connector", hint=f"{verb} {args.name} --connector kafka")
    body = _body(args, is_table=is_table)
    if args.action == "test":
        return _test(client, path, body, as_json=args.json)
    if args.action == "schema":
        return _infer(args, client, body)
    show(args, client.send("POST", path, body), partial(field_of, name="id"))
    return 0


def _whole_list(client: Client, path: str) -> Json:
    """Return a list of all pages."""
    rows: list[dict[str, Json]] = []
    while True:
        answer = client.get(path, {"starting_after": field_of(rows[-1], "id")} if rows else None)
        page = rows_of(answer)
        rows += page
        if not page or not isinstance(answer, dict) or answer.get("has_more") is not True:
            return {"data": list(rows), "has_more": False, "hasMore": False}


def _test(client: Client, path: str, body: Mapping[str, Json], *, as_json: bool) -> int:
    """Test the object; the exit code is the result."""
    answer = replace(client, timeout=_LONGEST_TEST).send("POST", f"{path}/test", body)
    said = answer if isinstance(answer, dict) else {}
    hint = f"\n  hint: {said['hint']}" if said.get("hint") else ""
    say(json.dumps(said, indent=2) if as_json else f"{field_of(said, 'message')}{hint}")
    return FAILED if said.get("error") else 0


def _infer(args: Namespace, client: Client, body: Mapping[str, Json]) -> int:
    """Print the CREATE TABLE of a table with the columns of its data. A secret is named, not shown."""
    answer = replace(client, timeout=_LONGEST_TEST).send("POST", f"{_TABLES}/schemas/infer", body)
    assert isinstance(answer, dict)
    show(args, answer, partial(_create_table, args, body))
    return 0


def _create_table(args: Namespace, body: Mapping[str, Json], answer: Mapping[str, Json]) -> str:
    config = body["config"]
    assert isinstance(config, dict)
    secret = {name for name, _ in map(_pair, args.secret_option)}
    options = {"connector": args.connector}
    options |= {} if args.connection is None else {"connection_profile": args.connection}
    options |= {
        name: f"{{{{ secret:{name.upper().replace('.', '_')} }}}}" if name in secret else str(value)
        for name, value in config.items()
    }
    typed = ",\n".join(f"  {_quoted(name, _NAME)} = {_quoted(value, _TEXT)}" for name, value in options.items())
    columns = "\n".join(f"  {line}" for line in field_of(answer, "columns").splitlines())
    name = _quoted(args.name, _NAME)
    return f"-- {field_of(answer, 'message')}\nCREATE TABLE {name} (\n{columns}\n) WITH (\n{typed}\n);"


def _quoted(text: str, mark: str) -> str:
    return f"{mark}{text.replace(mark, 2 * mark)}{mark}"


def _body(args: Namespace, *, is_table: bool) -> dict[str, Json]:
    config: dict[str, Json] = {}
    for name, value in map(_pair, args.option):
        _put(config, name, value)
    for name, file in map(_pair, args.secret_option):
        _put(config, name, _content(file))
    body: dict[str, Json] = {"name": args.name, "connector": args.connector, "config": config}
    if is_table:
        body["connection_profile_id"] = args.connection
        body["schema"] = {"columns": args.columns or ""}
    return body


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise RequestError(f"{text!r} is no option", hint="write NAME=VALUE")
    return name, value


def _put(config: dict[str, Json], name: str, value: str) -> None:
    if name in config:
        raise RequestError(f"option {name!r} is given twice", hint="give it once")
    config[name] = value


def _content(file: str) -> str:
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError(f"{file!r} cannot be read: {why_unreadable(error)}", hint="check its path") from error
    return text.rstrip("\r\n")


def _listed(answer: Json, *, is_table: bool) -> str:
    head = ("NAME", "CONNECTOR", "TYPE" if is_table else "KEPT", "USED BY")
    rows = [(row.get("name"), row.get("connector"), _kind(row), ", ".join(_users(row))) for row in rows_of(answer)]
    return table(head, rows)


def _kind(row: Mapping[str, Json]) -> str:
    if "table_type" in row:
        return str(row["table_type"])
    return "here" if row.get("stored") else "in the file"


def _users(row: Mapping[str, Json]) -> Sequence[str]:
    users = row.get("used_by")
    return [str(user) for user in users] if isinstance(users, list) else []


CONNECTIONS = Command(partial(add_arguments, is_table=False), run_connections)
TABLES = Command(partial(add_arguments, is_table=True), run_tables)
