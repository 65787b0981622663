"""Stop a run from any thread."""

from __future__ import annotations

import threading
from typing import Literal

StopMode = Literal["graceful", "checkpoint", "immediate"]
_MODES: tuple[StopMode, ...] = ("graceful", "checkpoint", "immediate")
"""Modes of a stop, slowest first. A later request can only make a stop faster."""


class StopRequested(Exception):  # noqa: N818 - it is no error
    """Raised before the first effect of an epoch, if the run is to stop after the previous one."""


class Control:
    """Stops a run. Thread-safe."""

    def __init__(self) -> None:
        self._mode: StopMode | None = None
        self._changed = threading.Event()

    def stop(self, mode: StopMode) -> None:
        """Request a stop: once the rows that were read are in the output, after the current epoch, or immediately; the
        next start continues from there in any case."""
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
        """Wait until a stop is requested, something wakes the run, or the time is up."""
        self._changed.wait(seconds)
        self._changed.clear()

    def wake(self) -> None:
        """Wake the run immediately."""
        self._changed.set()
