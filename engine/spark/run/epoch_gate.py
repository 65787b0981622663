"""Gate that admits the epochs of a run, one at a time.

Spark's thread     begins epoch 7
thread of the run  is_under_way: epoch 7 has begun and is not reported yet
thread of the run  reports epoch 7
thread of the run  refuses further epochs: none is under way, so none can begin
Spark's thread     begins epoch 8: StopRequested, before its first effect
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from engine.spark.run.stop_control import Control, StopRequested


@dataclass(slots=True)
class EpochGate:
    """The newest epoch that has begun, and the newest that was reported; -1 before the first epoch of this run."""

    control: Control
    newest: int = -1
    newest_reported: int = -1
    _is_refusing: bool = False
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, number: int) -> None:
        """Begin an epoch. Raise StopRequested if none may begin: so far it is only planned, and the next query runs
        exactly this epoch."""
        with self._guard:
            if self.control.refuses_epochs or self._is_refusing:
                raise StopRequested
            self.newest = number

    @property
    def is_under_way(self) -> bool:
        """Whether an epoch has begun that is not reported."""
        return self.newest > self.newest_reported

    def refuse(self) -> bool:
        """Let no further epoch begin, unless one is under way; return whether none is under way."""
        with self._guard:
            self._is_refusing = not self.is_under_way
            return self._is_refusing

    def admit(self) -> None:
        """Let the epochs of another query begin."""
        self._is_refusing = False
