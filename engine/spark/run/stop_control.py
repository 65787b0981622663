"""Stop a run from any thread: at once, or gracefully, so that all rows that were read are in the output.

Graceful stop: read nothing more, and emit the output of all rows that were read, as far as the watermark permits.

    planners       stop reading
    epoch 8        no rows; its watermark comes from the rows of epoch 7, and closes windows
    round 1        no planner has anything to do, but Spark may still run an epoch of its own
    round 2        still nothing to do, and no epoch has begun in between: drained

Windows that are still open stay in the state, and the next start continues them.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Literal

from engine.spark.read.pulses import Pulses

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


@dataclass(slots=True)
class Draining:
    """Detects when all rows that were read are processed."""

    pulses: Pulses
    _has_begun: bool = False
    _quiet_since: int | None = None
    """The newest epoch at the time when the planners last had nothing to do."""

    def begin(self) -> None:
        """Tell the planners to read nothing more; they may be those of a query that is about to start."""
        self._has_begun = True
        self.pulses.drain()

    def is_over(self, newest_begun: int, *, is_in_epoch: bool) -> bool:
        """Whether the run may end, given the newest epoch that has begun; the first call tells the planners to
        drain."""
        if not self._has_begun:
            self.begin()
            return False
        if is_in_epoch or not self.pulses.found_nothing():
            return False
        is_quiet = self._quiet_since == newest_begun
        self._quiet_since = newest_begun
        self.pulses.forget_answers()
        return is_quiet
