"""The way into a sink that keeps its ledger in a file: fence, read the ledger, decide, and afterwards record."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.delivery.durable import replace_durably
from engine.delivery.epoch import Epoch
from engine.delivery.fence import check_fence, state_of
from engine.delivery.ledger import Entry, Skip, StandDown, Stop, Write, decide, is_same_epoch
from engine.errors import LedgerLostError

KEPT_ENTRIES = 500
"""How many epochs a restore may go back. At 150 bytes an entry the ledger stays below 100 kB, which is written
once per epoch."""


@dataclass(frozen=True, slots=True)
class Admission:
    """Leave to take an epoch. `after` is the last epoch that stays; `kept` the ledger up to it."""

    directory: Path
    epoch: Epoch
    after: Entry | None
    is_rewind: bool
    kept: tuple[Entry, ...]

    def record(self, rows: int, length: int = 0) -> None:
        """Write down, durably, that the sink has the epoch."""
        check_fence(self.directory, self.epoch)
        mine = self.epoch
        entry = Entry(mine.lineage, mine.number, mine.offsets, mine.generation, rows, length)
        write_ledger(self.directory, [*self.kept, entry])


def admit(directory: Path, epoch: Epoch, *, is_fresh: bool = False, takes_back: bool = True) -> Admission | None:
    """Leave to take the epoch, or None when the sink has it already; an error when it must not be taken.
    `is_fresh` says that the target holds nothing, so a restored pipeline may start it; `takes_back` that the sink can
    take back what it has written."""
    check_fence(directory, epoch)
    ledger = read_ledger(directory)
    newest = ledger[-1] if ledger else None
    restored = epoch.parents[0][1] + 1 if epoch.parents else 0
    decision = decide(
        ledger,
        epoch,
        ever_committed=epoch.number > restored or (bool(epoch.parents) and not is_fresh),
        is_newer_known=newest is not None and is_planned(directory, newest.epoch),
        takes_back=takes_back,
    )
    match decision:
        case Write(after, is_rewind):
            kept = ledger[: ledger.index(after) + 1] if after else []
            return Admission(directory, epoch, after, is_rewind, tuple(kept))
        case Skip():
            return None
        case StandDown(error) | Stop(error):
            raise error


def is_planned(directory: Path, number: int) -> bool:
    """Whether the checkpoint that a sink belongs to has planned an epoch."""
    return (state_of(directory) / "checkpoint" / "offsets" / str(number)).exists()


def admit_unless_taken(directory: Path, epoch: Epoch) -> Admission | None:
    """Leave to take the epoch, for sinks that promise nothing: only an epoch that was the last is not repeated."""
    check_fence(directory, epoch)
    if any(is_same_epoch(entry, epoch) for entry in read_ledger(directory)[-1:]):
        return None
    return Admission(directory, epoch, None, False, ())


def read_ledger(directory: Path) -> list[Entry]:
    """The entries of the sink, oldest first."""
    try:
        return [Entry(**entry) for entry in json.loads((directory / "ledger.json").read_bytes())]
    except FileNotFoundError:
        return []
    except (ValueError, TypeError) as broken:
        raise LedgerLostError(
            f"the ledger in {directory} cannot be read: {broken}",
            hint="put the pipeline's sinks directory back from a copy, or start with a fresh state directory",
        ) from broken


def write_ledger(directory: Path, entries: Sequence[Entry]) -> None:
    """Put these entries in the place of the ledger, but for the oldest when there are too many."""
    lines = ",\n".join(json.dumps(asdict(entry)) for entry in entries[-KEPT_ENTRIES:])
    replace_durably(directory / "ledger.json", f"[{lines}]\n".encode())
