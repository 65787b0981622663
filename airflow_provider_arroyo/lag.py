"""Compute the lag of a stream over time from its committed epochs.

Between two commits the lag grows with the clock; a commit reduces it to the lag of its watermark:

    lag        /|     /|
             /  |   /  |    /        maxima: just before a commit, and now
           /    | /    |  /
          /     |/     |/            minima: just after a commit
        --+-----+------+---> clock

So no earlier poll has to be remembered, and another worker or triggerer gets the same result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from airflow_provider_arroyo.answers import Checkpoint

MOST_EPOCHS = 1000
"""Largest page of epochs; older ones are not requested."""


@dataclass(frozen=True, slots=True)
class LagBounds:
    """Condition that the lag is `at_most` or `at_least` this much, and was so for `steady`, except by up to `slack`
    within that time."""

    at_most: timedelta | None = None
    at_least: timedelta | None = None
    steady: timedelta = timedelta(0)
    slack: timedelta = timedelta(0)

    def hold(self, checkpoints: Sequence[Checkpoint], now: datetime) -> bool:
        """Whether it is so; not while it is not known for all of the time."""
        commits = _commits(checkpoints)
        begin = now - self.steady
        is_known = bool(commits) and (commits[0][0] <= begin or len(checkpoints) >= MOST_EPOCHS)
        if not is_known:
            return False
        current = now - commits[-1][1]
        least, most = _extremes(commits, begin, now)
        within = self.at_most is None or (current <= self.at_most and most <= self.at_most + self.slack)
        return within and (self.at_least is None or (current >= self.at_least and least >= self.at_least - self.slack))

    def describe(self) -> str:
        """In words, for a log line."""
        bound = f"at most {self.at_most}" if self.at_most is not None else f"at least {self.at_least}"
        return f"{bound} for {self.steady}" if self.steady else bound


def _commits(checkpoints: Sequence[Checkpoint]) -> list[tuple[datetime, datetime]]:
    """Return the commit time and watermark of each epoch, oldest first."""
    known = ((one.finish_time, one.watermark) for one in checkpoints)
    return sorted((at, watermark) for at, watermark in known if at is not None and watermark is not None)


def _extremes(
    commits: Sequence[tuple[datetime, datetime]], begin: datetime, now: datetime
) -> tuple[timedelta, timedelta]:
    """The least and the most that the lag was from `begin` to `now`."""
    ends = [at for at, _ in commits[1:]] + [now]
    spans = [(max(at, begin), end, watermark) for (at, watermark), end in zip(commits, ends, strict=True)]
    shown = [span for span in spans if span[1] >= begin]
    least = min(start - watermark for start, _, watermark in shown)
    return least, max(end - watermark for _, end, watermark in shown)
