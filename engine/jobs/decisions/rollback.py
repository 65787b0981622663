"""Choose the state from which an earlier version of a pipeline can continue. Pure.

    version   plan   savepoint of the state before it
    1         a
    2         b      before version 2, of a
    3         b      none: only its settings differ from those of 2
    4         c      before version 4, of b

    rollback of 4 to 3      the state of "before version 4", which has the same plan
    rollback of 4 to 1      the state of "before version 2"
    rollback of 3 to 2      none: it continues with the current state

File sinks take back output after the savepoint that is restored. Once 2 was rolled back to 1, as version 3, the output
of 2 is gone, and its state would leave a gap. So a rollback of that rollback begins where both lineages diverge:

rollback of 3 (a) to 2 (b)    2 takes over the state of "before version 2" again, and reads the input since then again

A rehearsal on the control plane: its subject, and the request for its process.

    rehearsals/reh_1/    order.json       the request
                         process.json     its process
                         step             current step
                         log              its output
                         work/            the copies of the state, and the rows
                         result.json      the result; written once, at the end
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from engine.errors import NoWayBackError


@dataclass(frozen=True, slots=True)
class SavedState:
    """A savepoint of the state before a version, and the version of that state. It `is_behind` if the current state
    descends from it; if not, sinks have taken back the output before it."""

    savepoint_id: str
    before_version: int
    version: int
    is_behind: bool = True


@dataclass(frozen=True, slots=True)
class WayBack:
    """A version to roll back to. Without a savepoint the state stays, since it has the same plan. If it `is_redone`, it
    takes over the previous state again, as at its deployment."""

    version: int
    savepoint_id: str | None
    is_redone: bool = False


def way_back(
    current: int,
    to: int | None,
    plans: Mapping[int, str],
    saved: Sequence[SavedState],
    upgraded: Collection[int] = (),
) -> WayBack:
    """Return how a pipeline at version `current` reverts to an earlier one, by default the previous one; raise if no
    state of it is left. `plans` has the plan of each version, and `upgraded` the versions that took over the state of
    the one before."""
    version = _one_before(current, saved) if to is None else to
    if version not in plans or version >= current:
        raise NoWayBackError(
            f"version {version} is not an earlier version" if version > 0 else "there is no version before the first",
            hint=_hint(current, plans, saved, upgraded),
        )
    if plans[version] == plans[current]:
        return WayBack(version, None)
    if (found := _found(version, plans, saved, upgraded)) is not None:
        return found
    if not any(_fits(state, version, plans) for state in saved):
        raise NoWayBackError(
            f"version {version} has left no savepoint of its state: it never ran, was given up, or is being replaced",
            hint=_hint(current, plans, saved, upgraded),
        )
    raise NoWayBackError(
        f"the state that version {version} was left in is of a history that was rolled back since: sinks have taken "
        "back what it had written",
        hint=_hint(current, plans, saved, upgraded),
    )


def _one_before(current: int, saved: Sequence[SavedState]) -> int:
    """Return the version whose state the current one has found: the versions in between never ran."""
    return next((state.version for state in saved if state.before_version == current), current - 1)


@dataclass(frozen=True, slots=True)
class SinkAhead:
    """An append-only sink that keeps output after the restored state: this many epochs and rows, None if unknown."""

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
    """Return the sinks that stay ahead if a pipeline that has reached an epoch reverts to the epoch `last`. `rows` has
    the rows of each sink in the epochs that are still known."""
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


def _found(
    version: int, plans: Mapping[int, str], saved: Sequence[SavedState], upgraded: Collection[int]
) -> WayBack | None:
    """Return the last state of a version, or of a later one with the same plan, before another plan replaced it; else
    the newest of its plan; else the state that it has taken over."""
    behind = [state for state in saved if state.is_behind]
    meant = [state for state in behind if _fits(state, version, plans) and state.before_version > version]
    if meant:
        return WayBack(version, min(meant, key=_place).savepoint_id)
    of_plan = [state for state in behind if _fits(state, version, plans)]
    if of_plan:
        return WayBack(version, max(of_plan, key=_place).savepoint_id)
    before = [state for state in behind if state.before_version == version and version in upgraded]
    return WayBack(version, before[0].savepoint_id, is_redone=True) if before else None


def _fits(state: SavedState, version: int, plans: Mapping[int, str]) -> bool:
    return plans.get(state.version) == plans[version]


def _place(state: SavedState) -> int:
    return state.before_version


def _hint(current: int, plans: Mapping[int, str], saved: Sequence[SavedState], upgraded: Collection[int]) -> str:
    possible = [
        str(version)
        for version in sorted(plans)
        if version < current
        and (plans[version] == plans[current] or _found(version, plans, saved, upgraded) is not None)
    ]
    ways = f"it can go back to version {', '.join(possible)}" if possible else "no version can be gone back to"
    return f"{ways}; a savepoint can be restored, too, if there is one"


@dataclass(frozen=True, slots=True)
class RehearsedChange:
    """A new query, compared with the running one. `udfs` are the texts of its function files, `old_udfs` those of the
    running one; of `settings` memory and start_from matter. Up to `examples` rows are shown."""

    query: str
    udfs: tuple[str, ...] = ()
    old_udfs: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    keep_state: tuple[str, ...] = ()
    reset: tuple[str, ...] = ()
    hold_back: tuple[str, ...] = ()
    examples: int = 10


@dataclass(frozen=True, slots=True)
class RehearsalLimits:
    """Limits: concurrent rehearsals, duration, bytes to leave free on the disk, and ended rehearsals to list per
    pipeline."""

    at_once: int = 1
    limit: timedelta = timedelta(hours=1)
    free_bytes: int = 1024**3
    kept: int = 50


class RehearsalOrder(BaseModel):
    """Request to a rehearsal process, in a file that only its owner can read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    change: RehearsedChange = Field(repr=False)
    state_dir: Path
    savepoint: Path | None = Field(description="Played from there; without one from the newest epoch of the state.")
    connections: str = Field(default="", repr=False)
    limit_seconds: float = Field(description="After so long the process ends, also without a control plane.")

    def write(self, folder: Path) -> Path:
        """Store the order in the new folder of the rehearsal, readable by this user only."""
        folder.mkdir(mode=0o700, parents=True)
        path = folder / "order.json"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(self.model_dump_json())
        return path

    @staticmethod
    def read(path: Path) -> RehearsalOrder:
        """Read what `write` stored."""
        return RehearsalOrder.model_validate_json(path.read_text())


@dataclass(frozen=True, slots=True)
class RehearsalFolder:
    """Files of a running rehearsal."""

    root: Path

    @property
    def process(self) -> Path:
        """Names the process that plays it."""
        return self.root / "process.json"

    @property
    def step(self) -> Path:
        """Says what that is at."""
        return self.root / "step"

    @property
    def log(self) -> Path:
        """Return the log file."""
        return self.root / "log"

    @property
    def work(self) -> Path:
        """Return the folder with copies of the state, and the rows."""
        return self.root / "work"

    @property
    def result(self) -> Path:
        """Return the result file."""
        return self.root / "result.json"

    def read_step(self) -> str | None:
        """Return the current step, if it was recorded."""
        try:
            return self.step.read_text() or None
        except (OSError, ValueError):
            return None
