"""`arroyo list`.

Pipelines that a verb changes: one by its name, or several by a pattern or by tags.

    arroyo stop orders                 # one
    arroyo stop 'orders-*'             # those whose name matches
    arroyo stop --tag team=sales       # those with the tag
"""

from __future__ import annotations

import json
import os
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence

from engine.cli.base import Client, Command, Json, RefusedError, field_of
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
from engine.jobs.decisions.states import State
from engine.values.durations import spell_lag


def add_choice(parser: ArgumentParser) -> None:
    """Add the arguments that choose one pipeline or several, and those of the connection."""
    text = "Choose the pipeline by name or id, or several by a pattern such as 'orders-*'"
    parser.add_argument("pipeline", nargs="?", help=text)
    add_several(parser)
    add_connection(parser)


def add_several(parser: ArgumentParser) -> None:
    """Add the arguments of a change of several pipelines."""
    tag = "Choose the pipelines with this tag, such as team=sales or team; several tags must all match"
    parser.add_argument("--tag", action="append", metavar="KEY[=VALUE]", help=tag)
    parser.add_argument("--yes", action="store_true", help="Change several pipelines without asking first")
    limit = "Change this many pipelines at a time, if the command waits for the result (default: 2)"
    parser.add_argument("--at-once", type=int, metavar="N", help=limit)


def means_several(args: Namespace) -> bool:
    """Whether the arguments choose pipelines by a pattern or by tags."""
    return bool(args.tag) or (args.pipeline is not None and "*" in args.pipeline)


def chosen(rows: Iterable[Mapping[str, Json]], name: str | None, tags: Iterable[str]) -> list[Mapping[str, Json]]:
    """Return the pipelines that match the name or pattern and all tags, by name. A pipeline whose name is exactly the
    pattern is the only match."""
    wanted = [_tag(text) for text in tags]
    tagged = [row for row in rows if all(_has_tag(row.get("tags"), key, value) for key, value in wanted)]
    if name is None:
        matching = tagged
    else:
        pattern = re.compile(".*".join(re.escape(part) for part in name.split("*")), re.DOTALL)
        exact = [row for row in tagged if name in (row.get("name"), row.get("id"))]
        matching = exact or [row for row in tagged if pattern.fullmatch(str(row.get("name")))]
    return sorted(matching, key=lambda row: str(row.get("name")))


def tags_part(texts: Iterable[str]) -> dict[str, Json]:
    """Return the tags of the arguments; one without a value has an empty one."""
    return {key: value or "" for key, value in map(_tag, texts)}


def _tag(text: str) -> tuple[str, str | None]:
    key, equals, value = text.partition("=")
    if not key:
        raise RequestError(f"{text!r} is not a tag", hint="write --tag team=sales, or --tag team")
    return key, value if equals else None


def _has_tag(tags: Json, key: str, value: str | None) -> bool:
    return isinstance(tags, dict) and key in tags and value in (None, tags[key])


WORST = "worst"
_FIELDS = {
    "lag": "lag_micros",
    "complete": "complete_until",
    "rows": "rows_per_second",
    "restarts": "restarts",
    "cpu": "cpu_cores",
    "memory": "memory_bytes",
}
ORDERS: tuple[str, ...] = (WORST, "name", "state", *_FIELDS)
"""Sort keys, as `--sort` names them."""
_RANKS = (
    *(State.FAILED, State.RECOVERING, State.RESCALING, State.SCHEDULING, State.STOPPING, State.CHECKPOINT_STOPPING),
    *(State.CREATED, State.RUNNING, State.STOPPED, State.FINISHED),
)


def ordered(rows: Sequence[Mapping[str, Json]], order: str, *, is_reversed: bool) -> list[Mapping[str, Json]]:
    """Return the rows sorted. Those without a value in the column come last, reversed or not."""
    by_name = sorted(rows, key=lambda row: str(row.get("name")))
    if order == WORST:
        by_lag = ordered(by_name, "lag", is_reversed=is_reversed)
        return sorted(by_lag, key=_rank, reverse=is_reversed)
    if order == "name":
        return by_name[::-1] if is_reversed else by_name
    if order == "state":
        return sorted(by_name, key=_rank, reverse=is_reversed)
    field = _FIELDS[order]
    known = [row for row in by_name if _number(row, field) is not None]
    unknown = [row for row in by_name if _number(row, field) is None]
    most_first = order != "complete"  # the earliest is the worst
    return [*sorted(known, key=lambda row: _number(row, field) or 0, reverse=most_first != is_reversed), *unknown]


def _number(row: Mapping[str, Json], field: str) -> float | None:
    value = row.get(field)
    return value if isinstance(value, int | float) else None


def _rank(row: Mapping[str, Json]) -> int:
    """Return the severity of a state; a state of a newer control plane ranks with failures."""
    state = row.get("state")
    return _RANKS.index(State(state)) if isinstance(state, str) and state in set(State) else 0


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
    """List the pipelines that match the pattern and the tags, a line each."""
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
    """Return the columns that fit 80 characters, with truncated names if necessary."""
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
    """Yield every pipeline, page after page. The list restarts if the last one of a page is deleted before the next
    page."""
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
