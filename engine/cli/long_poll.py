"""Questions that the control plane may hold until there is something to say, asked again until the wait is over.

A control plane that goes away meanwhile is asked again when it is back: one that restarts is no reason to give up a
wait of hours. One that never answered is a wrong address, and said at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from engine.cli.client import Json, is_away
from engine.errors import EngineError

HOLD = 25.0
"""Seconds one request is held; proxies tend to cut what is silent for longer than thirty."""
PATIENCE = 30.0
"""Seconds that the control plane may be away while somebody waits: one that restarts is back within that time."""
_PAUSE = 0.5


@dataclass(slots=True)
class LongPoll:
    """Asks until an answer is the last one, or the time is over; the last answer is given then, whatever it says."""

    ask: Callable[[float], Json]
    """Asks once; the server may hold the question so many seconds."""
    timeout: float
    clock: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep

    def until(self, is_last: Callable[[Json], bool]) -> Json:
        """Wait for the last answer."""
        end, answered = self.clock() + self.timeout, None
        while True:
            try:
                answer = self.ask(max(0.0, min(HOLD, end - self.clock())))
            except EngineError as error:
                now = self.clock()
                if answered is None or not is_away(error) or now >= end or now - answered > PATIENCE:
                    raise
                self.pause(_PAUSE)
                continue
            answered = self.clock()
            if is_last(answer) or answered >= end:
                return answer
