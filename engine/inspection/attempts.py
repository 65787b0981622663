"""Read a file that may be damaged: any exception of its reader, and a checksum of Hadoop's that differs, becomes one
sentence about the file.

Kinds of damage of a state or a savepoint, with their effect and remedy.

Nothing is repaired here: the content of a damaged file is unknown, and would be a guess.

Hadoop's checksum files: `.offsets.crc` for `offsets`.

    crc 0               a magic number of four bytes
    512                 number of bytes per checksum
    CRC-32, CRC-32 ...

Hadoop verifies them whenever it reads the file, and ignores a missing checksum file, as in a restored state.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from engine.errors import EngineError, message_of
from engine.inspection.bytes_read import NotAsWrittenError

_OF_DAMAGED_FILES: tuple[type[Exception], ...] = (
    *(EngineError, ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError),
    *(zipfile.BadZipFile, RecursionError, EOFError, NotImplementedError),
)
"""Exceptions of readers for invalid bytes; the last one is raised by `zipfile` for an unknown compression."""


def attempt(kind: Kind, path: Path, read: Callable[[Path], object]) -> Iterator[Damage]:
    """Yield the damage of a file that must exist, if there is any."""
    try:
        read(path)
    except FileNotFoundError as error:
        missing = Path(str(error.filename)) if error.filename else path
        yield Damage(kind, missing, "is missing")
    except SumsUnreadableError as error:
        yield Damage(Kind.SUM, path, message_of(error))
    except NotAsWrittenError as error:
        yield Damage(kind, path, message_of(error))
    except OSError as error:
        yield Damage(Kind.ACCESS, path, f"cannot be read: {error.strerror or error}")
    except _OF_DAMAGED_FILES:
        yield Damage(kind, path, "is empty" if path.is_file() and not path.stat().st_size else "cannot be understood")


def with_sums(read: Callable[[Path], object]) -> Callable[[Path], object]:
    """Return a reader that first compares a file with its checksums."""

    def compared(path: Path) -> object:
        has_sums(path)
        return read(path)

    return compared


_RESTORE = "restore a savepoint"
_SINKS = "put the sinks directory back from a copy, or restore a savepoint"
_OTHER_SAVEPOINT = "use another savepoint; this one can be deleted"


@dataclass(frozen=True, slots=True)
class About:
    """Description of a kind of damage. Its `code` never changes."""

    code: str
    meaning: str
    way_out: str


class Kind(Enum):
    """Kind of damage."""

    IDENTITY = About(
        "damage.identity", "Spark does not know which query the checkpoint is of, and no run starts", _RESTORE
    )
    PLAN = About("damage.plan", "where an epoch ends is lost, and no run starts", _RESTORE)
    PLAN_LOST = About(
        "damage.plan_lost",
        "the newest committed epoch has no plan: Spark would run it again, with input that may differ",
        _RESTORE,
    )
    COMMIT = About(
        "damage.commit", "which files of the state an epoch has made is not known, and no run starts", _RESTORE
    )
    COMMITS_LOST = About(
        "damage.commits_lost",
        "several epochs are planned and not committed, and only the last one would be run again",
        _RESTORE,
    )
    SOURCE_LOG = About("damage.source_log", "what a source has written down is lost, and no run starts", _RESTORE)
    STATE_FILE = About("damage.state_file", "a part of the state cannot be read, and every run fails", _RESTORE)
    STATE_LOST = About("damage.state_lost", "a part of the state is missing, and every run fails", _RESTORE)
    OPERATOR = About("damage.operator", "the description of an operator's state is lost, and no run starts", _RESTORE)
    LAYOUT = About(
        "damage.layout",
        "a state was being laid out for another number of tasks where it lies, and was left in the middle",
        "lay it out for that number again, or restore a savepoint",
    )
    WITHHELD = About(
        "damage.withheld",
        "in which windows a new aggregate is not to be shown is not known, and no run starts",
        _RESTORE,
    )
    FORMS = About(
        "damage.forms",
        "the aggregates whose keys a changed query may keep are unknown, and no run starts",
        _RESTORE,
    )
    PANES = About(
        "damage.panes",
        "the operators whose windows are kept by pane are unknown, and no run starts",
        _RESTORE,
    )
    SUM = About(
        "damage.sum",
        "its file of checksums is not valid: the file cannot be verified",
        "if the file itself is whole, the one with its sums can be deleted",
    )
    SWAP = About(
        "damage.swap", "a state was being replaced by another one", "start the pipeline: the next run finishes that"
    )
    QUERY = About("damage.query", "the query of the state is unknown, and no run starts", _RESTORE)
    LINEAGE = About("damage.lineage", "sinks cannot tell which of their output belongs to the state", _RESTORE)
    GENERATION = About("damage.generation", "a replaced run could not be distinguished from its successor", _RESTORE)
    OWNER = About(
        "damage.owner",
        "the owner of the sinks' targets is unknown, and no run starts",
        "put the file back from a copy, or delete it and take the targets over with sink.existing = 'take_over'",
    )
    WIDTH = About("damage.width", "the state has another number of parts than it records", _RESTORE)
    NOTE = About("damage.note", "what a reader has seen is lost, and with it a watermark", _RESTORE)
    LEDGER = About("damage.ledger", "which epochs the sink has taken is not known, and every run stops", _SINKS)
    LEDGER_AHEAD = About(
        "damage.ledger_ahead",
        "the sink has taken an epoch that the checkpoint has never planned: an old copy of it was put back",
        "restore a savepoint, which takes the sink back, too",
    )
    LEDGER_FOREIGN = About(
        "damage.ledger_foreign",
        "the sink was last written by a history that the state does not descend from",
        "give the pipeline a state directory of its own, or restore a savepoint of that history",
    )
    RANGE = About(
        "damage.range",
        "the sink has taken an epoch with another range of the input than the checkpoint says",
        _RESTORE,
    )
    MANIFEST = About("damage.manifest", "which files the sink has left open is not known, and every run stops", _SINKS)
    SEGMENT = About("damage.segment", "rows of a file that the sink has left open are lost", _SINKS)
    SAVEPOINT = About("damage.savepoint", "the savepoint cannot be restored", _OTHER_SAVEPOINT)
    SAVEPOINT_FILE = About("damage.savepoint_file", "the savepoint cannot be restored", _OTHER_SAVEPOINT)
    ACCESS = About(
        "damage.access", "the file cannot be read by this user, or the disk fails", "see to the disk or the permissions"
    )


@dataclass(frozen=True, slots=True)
class Damage:
    """Damage of a file; `fault` continues a sentence that begins with the file."""

    kind: Kind
    path: Path
    fault: str

    @property
    def code(self) -> str:
        """The stable code of its kind."""
        return self.kind.value.code

    def __str__(self) -> str:
        return f"{self.path} {self.fault}"


_MARK = b"crc\0"
_LARGEST = 1 << 20
"""Largest number of bytes per checksum, for which Hadoop allocates a buffer; 512 by default."""


class SumsUnreadableError(NotAsWrittenError):
    """The checksum file is invalid."""


def sums_of(path: Path) -> Path:
    """Return the path of a file's checksums, if there are any."""
    return path.with_name(f".{path.name}.crc")


def has_sums(path: Path) -> bool:
    """Whether a file is what its sums say; False when there are none. Raises NotAsWrittenError when it differs."""
    try:
        sums = sums_of(path).read_bytes()
    except FileNotFoundError:
        return False
    size = int.from_bytes(sums[4:8], "big")
    if sums[:4] != _MARK or len(sums) % 4 or not 0 < size <= _LARGEST:
        raise SumsUnreadableError("has a file of checksums that cannot be read")
    with path.open("rb") as content:
        for at in range(8, len(sums), 4):
            block = content.read(size)
            if not block or zlib.crc32(block) != int.from_bytes(sums[at : at + 4], "big"):
                raise NotAsWrittenError("differs from its sum")
        if content.read(1):
            raise NotAsWrittenError("is longer than its sums say")
    return True
