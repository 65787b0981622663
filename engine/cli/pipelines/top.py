"""`arroyo top`, which reads single keys from the terminal without echo."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import sys
import termios
import time
import tty
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

from engine.cli.base import Client, Command, Json, field_of, is_away, segment
from engine.cli.pipelines.list_pipelines import ORDERS, WORST, all_pipelines, ordered
from engine.cli.remote import add_connection, connect, errors_shown, rows_of, say
from engine.errors import EngineError
from engine.values.instants import now, to_micros

if TYPE_CHECKING:
    from engine.cli.pipelines.top_table import View


_REFRESH = 2.0
_PATIENCE = 5.0
"""Response timeout in seconds; key presses wait as long."""
_EVENTS = 100
_WIDTH_OF_A_PIPE = 200


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument("--once", action="store_true", help="Print one table and exit")
    order = f"Sort by this column, the worst or largest first (default: {WORST})"
    parser.add_argument("--sort", choices=ORDERS, default=WORST, help=order)
    add_connection(parser)


@errors_shown
def run(args: Namespace) -> int:
    """Show the pipelines, the worst first, until `q` or Ctrl-C."""
    client = connect(args)
    if args.json:
        rows = ordered(list(all_pipelines(client)), args.sort, is_reversed=False)
        say(json.dumps({"data": rows, "has_more": False}, indent=2))
    elif args.once or not sys.stdout.isatty():
        _print_once(client, args.sort)
    else:
        _watch(replace(client, timeout=_PATIENCE), args.sort)
    return 0


def _print_once(client: Client, order: str) -> None:
    from rich.console import Console  # noqa: PLC0415 - other verbs need not pay for it

    from engine.cli.pipelines.top_table import View, table  # noqa: PLC0415

    width = shutil.get_terminal_size((_WIDTH_OF_A_PIPE, 0)).columns
    Console(width=width).print(table(View(list(all_pipelines(client)), order), width))


def _watch(client: Client, order: str) -> None:
    from rich.console import Console  # noqa: PLC0415 - other verbs need not pay for it
    from rich.live import Live  # noqa: PLC0415

    from engine.cli.pipelines.top_table import View, screen  # noqa: PLC0415

    console, watch = Console(), Watch(client)
    view = watch.refreshed(View((), order))
    with keys() as pressed, Live(console=console, screen=True, auto_refresh=False) as live:
        due = time.monotonic() + _REFRESH
        while True:
            live.update(screen(view, console.width, console.height, to_micros(now())), refresh=True)
            for key in pressed(max(0.0, due - time.monotonic())):
                if key == "q":
                    return
                view = watch.after_key(view, key)
            if time.monotonic() >= due:
                view = watch.refreshed(view)
                due = time.monotonic() + _REFRESH


@dataclass(slots=True)
class Watch:
    """Polls a control plane, and keeps its last response while it is unreachable."""

    client: Client
    clock: Callable[[], int] = lambda: to_micros(now())
    answered: int | None = None

    def refreshed(self, view: View) -> View:
        """Return the view with the current data. Raise errors that are no outage, and an outage before the first
        answer."""
        try:
            rows = list(all_pipelines(self.client))
            known = any(row.get("id") == view.chosen for row in rows)
            view = view if known else replace(view, chosen=None, events=None)
            events = view.events if view.events is None else self._events(view.chosen)
        except EngineError as error:
            if self.answered is None or not is_away(error):
                raise
            return replace(view, away_since=self.answered)
        self.answered = self.clock()
        return replace(view, rows=rows, events=events, away_since=None)

    def after_key(self, view: View, key: str) -> View:
        """Return the view after a key; unknown keys change nothing."""
        if key == "enter":
            if view.events is not None:
                return replace(view, events=None)
            return self.refreshed(replace(view, events=())) if view.chosen else view
        if view.events is not None:
            return view
        if key == "s":
            return replace(view, order=ORDERS[(ORDERS.index(view.order) + 1) % len(ORDERS)])
        if key == "r":
            return replace(view, is_reversed=not view.is_reversed)
        return _moved(view, 1 if key == "down" else -1) if key in ("up", "down") else view

    def _events(self, pipeline: str | None) -> list[dict[str, Json]]:
        return rows_of(self.client.get(f"/pipelines/{segment(str(pipeline))}/events", {"limit": _EVENTS}))


def _moved(view: View, step: int) -> View:
    ids = [field_of(row, "id") for row in view.in_order()]
    if not ids:
        return view
    at = ids.index(view.chosen) + step if view.chosen in ids else 0
    return replace(view, chosen=ids[min(max(at, 0), len(ids) - 1)])


TOP = Command(add_arguments, run)


_NAMES = {"\x1b[A": "up", "\x1bOA": "up", "\x1b[B": "down", "\x1bOB": "down", "\r": "enter", "\n": "enter"}


@contextmanager
def keys() -> Iterator[Callable[[float], list[str]]]:
    """Provide a function that waits for keys that many seconds; without a terminal it only waits. Ctrl-C works as
    usual, and the terminal is restored at the end, also by SIGTERM."""
    if not sys.stdin.isatty():
        yield _no_keys
        return
    terminal = sys.stdin.fileno()
    before, ended = termios.tcgetattr(terminal), signal.signal(signal.SIGTERM, _end)
    try:
        tty.setcbreak(terminal)
        yield lambda seconds: _pressed(terminal, seconds)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        signal.signal(signal.SIGTERM, ended)


def split(text: str) -> list[str]:
    """Split the terminal's input into keys: arrows and Enter by name, others unchanged."""
    found = []
    while text:
        name = next((sent for sent in _NAMES if text.startswith(sent)), text[0])
        found.append(_NAMES.get(name, name))
        text = text[len(name) :]
    return found


def _end(number: int, _: object) -> NoReturn:
    raise SystemExit(128 + number)


def _no_keys(seconds: float) -> list[str]:
    time.sleep(seconds)
    return []


def _pressed(terminal: int, seconds: float) -> list[str]:
    ready, _, _ = select.select([terminal], [], [], seconds)
    if not ready:
        return []
    sent = os.read(terminal, 64)
    return split(sent.decode(errors="ignore")) if sent else ["q"]  # the terminal is gone
