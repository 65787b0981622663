"""Describe the effects of a change before it is made. Pure.

    job at epoch 9, restore of epoch 7      it restarts, in about the time of its last starts; the savepoints stay;
                                            epochs 8 to 9 are repeated
    version 2 with force, another plan      it restarts; the state of version 1 is lost, and all input that the
                                            sources still have is read again
    stop with force                         it stops; the next start repeats the current epoch

Decide whether a pipeline has passed a gate.

    sinks        counts, minutes: complete until 05:29:00, output until 05:29:51        visits, sessions: unknown

    past 05:29:00 of counts                    passed
    past 05:29:51 of counts                    not yet: the newest written window is 05:28
    past 05:29:51 of counts, by output time    passed: every window that ends before it is written
    past 05:29:00 of all                       refused: it is never known for visits

The completeness of each sink is computed where the epoch is run (`plan/times.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from engine.errors import CompletenessUnknownError, SinkNotFoundError
from engine.jobs.actors import JobRecord
from engine.jobs.decisions.spec import Pipeline, Version, is_bound_alike
from engine.jobs.decisions.states import State
from engine.jobs.decisions.status import Progress, Status
from engine.values.epoch_report import HeldBy, SinkProgress
from engine.values.instants import FAR_FUTURE


@dataclass(frozen=True, slots=True)
class Effects:
    """Effects of a change. `stops`: the running job ends; `starts`: a run follows. `pause` is the approximate time
    without output, None if unknown or no run follows. The rest are subjects of sentences."""

    stops: bool = False
    starts: bool = False
    pause: timedelta | None = None
    kept: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    voided: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts besides the job itself. `starts` and `epoch` are the durations of its last starts and its last epoch,
    `upgrades` those of starts that have taken over a state; `restored` is the epoch of the savepoint; `certificates`
    names the certificates that a new lineage voids."""

    savepoints: int = 0
    starts: Sequence[timedelta] = ()
    upgrades: Sequence[timedelta] = ()
    epoch: timedelta | None = None
    restored: int | None = None
    certificates: tuple[str, ...] = ()


def effects_of(before: JobRecord, after: Pipeline, current: Version, following: Version, facts: Facts) -> Effects:
    """Return the effects of replacing the desired state in `before` by `after`, which runs the version `following`."""
    stops = not before.status.state.is_terminal and _leaves(before, after)
    starts = after.stop == "none" and (stops or before.status.state.is_terminal) and after != before.pipeline
    is_other_query = not is_bound_alike(current, following)
    takes_over = is_other_query and following.upgrade is not None
    gives_up_state = is_other_query and following.upgrade is None and after.restore is None
    return Effects(
        stops=stops,
        starts=starts,
        pause=_pause(facts, takes_over=takes_over) if stops and starts else None,
        kept=_what_stays(before, facts, gives_up_state=gives_up_state),
        lost=_lost(before, current, gives_up_state=gives_up_state),
        repeated=_repeated(before, after, facts, stops=stops, gives_up_state=gives_up_state),
        voided=facts.certificates,
    )


def with_savepoint(expected: Effects, before: JobRecord, *, is_last: bool) -> Effects:
    """Add a savepoint to the effects; `is_last` means that no epoch follows it."""
    epoch = before.status.progress.epoch
    epochs = "the last epoch" if is_last else "the newest epoch" if epoch is None else f"epoch {epoch} or a later one"
    return replace(expected, kept=(*expected.kept, f"a savepoint of {epochs}"))


def effects_of_delete(before: JobRecord, facts: Facts) -> Effects:
    """Return the effects of deleting a stopped pipeline; its output stays."""
    savepoints = _savepoints(facts)
    state = () if before.status.progress.epoch is None else (_state(before),)
    return Effects(kept=("the output",), lost=(*state, *savepoints, "the logs and versions"), voided=facts.certificates)


def _leaves(before: JobRecord, after: Pipeline) -> bool:
    status = before.status
    return (
        after.stop != "none"
        or after.restore is not None
        or after.version != (status.version or after.version)
        or after.restarts_asked > status.restarts_done
        or after.parallelism != (status.parallelism or after.parallelism)
    )


