"""What a change would do, said before it is done: pure, from what is written down and what is to be desired.

job at epoch 9, restore of a savepoint of epoch 7    it stops and starts again, for about as long as its last starts
took; the savepoints are kept; epochs 8 to 9 are repeated
version 2 with force, which has another plan         it stops and starts again; the state of version 1 is lost, and
all input that the sources still have is repeated
stop with force                                      it stops; the epoch in hand is repeated at the next start
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from engine.jobs.decisions.spec import Pipeline, Version, is_bound_alike
from engine.jobs.records import JobRecord


@dataclass(frozen=True, slots=True)
class Effects:
    """What a change does. `stops`: the job that is up ends; `starts`: a run follows. `pause` is about how long nothing
    is computed in between, None when nobody knows or nothing follows. The rest are sentences' subjects."""

    stops: bool = False
    starts: bool = False
    pause: timedelta | None = None
    kept: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    voided: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known beside the job itself. `starts` and `epoch` are how long its last starts and its last epoch took,
    `upgrades` those starts that have taken over a state; `restored` is the epoch of the savepoint to go back to;
    `certificates` names what a change of history voids."""

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
    """The epoch in hand, and a start as the last ones were; of those that have taken over a state, if this one does."""
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
