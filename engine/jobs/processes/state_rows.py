"""Rows of a state, read in a process of its own: they may be many, and Spark may have to be started for them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Any

from engine.errors import (
    EngineError,
    NoStateError,
    RecompiledError,
    StateError,
    StateRowsError,
    UnknownSubjectError,
    UnreadableStateError,
)
from engine.jobs.processes.asked_process import ask_process

_KNOWN = {kind.code: kind for kind in (NoStateError, RecompiledError, UnknownSubjectError, UnreadableStateError)}


@dataclass(frozen=True, slots=True)
class RowsOrder:
    """Which rows are wanted: of which operator in which state, which have these values, `COLUMN=VALUE`, and how many at
    most. `udfs` are names and texts of files of functions."""

    directory: str
    operator: str
    conditions: Sequence[str]
    limit: int
    udfs: Sequence[tuple[str, str]] = ()
    connections: str = ""


KeptRows = list[dict[str, Any]]
"""Each with its partition, its table, and its columns."""
ReadRows = Callable[[RowsOrder], KeptRows]


@dataclass(slots=True)
class LocalStateRows:
    """Reads rows of states in processes of this machine, one at a time."""

    inherited: tuple[str, ...] = ()
    limit: timedelta = timedelta(seconds=90)
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def read(self, order: RowsOrder) -> KeptRows:
        """The rows that are ordered; never takes longer than the limit. Refused while others are being read."""
        if not self._turn.acquire(blocking=False):
            raise StateRowsError("rows of a state are being read already", hint="try it again in a moment")
        try:
            answer = ask_process("engine.driver.state_rows", asdict(order), self.inherited, self.limit)
        finally:
            self._turn.release()
        if "code" in answer:
            raise _error(str(answer["code"]), str(answer["message"]), answer["hint"])
        rows: KeptRows = answer["rows"]
        return rows


def _error(code: str, message: str, hint: str | None) -> EngineError:
    kind = _KNOWN.get(code, StateError)
    return kind(message, hint=hint)
