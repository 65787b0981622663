"""`arroyo deploy`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from engine.commands.base import Command
from engine.commands.client import Json, segment
from engine.commands.pipelines import describe
from engine.commands.remote import add_connection, connect, errors_shown, show
from engine.errors import RequestError


def add_arguments(parser: ArgumentParser) -> None:
    """What the verb takes."""
    parser.add_argument("file", help="the query, or - for standard input")
    parser.add_argument("--name", help="name of the pipeline (default: the name of the file)")
    parser.add_argument("--parallelism", type=int, default=1, help="tasks that work side by side (default 1)")
    parser.add_argument("--udf", type=Path, action="append", default=[], metavar="FILE", help="Python functions to use")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of the pipeline")
    parser.add_argument("--key", help="idempotency key: however often the deployment is sent, it is done once")
    parser.add_argument("--force", action="store_true", help="give up the state that another query has left")
    add_connection(parser)


@errors_shown
def run(args: Namespace) -> int:
    """Let the pipeline be as the file says, and run."""
    query = _read(args.file)
    name = args.name or (Path(args.file).stem if args.file != "-" else None)
    if name is None:
        raise RequestError("a query from standard input needs a --name")
    body: dict[str, Json] = {
        "query": query,
        "parallelism": args.parallelism,
        "udfs": [udf.read_text() for udf in args.udf],
        "settings": dict(_setting(text) for text in args.set),
        "force": args.force,
    }
    show(args, connect(args).send("PUT", f"/pipelines/by-name/{segment(name)}", body, key=args.key), describe)
    return 0


def _read(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text()
    except OSError as refused:
        raise RequestError(f"cannot read {file}: {refused.strerror}") from refused


def _setting(text: str) -> tuple[str, Json]:
    key, equals, value = text.partition("=")
    if not equals:
        raise RequestError(f"--set {text}: not of the form key=value")
    return key, value


DEPLOY = Command("deploy", "let a pipeline be as a file says, and run", add_arguments, run)
