"""Decide whether a sink writes an epoch. Pure: depends on the sink's ledger and the epoch.

The ledger is stored next to the sink's output and lists the epochs that the sink has written. For a sink with the
epochs 0 to 2 of lineage B, the ledger is [B0, B1, B2], and the decision for each epoch is:

    B3            write after B2
    B2            skip: the crash came between the sink's commit and Spark's, so Spark runs the epoch again
    B1            stand down: another driver is ahead; but stop if the checkpoint has never planned B2
    C2, C from B1 write after B1, and first take back B2: a restore has abandoned that part of the lineage
    X3            stop: X does not descend from B

Never guess: whatever does not fit stops with a reason. All cases: docs/decisions/the-ledger-of-a-sink-decides.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from engine.delivery.epoch import Epoch
from engine.errors import (
    DeliveryError,
    LedgerAheadError,
    LedgerForeignError,
    LedgerLostError,
    OffsetsDifferError,
    RewindTooFarError,
    SupersededError,
)


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """An epoch that a sink has written. `length` is the length of the output after it, if that applies; `refused` is
    the number of refused rows in this and all earlier epochs."""

    lineage: str
    epoch: int
    offsets: str
    generation: int
    rows: int = 0
    length: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True)
class WriteAfter:
    """Write the epoch. First take back all output after the entry `after`, which belongs to an abandoned lineage; with
    None, all output."""

    after: LedgerEntry | None
    is_rewind: bool = False


@dataclass(frozen=True, slots=True)
class Skip:
    """The sink has the epoch already."""

    entry: LedgerEntry


@dataclass(frozen=True, slots=True)
class StandDown:
    """Another run owns the sink: write nothing and end."""

    error: DeliveryError


@dataclass(frozen=True, slots=True)
class Stop:
    """The correct action cannot be determined; a person has to decide."""

    error: DeliveryError


Decision: TypeAlias = WriteAfter | Skip | StandDown | Stop


def decide(
    ledger: Sequence[LedgerEntry],
    epoch: Epoch,
    *,
    ever_committed: bool,
    is_newer_known: bool = False,
    takes_back: bool = True,
) -> Decision:
    """Decide what to do with an epoch. `ledger` has the entries of the sink, oldest first. `ever_committed`: the
    checkpoint says that this sink has taken epochs. `is_newer_known`: the checkpoint has planned the ledger's newest
    epoch. `takes_back`: the sink can undo its writes; a sink that cannot continues to write after a restore."""
    if not ledger:
        return Stop(_lost(epoch)) if ever_committed else WriteAfter(None)
    newest = ledger[-1]
    # First of all: a run that was replaced must not even skip, since the ledger is another run's by now.
    if newest.generation > epoch.generation:
        return StandDown(superseded(newest.generation, epoch.generation))
    if newest.lineage != epoch.lineage:
        return _decide_after_restore(ledger, epoch, takes_back=takes_back)
    return _decide_in_lineage(ledger, epoch, is_newer_known=is_newer_known)


def _decide_in_lineage(ledger: Sequence[LedgerEntry], epoch: Epoch, *, is_newer_known: bool) -> Decision:
    newest = ledger[-1]
    # Numbers may be missing in between: laying a state out for another number of tasks uses one up.
    if newest.epoch < epoch.number:
        return WriteAfter(newest)
    if newest.epoch > epoch.number:
        return StandDown(overtaken(newest, epoch)) if is_newer_known else Stop(_ahead(newest, epoch))
    same_epoch = next((entry for entry in reversed(ledger) if is_same_epoch(entry, epoch)), None)
    if same_epoch is not None and same_epoch.offsets != epoch.offsets:
        return Stop(_differ(epoch))
    return Skip(newest)


def is_same_epoch(entry: LedgerEntry, epoch: Epoch) -> bool:
    """Whether an entry is about exactly this epoch."""
    return (entry.lineage, entry.epoch) == (epoch.lineage, epoch.number)


def _decide_after_restore(ledger: Sequence[LedgerEntry], epoch: Epoch, *, takes_back: bool) -> Decision:
    last_inherited = dict(epoch.parents)
    shared = [entry for entry in ledger if entry.lineage in last_inherited]
    if not shared:
        return Stop(_foreign(ledger[-1]))
    if not takes_back:
        return WriteAfter(ledger[-1])
    inherited = [entry for entry in shared if entry.epoch <= last_inherited[entry.lineage]]
    if not inherited:
        return Stop(_too_far(epoch))
    return WriteAfter(inherited[-1], is_rewind=inherited[-1] != ledger[-1])


def superseded(newer: int, older: int) -> SupersededError:
    """Return the error for a run that a newer one has replaced."""
    return SupersededError(
        f"generation {newer} of this job has taken over from generation {older}",
        hint="nothing is lost: the newer run continues; if there should be only this one, look for a second driver",
    )


def overtaken(newest: LedgerEntry, epoch: Epoch) -> SupersededError:
    """Return the error for a run that another one is ahead of."""
    return SupersededError(
        f"another driver has already committed epoch {newest.epoch}, and this one is at epoch {epoch.number}",
        hint="restart this run: it goes on from the newest epoch",
    )


def _lost(epoch: Epoch) -> LedgerLostError:
    return LedgerLostError(
        f"the sink's ledger is gone, although the checkpoint is at epoch {epoch.number}",
        hint="put the pipeline's sinks directory back, or start with a fresh state directory to write everything again",
    )


def _ahead(newest: LedgerEntry, epoch: Epoch) -> LedgerAheadError:
    return LedgerAheadError(
        f"the sink has already taken epoch {newest.epoch}, and the checkpoint is only at epoch {epoch.number}",
        hint="an old copy of the checkpoint was put back; restore a savepoint instead, which rewinds the sink, too",
    )


def _differ(epoch: Epoch) -> OffsetsDifferError:
    return OffsetsDifferError(
        f"the sink has taken epoch {epoch.number} with another range of the input",
        hint="the checkpoint is damaged or belongs to another pipeline; restore a savepoint",
    )


def _foreign(newest: LedgerEntry) -> LedgerForeignError:
    return LedgerForeignError(
        f"the sink was last written by history {newest.lineage}, which this pipeline does not descend from",
        hint="give the pipeline a state directory of its own, or restore a savepoint of that history",
    )


def _too_far(epoch: Epoch) -> RewindTooFarError:
    restored = epoch.parents[0][1] if epoch.parents else epoch.number
    return RewindTooFarError(
        f"the sink no longer remembers what it had written by epoch {restored}",
        hint="restore a newer savepoint, or start with a fresh state directory to write everything again",
    )
