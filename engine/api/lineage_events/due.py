"""Choose the next OpenLineage event of a run, from what was emitted and what is stored.

    nothing emitted               START     at its launch
    launch emitted, it runs       RUNNING
    running emitted               RUNNING   with each new certificate, and with its epoch every few minutes
    it has ended                  COMPLETE, ABORT or FAIL
    there is a later run          START     of that one

Nothing is queued: after an outage, a receiver gets the events that follow from what is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from engine.jobs.decisions.states import State
from engine.jobs.decisions.status import Failure, Progress, Run, Status
from engine.jobs.decisions.totals import ToldRun
from engine.openlineage.runs import EventType
from engine.store.partitions.certificates import Certificate

_ENDS: dict[str, EventType] = {"finished": "COMPLETE", "stopped": "ABORT", "failed": "FAIL"}
_ASKED = frozenset({State.STOPPED, State.STOPPING, State.CHECKPOINT_STOPPING, State.RESCALING})
_DIED = Failure("run.died", "the driver has ended without a word")


@dataclass(frozen=True, slots=True)
class Seen:
    """Stored facts: the current run, the next one, and certificates that were not emitted, each with its number and its
    run. Empty for a deleted pipeline."""

    run: Run | None = None
    next_run: Run | None = None
    status: Status | None = None
    certificates: Sequence[tuple[Certificate, int, int]] = ()


@dataclass(frozen=True, slots=True)
class Telling:
    """An event, and the record of what has been emitted after it."""

    kind: EventType
    at: datetime
    generation: int
    after: ToldRun | None
    """None if nothing more will be emitted for the job."""
    progress: Progress | None = None
    certificates: Sequence[Certificate] = ()
    failure: Failure | None = None


def next_telling(told: ToldRun, seen: Seen, now: datetime, interval: timedelta) -> Telling | ToldRun | datetime | None:
    """The next event; or what to go on from, without one; or when there will be one; None when something has to happen
    first."""
    run = seen.run
    if told.stage == "new":
        return Telling("START", told.launched_at, told.generation, replace(told, stage="begun"))
    if told.stage != "over" and seen.status is None:
        return Telling("ABORT", now, told.generation, None)
    if (relied_on := _relied_on(told, seen, now)) is not None:
        return relied_on
    if told.stage == "over" or run is None:
        if seen.next_run is None:
            return None
        following = seen.next_run
        return replace(
            told,
            generation=following.generation,
            version=following.version,
            launched_at=following.launched_at,
            stage="new",
            epoch=None,
            told_at=None,
        )
    if told.stage == "begun" and run.running_at is not None:
        return Telling("RUNNING", run.running_at, told.generation, replace(told, stage="up", told_at=run.running_at))
    if run.ended_at is not None:
        return _end(told, run, run.ended_at, seen.status)
    if told.stage == "begun":
        return None
    return _progress(told, seen.status, now, interval)


def _relied_on(told: ToldRun, seen: Seen, now: datetime) -> Telling | None:
    """The certificates of one run, as many as follow each other; those of a run that was not told of wait for it."""
    if not seen.certificates or seen.certificates[0][2] > told.generation:
        return None
    generation, after = seen.certificates[0][2], told
    certificates = list[Certificate]()
    for certificate, number, of_run in seen.certificates:
        if of_run != generation:
            break
        certificates.append(certificate)
        after = replace(after, certificate=number, certificate_at=certificate.at)
    is_over = generation < told.generation or told.stage == "over"
    return Telling("OTHER" if is_over else "RUNNING", now, generation, after, certificates=certificates)


def _end(told: ToldRun, run: Run, at: datetime, status: Status | None) -> Telling:
    after = replace(told, stage="over")
    is_newest = status is not None and status.generation == run.generation
    progress = status.progress if status is not None and is_newest else None
    failure, goodbye = None, run.goodbye
    if goodbye is not None:
        kind, failure = _ENDS.get(goodbye.outcome, "OTHER"), goodbye.failure
    elif status is not None and is_newest and status.state in _ASKED:
        kind = "ABORT"
    else:
        kind, failure = "FAIL", _DIED
    return Telling(kind, at, told.generation, after, progress, failure=failure)


def _progress(told: ToldRun, status: Status | None, now: datetime, interval: timedelta) -> Telling | datetime | None:
    if status is None or status.generation != told.generation or status.progress.epoch in (None, told.epoch):
        return None
    due = (told.told_at or told.launched_at) + interval
    if told.told_at is not None and told.told_at <= now < due:
        return due
    after = replace(told, epoch=status.progress.epoch, told_at=now)
    return Telling("RUNNING", now, told.generation, after, status.progress)
