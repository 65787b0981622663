"""Steps of a sink with its ledger in files: check the fence, read the ledger, decide, write, record.

A ledger file never changes; the next ledger is created under the next number. With ledger/000000000007.json = [B0, B1,
B2]:

    drivers P and Q read ledger 7, and both are permitted to write B3
    P records: creates ledger 8 = [B0, B1, B2, B3] and removes 7
    Q records: ledger 8 exists, so Q was overtaken and ends
    R was paused after it read ledger 7, and resumes when only ledger 12 exists: it can create 8, sees 12,
    removes 8 again, and ends
    S was killed with a draft of ledger 8: the process that creates a later one removes the draft

`ledger.decide` says what may be written (docs/decisions/the-ledger-of-a-sink-decides.md).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.delivery.durable import create_durably
from engine.delivery.epoch import Epoch
from engine.delivery.fence import check_fence, state_of
from engine.delivery.ledger import LedgerEntry, Skip, StandDown, Stop, WriteAfter, decide, is_same_epoch, overtaken
from engine.errors import LedgerLostError, message_of

KEPT_ENTRIES = 500
"""Number of epochs that a restore may go back. At 150 bytes per entry the ledger, which is written once per epoch,
stays below 100 kB."""


@dataclass(frozen=True, slots=True)
class WritePermit:
    """Permission to write an epoch. `after` is the last epoch that stays; `ledger` has the entries up to it; `version`
    is the number of the ledger that was read; `refused` is the number of rows refused so far."""

    directory: Path
    epoch: Epoch
    after: LedgerEntry | None
    is_rewind: bool
    ledger: tuple[LedgerEntry, ...]
    version: int
    refused: int = 0

    def record(self, rows: int, length: int = 0, *, refused: int = 0) -> None:
        """Record durably that the sink has the epoch, and how many of its rows were left out; raise if another run has
        recorded since."""
        check_fence(self.directory, self.epoch)
        epoch = self.epoch
        total = self.refused + refused
        entry = LedgerEntry(epoch.lineage, epoch.number, epoch.offsets, epoch.generation, rows, length, total)
        if not _create(self.directory, self.version + 1, [*self.ledger, entry]):
            newest = read_ledger(self.directory)[-1]
            raise overtaken(newest, epoch)


def permit_write(
    directory: Path, epoch: Epoch, *, is_fresh: bool = False, takes_back: bool = True
) -> WritePermit | None:
    """Return the permission to write the epoch, or None if the sink has it already; raise if it must not be written.
    `is_fresh` means that the target is empty, so a restored pipeline may start it; `takes_back` that the sink can undo
    its writes."""
    check_fence(directory, epoch)
    version, ledger = _read(directory)
    newest = ledger[-1] if ledger else None
    first = epoch.parents[0][1] + 1 if epoch.parents else 0
    decision = decide(
        ledger,
        epoch,
        ever_committed=epoch.number > first or (bool(epoch.parents) and not is_fresh),
        is_newer_known=newest is not None and is_planned(directory, newest.epoch),
        takes_back=takes_back,
    )
    match decision:
        case WriteAfter(after, is_rewind):
            entries = ledger[: ledger.index(after) + 1] if after else []
            return WritePermit(directory, epoch, after, is_rewind, tuple(entries), version, refused_so_far(entries))
        case Skip():
            return None
        case StandDown(error) | Stop(error):
            raise error


def is_planned(directory: Path, number: int) -> bool:
    """Whether the checkpoint that a sink belongs to has planned an epoch."""
    return (state_of(directory) / "checkpoint" / "offsets" / str(number)).exists()


def permit_at_least_once(directory: Path, epoch: Epoch) -> WritePermit | None:
    """Return the permission to write the epoch, for sinks that may write an epoch twice; None only if it was the last
    one."""
    check_fence(directory, epoch)
    version, ledger = _read(directory)
    if any(is_same_epoch(entry, epoch) for entry in ledger[-1:]):
        return None
    return WritePermit(directory, epoch, None, False, (), version, refused_so_far(ledger))


def read_ledger(directory: Path) -> list[LedgerEntry]:
    """Return the entries of the sink, oldest first."""
    return _read(directory)[1]


def refused_so_far(ledger: Sequence[LedgerEntry]) -> int:
    """Return how many rows the sink of a ledger has refused."""
    return ledger[-1].refused if ledger else 0


def refused_in(ledger: Sequence[LedgerEntry], epoch: int) -> int:
    """Return how many rows the sink of a ledger left out in its newest epoch; 0 if `epoch` is another one."""
    if not ledger or ledger[-1].epoch != epoch:
        return 0
    return ledger[-1].refused - refused_so_far(ledger[:-1])


def newest_ledger(directory: Path) -> Path | None:
    """Return the file with the newest ledger of a sink; None if there has been none."""
    return max(_folder(directory).glob("[0-9]*.json"), key=_version, default=None)


def _read(directory: Path) -> tuple[int, list[LedgerEntry]]:
    while path := newest_ledger(directory):
        try:
            return _version(path), [LedgerEntry(**entry) for entry in json.loads(path.read_bytes())]
        except FileNotFoundError:
            continue  # a newer one has just taken its place
        except (ValueError, TypeError) as error:
            raise LedgerLostError(
                f"the ledger {path} cannot be read: {message_of(error)}",
                hint="put the pipeline's sinks directory back from a copy, or start with a fresh state directory",
            ) from error
    return 0, []


def _create(directory: Path, version: int, entries: Sequence[LedgerEntry]) -> bool:
    """Add a ledger with these entries, without the oldest if there are too many; return False if the number is
    taken."""
    lines = ",\n".join(json.dumps(asdict(entry)) for entry in entries[-KEPT_ENTRIES:])
    created = _folder(directory) / f"{version:012d}.json"
    try:
        is_created = create_durably(created, f"[{lines}]\n".encode())
    except FileNotFoundError:
        if (newest := newest_ledger(directory)) is None or _version(newest) < version:
            raise
        return False  # the draft is gone, removed by the run that has overtaken this one
    if not is_created:
        return False
    for path in created.parent.glob("[0-9]*.json"):
        if _version(path) > version:  # the number was free only because its ledger is long removed
            created.unlink(missing_ok=True)
            return False
        if _version(path) < version:
            path.unlink(missing_ok=True)
    _remove_drafts(created.parent, version)
    return True


def _remove_drafts(folder: Path, version: int) -> None:
    """Remove the drafts of ledgers up to a version, which killed runs have left. A suspended run finds its draft gone
    and is superseded."""
    for draft in folder.glob(".[0-9]*.json.*"):
        if int(draft.name.split(".")[1]) <= version:
            draft.unlink(missing_ok=True)


def _folder(directory: Path) -> Path:
    return directory / "ledger"


def _version(path: Path) -> int:
    return int(path.stem)
