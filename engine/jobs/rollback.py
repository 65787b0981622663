"""Which state an earlier version of a pipeline can go on from. Pure.

version    plan    savepoint of the state before it
1          a
2          b       before version 2, of a
3          b                                 only its settings are others than those of 2
4          c       before version 4, of b

rollback of 4 to 3    the state of "before version 4", which is of the same plan
rollback of 4 to 1    the state of "before version 2"
rollback of 3 to 2    no state at all: it goes on with the one that is there
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.errors import NoWayBackError


@dataclass(frozen=True, slots=True)
class SavedState:
    """A savepoint that was taken of the state before a version, and the version that this state was of."""

    savepoint_id: str
    before_version: int
    version: int


@dataclass(frozen=True, slots=True)
class WayBack:
    """A version to go back to. Without a savepoint the state goes on, since it is of the same plan."""

    version: int
    savepoint_id: str | None


def way_back(current: int, to: int | None, plans: Mapping[int, str], saved: Sequence[SavedState]) -> WayBack:
    """How a pipeline at version `current` goes back to an earlier one, by default to the one that ran before; refused
    when that has left no state to go back to. `plans` has the plan of each version."""
    version = _one_before(current, saved) if to is None else to
    if version not in plans or version >= current:
        raise NoWayBackError(
            f"version {version} is not an earlier version" if version > 0 else "there is no version before the first",
            hint=_hint(current, plans, saved),
        )
    if plans[version] == plans[current]:
        return WayBack(version, None)
    if (state := _state_of(version, plans, saved)) is None:
        raise NoWayBackError(
            f"version {version} has left no savepoint of its state: it never ran, was given up, or is being replaced",
            hint=_hint(current, plans, saved),
        )
    return WayBack(version, state.savepoint_id)


def _one_before(current: int, saved: Sequence[SavedState]) -> int:
    """The version whose state the current one has found: those in between never ran."""
    return next((state.version for state in saved if state.before_version == current), current - 1)


@dataclass(frozen=True, slots=True)
class SinkAhead:
    """A sink that keeps what it was given after the state that is gone back to: so many epochs and rows, None where
    nobody knows any more."""

    table: str
    connector: str
    epochs: int | None
    rows: int | None

    def __str__(self) -> str:
        epochs = "an unknown number of" if self.epochs is None else self.epochs
        rows = "" if self.rows is None else f" ({self.rows} row{'' if self.rows == 1 else 's'})"
        return (
            f"{self.table} ({self.connector}) is {epochs} epoch{'' if self.epochs == 1 else 's'}{rows} ahead and "
            "cannot be taken back"
        )


def sinks_ahead(
    lasting: Sequence[tuple[str, str]], last: int | None, reached: int | None, rows: Mapping[int, Mapping[str, int]]
) -> list[SinkAhead]:
    """The sinks that stay ahead when a pipeline that has reached an epoch goes back, and `last` is the last epoch that
    stays. `rows` has the rows of each sink in those epochs that are known still."""
    if last is None or reached is None:
        return [SinkAhead(table, connector, None, None) for table, connector in lasting]
    epochs = range(last + 1, reached + 1)
    is_known = all(epoch in rows for epoch in epochs)
    ahead = [
        SinkAhead(table, connector, len(epochs), _sum(rows, epochs, table) if is_known else None)
        for table, connector in lasting
    ]
    return [sink for sink in ahead if sink.epochs and sink.rows != 0]


def _sum(rows: Mapping[int, Mapping[str, int]], epochs: Sequence[int], table: str) -> int:
    return sum(rows[epoch].get(table, 0) for epoch in epochs)


def _state_of(version: int, plans: Mapping[int, str], saved: Sequence[SavedState]) -> SavedState | None:
    """The state that a version, or one with the same plan after it, was in when another plan took its place."""
    fitting = [
        state for state in saved if state.before_version > version and plans.get(state.version) == plans[version]
    ]
    return min(fitting, key=lambda state: state.before_version, default=None)


def _hint(current: int, plans: Mapping[int, str], saved: Sequence[SavedState]) -> str:
    possible = [
        str(version)
        for version in sorted(plans)
        if version < current and (plans[version] == plans[current] or _state_of(version, plans, saved))
    ]
    ways = f"it can go back to version {', '.join(possible)}" if possible else "no version can be gone back to"
    return f"{ways}; `arroyo savepoints` lists what else there is, and `arroyo restore` goes back to that"
