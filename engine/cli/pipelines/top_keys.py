"""Read single keys from the terminal without echo."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

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
