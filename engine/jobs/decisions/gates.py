"""Whether a pipeline has come as far as somebody waits for.

    sinks        counts, minutes: complete until 05:29:00, output until 05:29:51        visits, sessions: unknown

    past 05:29:00 of counts                    passed
    past 05:29:51 of counts                    not yet: the newest window written is 05:28
    past 05:29:51 of counts, by output time    passed: every window that ends before it is written
    past 05:29:00 of all                       refused: it will never be known of visits

How far each sink is, is worked out where the epoch is run (`plan/completeness.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from engine.errors import CompletenessUnknownError, SinkNotFoundError
from engine.jobs.decisions.states import State
from engine.jobs.decisions.status import Progress, Status
from engine.values.epoch_report import HeldBy, SinkProgress
from engine.values.instants import FAR_FUTURE

GateTime = Literal["input", "output"]
"""Whose event time the instant is compared with: that of the rows read, or that of the rows written."""


@dataclass(frozen=True, slots=True)
class Gate:
    """What is waited for: output that is complete up to `past`, in one sink or in all."""

    past: datetime
    table: str | None = None
    by: GateTime = "input"


def is_passed(gate: Gate, progress: Progress) -> bool:
    """Whether it has come so far; False also while nothing is known yet. Refused when it can never be known."""
    until = reached(gate, progress)
    return until is not None and until >= gate.past


def reached(gate: Gate, progress: Progress) -> datetime | None:
    """Return how far the awaited output is complete; None while unknown. Refuse a gate that can never be known."""
    sinks = progress.sinks
    if gate.table is not None and sinks and gate.table not in sinks:
        raise SinkNotFoundError(
            f"the pipeline has no sink {gate.table!r}", hint=f"its sinks are {', '.join(sorted(sinks))}"
        )
    awaited = {name: sinks[name] for name in sinks if gate.table in (None, name)}
    if gate.by == "output":
        return _least([sink.output_until for sink in awaited.values()])
    for name, sink in awaited.items():
        if sink.unknown is not None:
            raise _never_known(name, sink.unknown, has_others=len(sinks) > 1)
    return _least([sink.complete_until for sink in awaited.values()])


def holder(gate: Gate | None, status: Status, progress: Progress) -> HeldBy | None:
    """Return what keeps the output from being complete any further, or the gate shut; None where it is open, or where
    that is not known. Without a gate it is that of the sink which is least far."""
    if status.state is State.FINISHED:
        return None
    if gate is not None and is_passed(gate, progress):
        return None
    if status.state.is_terminal:
        remedy = "start the pipeline" if status.state is State.STOPPED else "mend what is wrong, and start the pipeline"
        return HeldBy("not_running", remedy, since=status.since)
    if progress.epoch is None:
        return HeldBy("no_epoch", "the first committed epoch", since=status.since)
    by = "input" if gate is None else gate.by
    awaited = [sink for name, sink in progress.sinks.items() if gate is None or gate.table in (None, name)]
    if not awaited:
        return None
    return min(awaited, key=lambda sink: _instant_of(sink, by) or _NEVER).held_by


_NEVER = datetime.min.replace(tzinfo=UTC)


def _instant_of(sink: SinkProgress, by: GateTime) -> datetime | None:
    """Return how far a sink is complete; by output where it will never be known of its input."""
    return sink.output_until if by == "output" or sink.unknown is not None else sink.complete_until


def _never_known(name: str, reason: str, *, has_others: bool) -> CompletenessUnknownError:
    return CompletenessUnknownError(
        f"how far sink {name!r} is complete is not known: {reason}",
        hint="wait by output time (by=output), for everything written that ends before the instant"
        + (", or name another sink (table=...)" if has_others else ""),
    )


def promised(status: Status, *, is_given_up: bool) -> Progress:
    """Return the progress that others may rely on. A state that is to be given up promises nothing, even while its run
    has not ended; a finished job has no later rows."""
    if is_given_up:
        return Progress()
    return at_end(status.progress) if status.state is State.FINISHED else status.progress


def at_end(progress: Progress) -> Progress:
    """The progress of a job that has finished: nothing older than the far future follows in any sink."""
    done = SinkProgress(FAR_FUTURE, FAR_FUTURE)
    return Progress(progress.epoch, FAR_FUTURE, progress.sources, progress.lineage, dict.fromkeys(progress.sinks, done))


def least_complete(progress: Progress) -> datetime | None:
    """Up to where all sinks are complete; None while that is not known of each."""
    return _least([sink.complete_until for sink in progress.sinks.values()])


def _least(instants: Sequence[datetime | None]) -> datetime | None:
    known = [instant for instant in instants if instant is not None]
    return min(known) if known and len(known) == len(instants) else None
