"""`arroyo list`."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence

from engine.cli.base import Command
from engine.cli.client import Client, Json, RefusedError, field_of
from engine.cli.pipelines.choice import chosen
from engine.cli.pipelines.top_order import ORDERS, WORST, ordered
from engine.cli.remote import (
    add_connection,
    connect,
    errors_shown,
    instant,
    rows_of,
    say,
    shared_java_text,
    table,
    warn,
)
from engine.cli.terminal import plain
from engine.errors import RequestError
from engine.values.durations import spell_lag

_PAGE = 500
_HEAD = (
    "NAME",
    "ID",
    "STATE",
    "PARALLELISM",
    "VERSION",
    "CREATED",
    "COMPLETE UNTIL",
    "LAG",
    "ROWS/S",
    "RESTARTS",
    "CPU",
    "MIB",
    "SHARED JAVA",
)


_NARROW_HEAD = ("NAME", "STATE", "LAG", "ROWS/S", "RESTARTS")
_WIDTH = 80
_LEAST_NAME = 12
_COLOURS = {"Failed": "\033[31m", "Recovering": "\033[33m", "Stopped": "\033[2m", "Finished": "\033[2m"}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument("pattern", nargs="?", help="List the pipelines with this name or pattern, such as 'orders-*'")
    tag = "List the pipelines with this tag, such as team=sales or team; several tags must all match"
    parser.add_argument("--tag", action="append", default=[], metavar="KEY[=VALUE]", help=tag)
    forms = "Print this form; wide has all columns, the default fits 80"
    parser.add_argument("-o", "--output", choices=("table", "wide", "json", "yaml"), help=forms)
    order = f"Sort by this column, the worst or largest first (default: {WORST})"
    parser.add_argument("--sort", choices=ORDERS, default=WORST, help=order)
    add_connection(parser)


@errors_shown
def run(args: Namespace) -> int:
    """List all pipelines, or those that the pattern and the tags choose, a line each."""
    if args.json and args.output not in (None, "json"):
        raise RequestError(f"--json and -o {args.output} name two forms", hint="leave out one of them")
    form = "json" if args.json else args.output or "table"
    rows = ordered(chosen(all_pipelines(connect(args)), args.pattern, args.tag), args.sort, is_reversed=False)
    if form == "json":
        say(json.dumps({"data": rows, "has_more": False}, indent=2))
    elif form == "yaml":
        say("\n".join(_yaml(row) for row in rows) or "[]")
    else:
        _print_table(rows, is_wide=form == "wide")
    return 0


def _print_table(rows: Sequence[Mapping[str, Json]], *, is_wide: bool) -> None:
    head, lines = (_HEAD, [_line(row) for row in rows]) if is_wide else (_NARROW_HEAD, _narrow(rows))
    first, *shown = table(head, lines).splitlines()
    say(first)
    for row, line in zip(rows, shown, strict=True):
        colour = _COLOURS.get(str(row.get("state"))) if sys.stdout.isatty() and "NO_COLOR" not in os.environ else None
        sys.stdout.write(f"{colour}{plain(line)}\033[0m\n") if colour else say(line)
    for row in rows:
        if row.get("not_undone"):
            warn(f"{row.get('name')}: {row['not_undone']}")
        if row.get("blocked"):
            warn(f"{row.get('name')} is blocked by {row.get('failure_code')}; `arroyo show` says what to do")


def _narrow(rows: Sequence[Mapping[str, Json]]) -> list[list[object]]:
    """Return the columns that fit 80, with names that are cut if they do not."""
    fields = ("state", "rows_per_second", "restarts")
    lines: list[list[object]] = []
    for row in rows:
        state, rate, restarts = (row.get(name) for name in fields)
        lines.append(
            [" ".join(str(row.get("name")).split("\n")), state, spell_lag(row.get("lag_micros")), rate, restarts]
        )
    others = [
        max([len(head), *(len("" if line[at] is None else str(line[at])) for line in lines)])
        for at, head in enumerate(_NARROW_HEAD)
    ][1:]
    room = max(_LEAST_NAME, _WIDTH - sum(others) - 2 * len(others))
    for line in lines:
        name = str(line[0])
        line[0] = name if len(name) <= room else name[: room - 1] + "\u2026"
    return lines


def _yaml(row: Mapping[str, Json]) -> str:
    """Return a row as an item of a YAML list; values are JSON, which is YAML."""
    return "\n".join(
        f"{'  ' if at else '- '}{name}: {json.dumps(value)}" for at, (name, value) in enumerate(row.items())
    )


def all_pipelines(client: Client) -> Iterator[dict[str, Json]]:
    """Every pipeline, page after page. The list begins again where its last one is deleted before the next page."""
    first: dict[str, str | int | float] = {"limit": _PAGE}
    query, listed = first, set[str]()
    while True:
        try:
            answer = client.get("/pipelines", query)
        except RefusedError as error:
            if query is first or error.problem_code != "pipeline.not_found":
                raise
            query = first
            continue
        page = rows_of(answer)
        yield from (row for row in page if str(row.get("id")) not in listed)
        if not page or not isinstance(answer, dict) or answer.get("has_more") is not True:
            return
        listed |= {str(row.get("id")) for row in page}
        query = {**first, "starting_after": field_of(page[-1], "id")}


def _line(row: Mapping[str, Json]) -> list[object]:
    """Return a row of the list; fields that an older control plane lacks are empty."""
    memory, cores = row.get("memory_bytes"), row.get("cpu_cores")
    return [
        *(row.get(name) for name in ("name", "id", "state", "parallelism", "version")),
        instant(row.get("created_at")),
        instant(row.get("complete_until")),
        spell_lag(row.get("lag_micros")),
        row.get("rows_per_second"),
        row.get("restarts"),
        f"{cores:.2f}" if isinstance(cores, int | float) else None,
        memory // 2**20 if isinstance(memory, int) else None,
        shared_java_text(row.get("shared_java")),
    ]


LIST = Command(add_arguments, run)
