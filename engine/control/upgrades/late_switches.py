"""How the last step of a hand-over ends when no epoch comes of it; pure.

orders is to go on with the query and the state of orders-again, and a quarter of an hour later it

    is up, and nothing comes to read    over: it runs
    is still being given the state      waited for, since that has limits of its own
    was stopped by somebody             waited for
    starts, and starts again            stopped, so that nothing changes any more, and then it
        has planned no epoch            goes back to its own query and state
        has planned one                 goes on and it is over: what its sinks may have of that, nobody takes back
        has no state of its own saved   goes on and it is over: there is nothing to go back to
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

from engine.jobs.decisions.states import State
from engine.jobs.records import JobRecord
from engine.store.pipelines.reprocessings import Reprocessing
from engine.store.savepoints.savepoints import Savepoint

if TYPE_CHECKING:
    from engine.spark.upgrade.hand_over import Standing

LONGEST_SWITCH = timedelta(minutes=15)
"""So long an original may take to its first epoch with the state of another one."""
_MINUTES = f"{LONGEST_SWITCH // timedelta(minutes=1)} minutes"


@dataclass(frozen=True, slots=True)
class WaitFor:
    """Nothing is to be done; where something is known, what is waited for."""

    what: str | None = None


@dataclass(frozen=True, slots=True)
class StopIt:
    """The original is to stop, and the next look decides."""

    why: str


@dataclass(frozen=True, slots=True)
class EndIt:
    """The original runs with the other state, or goes on trying to."""

    told: str | None = None


@dataclass(frozen=True, slots=True)
class GoBack:
    """The original goes back to what was saved of its own."""

    saved: Savepoint
    why: str


SwitchAction: TypeAlias = WaitFor | StopIt | EndIt | GoBack


def follow(row: Reprocessing, origin: JobRecord, now: datetime, because: str) -> SwitchAction:
    """Return the next action of a switch whose original was not stopped for it; `because` is the reason why it does not
    run."""
    pipeline, status = origin.pipeline, origin.status
    is_new = status.version == row.new_version
    if is_new and status.progress.epoch is not None:
        return EndIt()
    if pipeline.stop != "none":
        return WaitFor(f"{pipeline.name} is {status.state}: `arroyo start {pipeline.name}` starts it")
    is_away = bool(because) and status.state not in (State.RUNNING, State.STOPPED)
    failing = f"{pipeline.name} is {status.state}{because}" if is_away else None
    if now - row.since <= LONGEST_SWITCH:
        return WaitFor(failing)
    if pipeline.restore is not None:
        return WaitFor(failing or f"the state is put in the place of that of {pipeline.name}")
    if is_new and status.state is State.RUNNING:
        return EndIt(f"{pipeline.name} is up, and has found nothing to read in {_MINUTES}")
    last = f", and in the end {failing}" if failing else ""
    return StopIt(f"{pipeline.name} has committed no epoch in {_MINUTES}{last}: it stops, and returns to its own state")


def follow_stopped(
    row: Reprocessing, origin: JobRecord, at: Standing | None, saved: Savepoint | None, because: str
) -> EndIt | GoBack:
    """Return the next action of a switch whose original has stopped for it."""
    name, status = origin.pipeline.name, origin.status
    if status.version == row.new_version and status.progress.epoch is not None:
        return EndIt()
    late = f"{name} has committed no epoch in {_MINUTES}{because}"
    if at is None or not at.is_settled:
        return EndIt(f"{late}; it goes on with the other state, since its sinks may have an epoch of that")
    if saved is None or saved.state != "completed":
        known = "is not saved" if saved is None or saved.failure_message is None else f"is not: {saved.failure_message}"
        return EndIt(f"{late}; it goes on with the other state, since its own {known}")
    return GoBack(saved, f"{late}; it goes back to its own query and state")
