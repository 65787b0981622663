"""A graceful stop: nothing more is read, and what was read becomes output as far as its watermark lets it.

    planners       told to read nothing more
    epoch 8        no rows; its watermark is what the rows of epoch 7 have shown, and closes windows
    round 1        all planners say that there is nothing to do: Spark may still have an epoch of its own to run
    round 2        they say it again, and no epoch was begun in between: drained

Windows that are still open stay in the state: the next start goes on with them.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.spark.read.pulses import Pulses


@dataclass(slots=True)
class Draining:
    """Looks whether anything that was read is still on its way."""

    pulses: Pulses
    _has_begun: bool = False
    _quiet_since: int | None = None
    """The newest epoch when the planners last had nothing to do."""

    def begin(self) -> None:
        """Tell the planners, which may be of a query that is yet to start."""
        self._has_begun = True
        self.pulses.drain()

    def is_over(self, newest_begun: int, *, is_in_epoch: bool) -> bool:
        """Whether the run may end, given the newest epoch that has begun; the first look tells the planners."""
        if not self._has_begun:
            self.begin()
            return False
        if is_in_epoch or not self.pulses.found_nothing():
            return False
        is_quiet = self._quiet_since == newest_begun
        self._quiet_since = newest_begun
        self.pulses.forget_answers()
        return is_quiet
