"""How a run is stopped, from whichever thread."""

from __future__ import annotations

import threading
from typing import Literal

StopMode = Literal["graceful", "checkpoint", "immediate"]
_MODES: tuple[StopMode, ...] = ("graceful", "checkpoint", "immediate")
"""From the one that takes longest on; what comes later may only hurry a run."""


class StopRequested(Exception):  # noqa: N818 - it is no error
    """Raised before the first effect of an epoch, when the run is to stop at the end of the one before."""


class Control:
    """The one way to stop a run; may be used from any thread."""

    def __init__(self) -> None:
        self._mode: StopMode | None = None
        self._changed = threading.Event()

    def stop(self, mode: StopMode) -> None:
        """Stop once what was read is in the output, after the epoch that is under way, or immediately; the next start
        goes on from there in any case."""
        if self._mode is None or _MODES.index(mode) > _MODES.index(self._mode):
            self._mode = mode
        self._changed.set()

    @property
    def mode(self) -> StopMode | None:
        """Return how the run is to stop; None if it continues."""
        return self._mode

    @property
    def refuses_epochs(self) -> bool:
        """Whether no further epoch may begin."""
        return self._mode in ("checkpoint", "immediate")

    def wait(self, seconds: float) -> None:
        """Wait, but not longer than until a stop is asked for, or somebody wakes the run."""
        self._changed.wait(seconds)
        self._changed.clear()

    def wake(self) -> None:
        """Let the run look at once."""
        self._changed.set()