def _pause(facts: Facts, *, takes_over: bool) -> timedelta | None:
    """Return the expected pause: the current epoch, and a start as long as the last ones; like those with an upgrade,
    if this one takes over a state."""
    starts = facts.upgrades if takes_over else facts.starts
    if not starts:
        return None
    return (facts.epoch or timedelta()) + sum(starts, timedelta()) / len(starts)


def _state(before: JobRecord) -> str:
    return f"the state up to epoch {before.status.progress.epoch}"


def _what_stays(before: JobRecord, facts: Facts, *, gives_up_state: bool) -> tuple[str, ...]:
    has_state = before.status.progress.epoch is not None and not gives_up_state
    savepoints = _savepoints(facts)
    return (*((_state(before),) if has_state else ()), *savepoints)


def _savepoints(facts: Facts) -> tuple[str, ...]:
    count = facts.savepoints
    return (f"{count} savepoint{'' if count == 1 else 's'}",) if count else ()


def _lost(before: JobRecord, current: Version, *, gives_up_state: bool) -> tuple[str, ...]:
    if not gives_up_state or before.status.progress.epoch is None:
        return ()
    return (f"{_state(before)} of version {current.number}; a copy of it is kept aside",)


def _repeated(
    before: JobRecord, after: Pipeline, facts: Facts, *, stops: bool, gives_up_state: bool
) -> tuple[str, ...]:
    reached = before.status.progress.epoch
    repeated: list[str] = []
    if gives_up_state and reached is not None:
        repeated.append("all input that the sources still have, and its output")
    if after.restore is not None and facts.restored is not None and reached is not None and reached > facts.restored:
        repeated.append(f"epochs {facts.restored + 1} to {reached}; sinks that cannot take them back write them again")
    is_abrupt = after.stop in ("immediate", "force") or (after.stop == "none" and after.restart_now)
    if stops and is_abrupt:
        repeated.append("the epoch in hand, at the next start")
    return tuple(repeated)


GateTime = Literal["input", "output"]
"""Time that the instant refers to: that of the rows read, or that of the rows written."""


@dataclass(frozen=True, slots=True)
class Gate:
    """Condition that output is complete up to `past`, in one sink or in all."""

    past: datetime
    table: str | None = None
    by: GateTime = "input"


def is_passed(gate: Gate, progress: Progress) -> bool:
    """Whether the output is complete up to there; False also while that is unknown. Raise if it can never be known."""
    until = reached(gate, progress)
    return until is not None and until >= gate.past


def reached(gate: Gate, progress: Progress) -> datetime | None:
    """Return how far the awaited output is complete; None while unknown. Raise for a gate that can never be known."""
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
    """Return what keeps the output from being complete, or the gate closed; None if it is open, or if that is unknown.
    Without a gate, the sink that is least complete counts."""
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
    """Return how far a sink is complete; by its output if that of its input can never be known."""
    return sink.output_until if by == "output" or sink.unknown is not None else sink.complete_until


def _never_known(name: str, reason: str, *, has_others: bool) -> CompletenessUnknownError:
    return CompletenessUnknownError(
        f"how far sink {name!r} is complete is not known: {reason}",
        hint="wait by output time (by=output), for everything written that ends before the instant"
        + (", or name another sink (table=...)" if has_others else ""),
    )


def promised(status: Status, *, is_given_up: bool) -> Progress:
    """Return the progress on which others may rely. A state that is to be discarded promises nothing, even while its
    run has not ended; a finished job has no later rows."""
    if is_given_up:
        return Progress()
    return at_end(status.progress) if status.state is State.FINISHED else status.progress


def at_end(progress: Progress) -> Progress:
    """Return the progress of a job that has finished: all sinks are complete up to the far future."""
    done = SinkProgress(FAR_FUTURE, FAR_FUTURE)
    return Progress(progress.epoch, FAR_FUTURE, progress.sources, progress.lineage, dict.fromkeys(progress.sinks, done))


def least_complete(progress: Progress) -> datetime | None:
    """Return the instant up to which all sinks are complete; None if it is unknown for one of them."""
    return _least([sink.complete_until for sink in progress.sinks.values()])


def _least(instants: Sequence[datetime | None]) -> datetime | None:
    known = [instant for instant in instants if instant is not None]
    return min(known) if known and len(known) == len(instants) else None
