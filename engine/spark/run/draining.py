"""Graceful stop: read nothing more, and emit the output of all rows that were read, as far as the watermark permits.

    planners       stop reading
    epoch 8        no rows; its watermark comes from the rows of epoch 7, and closes windows
    round 1        no planner has anything to do, but Spark may still run an epoch of its own
    round 2        still nothing to do, and no epoch has begun in between: drained

Windows that are still open stay in the state, and the next start continues them.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.spark.read.pulses import Pulses


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
