"""Lineage of a state, and the lineages it descends from.

    Lineage("a")                       a new state
    Lineage("b", (("a", 4),))          restored from a savepoint of a's epoch 4
    Lineage("c", (("b", 9), ("a", 4))) restored from a savepoint of b's epoch 9

Sinks compare it with their ledgers to decide which of their output stays (`delivery/ledger.py`).
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

from engine.checkpoints.layout import StatePaths, read_json, unreadable, write_json
from engine.errors import UnreadableStateError

KEPT_PARENTS = 50
"""Number of ancestors to store: more than a month for a pipeline that is restored every day."""


@dataclass(frozen=True, slots=True)
class Lineage:
    """Id of a lineage, and its ancestors, nearest first, each with the last epoch that was taken over."""

    id: str
    parents: tuple[tuple[str, int], ...] = ()

    def forked_at(self, epoch: int, new_id: str) -> Lineage:
        """Return a new lineage that continues from an epoch of this one."""
        return Lineage(new_id, ((self.id, epoch), *self.parents)[:KEPT_PARENTS])

    def left_at(self, other: Lineage, epoch: int) -> int | None:
        """Return the last epoch that this lineage shares with another one, which has reached an epoch; None if they
        share nothing that is still known.

            c came from b at 9, which came from a at 4     c has of "a at 7" what came up to 4, of "b at 20" up to 9"""
        theirs = {**dict(other.parents), other.id: epoch}
        if self.id in theirs:
            return theirs[self.id]
        return next((min(last, theirs[parent]) for parent, last in self.parents if parent in theirs), None)


def new_id() -> str:
    """Return an id that no other lineage has."""
    return secrets.token_hex(8)


def read_lineage(path: Path) -> Lineage:
    """Return the lineage in a file; raise an error if it is missing or damaged."""
    content = read_json(path)
    if content is None:
        raise unreadable(path)
    try:
        parents = tuple((str(parent[0]), int(parent[1])) for parent in content["parents"])  # type: ignore[attr-defined]
        return Lineage(str(content["lineage"]), parents)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise unreadable(path) from error


def parents_of(state: Path, lineage: str) -> tuple[tuple[str, int], ...] | None:
    """Return the ancestors of a state directory's lineage, nearest first, each with the last epoch that was taken over;
    None if the directory has another lineage, or records none."""
    try:
        history = read_lineage(StatePaths(state).lineage)
    except (OSError, UnreadableStateError):
        return None
    return history.parents if history.id == lineage else None


def parents_after(saved: Path, epoch: int) -> tuple[tuple[str, int], ...] | None:
    """Return the ancestors of a lineage that continues from an epoch of a savepoint; None if the savepoint does not
    record its own."""
    try:
        return read_lineage(StatePaths(saved).lineage).forked_at(epoch, new_id()).parents
    except (OSError, UnreadableStateError):
        return None


def write_lineage(path: Path, lineage: Lineage, *, last_run: str | None = None) -> None:
    """Replace the lineage in a file. `last_run` is the newest generation if the lineage has had no run yet:
    `parting.py` uses it to see whether there was one."""
    content = {"lineage": lineage.id, "parents": [list(parent) for parent in lineage.parents]}
    write_json(path, content if last_run is None else {**content, "last_run": last_run})
