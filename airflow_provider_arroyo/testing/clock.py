"""A clock that a test controls.

clock = TurnableClock(datetime(2026, 1, 1, tzinfo=UTC))
clock.after(timedelta(minutes=10), lambda: pipeline.become("Failed"))
clock.turn(timedelta(hours=1))      the pipeline has failed at 00:10, and it is 01:00
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta


@dataclass
class TurnableClock:
    """Stands still until it is turned. Scheduled actions then happen in order, each at its time."""

    now: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    _agenda: list[tuple[datetime, int, Callable[[], object]]] = field(default_factory=list)
    _count: int = 0

    def __post_init__(self) -> None:
        if self.now.tzinfo is None:
            raise ValueError(f"a clock needs a time with a zone, such as {self.now.isoformat()}Z")

    def at(self, instant: datetime, action: Callable[[], object]) -> None:
        """Do something when the clock comes to this instant; at its next turn if that is over."""
        if instant.tzinfo is None:
            raise ValueError(f"an instant needs a zone, such as {instant.isoformat()}Z")
        self._count += 1
        self._agenda.append((instant, self._count, action))

    def after(self, length: timedelta, action: Callable[[], object]) -> None:
        """Do something once the clock was turned so far."""
        self.at(self.now + length, action)

    def turn_towards(self, instant: datetime) -> None:
        """Let time pass until then, but no further than to the next thing that is to happen."""
        following = min((entry[0] for entry in self._agenda), default=instant)
        self.turn(max(timedelta(0), min(instant, following) - self.now))

    def turn(self, length: timedelta) -> None:
        """Let so much time pass."""
        if length < timedelta(0):
            raise ValueError(f"a clock is not turned back, and {length} is negative")
        end = self.now + length
        while due := [entry for entry in self._agenda if entry[0] <= end]:
            entry = min(due, key=lambda waiting: waiting[:2])
            self._agenda.remove(entry)
            self.now = max(self.now, entry[0])
            entry[2]()
        self.now = max(self.now, end)
