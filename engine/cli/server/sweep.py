"""`arroyo sweep`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from engine.cli.base import Command
from engine.cli.client import Json, field_of
from engine.cli.remote import add_connection, connect, errors_shown, show, table


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument("--dry-run", action="store_true", help="Show what would be removed, and why")
    add_connection(parser)


@errors_shown
def run(args: Namespace) -> int:
    """Remove what is left behind and needed by nobody."""
    show(args, connect(args).send("POST", "/sweep" + ("?dry_run=true" if args.dry_run else ""), None), _listed)
    return 0


def _listed(answer: Mapping[str, Json]) -> str:
    size = field_of(answer, "bytes")
    leaks = answer.get("leaks")
    rows = [leak for leak in leaks if isinstance(leak, dict)] if isinstance(leaks, list) else []
    if not rows:
        return "nothing is left behind"
    lines = [(row.get("kind"), row.get("count"), row.get("bytes"), row.get("path"), row.get("reason")) for row in rows]
    words = "would go" if answer.get("dry_run") else "gone"
    return f"{table(('WHAT', 'COUNT', 'BYTES', 'WHERE', 'WHY'), lines)}\n{size} bytes of files {words}"


SWEEP = Command(add_arguments, run)
