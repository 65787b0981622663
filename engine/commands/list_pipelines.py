"""`arroyo list`."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator, Mapping

from engine.commands.base import Command
from engine.commands.client import Client, Json, RefusedError, field_of
from engine.commands.remote import (
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
from engine.durations import spell_lag

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


@errors_shown
def run(args: Namespace) -> int:
    """All pipelines, a line each."""
    rows = list(all_pipelines(connect(args)))
    if args.json:
        say(json.dumps({"data": rows, "has_more": False}, indent=2))
    else:
        say(table(_HEAD, [_line(row) for row in rows]))
        for row in rows:
            if row.get("not_undone"):
                warn(f"{row.get('name')}: {row['not_undone']}")
    return 0


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


LIST = Command("list", "List the pipelines of a control plane", add_connection, run)
