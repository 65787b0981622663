"""Deliveries of partitions that are pushed to Airflow: where to, and how it goes.

    delivery 12 is next                     the newest event of the asset is 70: 12 is in doubt after 70
    posted, and the answer is there         12 is acknowledged
    posted, and the answer is lost          12 is in doubt; 1 s later, 2 s, 4 s, ..., 5 min: what came after event 70?
      there is an event 71 of 12            12 is acknowledged
      there is none                         12 is posted again
    not posted: Airflow is away             12 is in no doubt; the same pauses

What is in doubt is written down before it is posted: a control plane that is killed looks before it posts again. So
does one whose database was restored from a backup, and knows of events up to 60 while there are some up to 70.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

FIRST_PAUSE = timedelta(seconds=1)
LONGEST_PAUSE = timedelta(minutes=5)
SETTLING = timedelta(seconds=20)
"""So long after it was posted an event may still be about to be stored: the answer is waited for no longer."""
Chance = Callable[[], float]
"""Gives numbers from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Push:
    """An asset of an Airflow, and how to log in there: with the password of a user or with a token, of which only the
    reference to a secret is known here, or with neither. Events with partition keys start DAGs by partitions, and those
    without the others."""

    url: str
    asset: str
    with_keys: bool = True
    username: str | None = None
    password: str | None = None
    token: str | None = None


@dataclass(frozen=True, slots=True)
class Doubt:
    """A delivery that may be an event of the asset: one that came after another event, if it is one."""

    sequence: int
    after: int
    since: datetime


@dataclass(frozen=True, slots=True)
class PushState:
    """How it goes: how often in a row it has failed and why last, since when, when the next try is due, and when a
    delivery was pushed last."""

    failures: int = 0
    error: str | None = None
    error_code: str | None = None
    failing_since: datetime | None = None
    due: datetime | None = None
    pushed_at: datetime | None = None
    doubt: Doubt | None = None
    newest: int | None = None
    """The newest event of the asset that is known to be of the consumer; None before the first."""


@dataclass(frozen=True, slots=True)
class Pushed:
    """A consumer's push, and how it goes. One that is off is remembered: there may be something in doubt when it is
    turned on again."""

    push: Push
    state: PushState = field(default_factory=PushState)
    is_off: bool = False

    def doubts(self, doubt: Doubt | None) -> Pushed:
        """Return the push with `doubt` as its uncertain delivery."""
        return replace(self, state=replace(self.state, doubt=doubt))

    def succeeded(self, at: datetime | None, event: int | None = None) -> Pushed:
        """Airflow has stored what was to be pushed as this event; without an instant there was nothing to be stored."""
        state = self.state
        return replace(self, state=PushState(pushed_at=at or state.pushed_at, newest=event or state.newest))

    def failed(self, at: datetime, error: str, code: str, chance: Chance) -> Pushed:
        """Record another failure. The next try waits longer, an uncertain delivery also until it has settled."""
        state, failures = self.state, self.state.failures + 1
        due = at + pause(failures, chance)
        if state.doubt is not None:
            due = max(due, state.doubt.since + SETTLING)
        since = state.failing_since or at
        return replace(
            self,
            state=replace(state, failures=failures, error=error, error_code=code, failing_since=since, due=due),
        )


def pause(failures: int, chance: Chance) -> timedelta:
    """Return the wait after `failures` in a row: doubled each time up to the longest, with jitter."""
    doubled: int = 2 ** min(failures - 1, 20)
    longest = min(LONGEST_PAUSE, FIRST_PAUSE * doubled)
    return longest * (0.5 + chance() / 2)
