"""Asking again and again for what comes: a control plane that restarts meanwhile is waited for.

after 5                  6 and 7, and there is more
at once, after 7         8
a second later, after 8  nobody answers
a second later, after 8  9
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from engine.cli.client import Json, is_away
from engine.errors import EngineError

_PAUSE = 1.0
_PATIENCE = 30.0
"""Seconds that the control plane may be away while somebody follows."""
MOST = 1000
"""As much is asked for at once."""

CursorT = TypeVar("CursorT", int, str)


@dataclass(frozen=True, slots=True)
class Follower(Generic[CursorT]):
    """Asks for what comes after a cursor, as long as there is one."""

    look: Callable[[CursorT], Json]
    clock: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep

    def answers(
        self, after: CursorT | None, cursor_of: Callable[[dict[str, Json], CursorT], CursorT | None]
    ) -> Iterator[dict[str, Json]]:
        """The answers that follow a cursor; `cursor_of` says where each of them ends, and None where all does."""
        answered, is_behind = self.clock(), False
        while after is not None:
            if not is_behind:
                self.pause(_PAUSE)
            try:
                answer = self.look(after)
            except EngineError as error:
                if not is_away(error) or self.clock() - answered > _PATIENCE:
                    raise
                is_behind = False
                continue
            answered = self.clock()
            fields = answer if isinstance(answer, dict) else {}
            yield fields
            is_behind = bool(fields.get("has_more"))
            after = cursor_of(fields, after)
