"""Segments: output of one task for one epoch, private until the sink commits.

    segments/000000000007-B/00000-9f2c41aa   task 0 of epoch 7 of lineage B, first attempt
    segments/000000000007-B/00001-03d7be52   task 1, an attempt that was killed: no message names it
    segments/000000000007-B/00001-77a0c9e1   task 1, its second attempt

Each task sends the driver the names of its finished segments. Others are scratch, and are removed with the folder once
the ledger has the epoch (docs/decisions/files-are-built-of-segments.md).

Segments are synced only if the sink may read them after a crash. A sink that copies them, and syncs the copy before it
records the epoch, does not need that, since a lost epoch is run again.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

from engine.delivery.durable import sync_directory
from engine.delivery.epoch import Epoch
from engine.delivery.outbox import finish, task_path
from engine.errors import UnreadableSegmentError


@dataclass(frozen=True, slots=True)
class Segment:
    """A finished file of one task; `path` is relative to the sink's directory."""

    path: str
    rows: int
    bytes: int
    sha256: str
    partition: str = ""
    """Directory of its rows in the target, for partitioned targets."""
    until: int | None = None
    """End of that directory's time range in microseconds of event time, if directories are named by time."""
    level: int = 0
    """Number of times that its rows were merged into a larger segment."""
    oldest: int | None = None
    """Event time of its oldest row, if directories are named by time; None otherwise, and in segments of earlier
    versions."""


def oldest_of(segments: Iterable[Segment]) -> int | None:
    """Return the event time of the oldest row in some segments; None if it is unknown for one of them."""
    times = [segment.oldest for segment in segments]
    known = [time for time in times if time is not None]
    return min(known) if known and len(known) == len(times) else None


class SegmentFile:
    """An open segment. Its name contains the epoch and a random part, so that attempts never collide."""

    def __init__(self, directory: Path, epoch: Epoch, task: int, suffix: str = "") -> None:
        self.path = segment_path(directory, epoch, task, suffix)
        self._file: BinaryIO = self.path.open("xb")
        self._hash = hashlib.sha256()
        self._bytes = 0
        self.rows = 0

    def write(self, contents: bytes, rows: int) -> None:
        """Append bytes that hold `rows` rows."""
        self._file.write(contents)
        self._hash.update(contents)
        self._bytes += len(contents)
        self.rows += rows

    def close(self, partition: str = "", *, until: int | None = None, sync: bool = True) -> Segment:
        """Finish the segment, and make its contents durable with `sync`; its name is with `sync_names`."""
        self._file.close()
        finish(self.path, sync=sync)
        return Segment(segment_name(self.path), self.rows, self._bytes, self._hash.hexdigest(), partition, until)


def segment_path(directory: Path, epoch: Epoch, task: int, suffix: str = "") -> Path:
    """Return a new path for a segment, in a directory that exists. The writer calls `finish` afterwards."""
    folder = task_path(_folder(directory, epoch))
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{task:05d}-{secrets.token_hex(4)}{suffix}"


def segment_name(path: Path) -> str:
    """Return the name of a segment below the directory of its sink, from a path of `segment_path`."""
    return "/".join(path.parts[-3:])


def sync_names(directory: Path, epoch: Epoch) -> None:
    """Make the names of an epoch's segments durable: once for all of them, before the sink decides."""
    folder = _folder(directory, epoch)
    if folder.is_dir():
        for changed in (folder, folder.parent, directory):
            sync_directory(changed)


def _folder(directory: Path, epoch: Epoch) -> Path:
    return directory / "segments" / f"{epoch.number:012d}-{epoch.lineage}"


@contextmanager
def reading_segment(path: Path) -> Iterator[None]:
    """Raise UnreadableSegmentError if opening or reading a segment fails in the context: the target is not at fault."""
    try:
        yield
    except OSError as error:
        raise UnreadableSegmentError(
            f"the segment {path}, which a task has written, cannot be read: {error.strerror or error}",
            hint="on a cluster, all executors must share the disk of the state; elsewhere, check that disk",
        ) from error


def open_segment(path: Path) -> BinaryIO:
    """Open a segment for reading."""
    with reading_segment(path):
        return path.open("rb")


def to_message(segments: Iterable[Segment]) -> bytes:
    """Encode a task's segments as its message to the driver."""
    return json.dumps([asdict(segment) for segment in segments]).encode()


def from_messages(messages: Sequence[bytes]) -> list[Segment]:
    """Return the segments of all tasks, in the order of the tasks."""
    return [Segment(**segment) for message in messages for segment in json.loads(message)]


def drop_segments(directory: Path, epoch: Epoch, keep: Collection[str] = ()) -> None:
    """Delete the segments of an epoch that is in the ledger, of earlier epochs, and of earlier lineages, except for the
    paths in `keep`. Segments of later epochs or unknown lineages stay, since they may belong to a run that has taken
    over."""
    parents = {lineage for lineage, _ in epoch.parents}
    for folder in (directory / "segments").glob("*-*"):
        number, lineage = folder.name.split("-", 1)
        if lineage in parents or (lineage == epoch.lineage and int(number) <= epoch.number):
            _clear(folder, {directory / path for path in keep})


def drop_attempts(directory: Path, epoch: Epoch, keep: Collection[str] = ()) -> None:
    """Delete the segments of an epoch that is in the ledger already, except for the paths in `keep`."""
    _clear(_folder(directory, epoch), {directory / path for path in keep})


def _clear(folder: Path, keep: set[Path]) -> None:
    paths = set(folder.iterdir()) if folder.is_dir() else set()
    if paths.isdisjoint(keep):
        shutil.rmtree(folder, ignore_errors=True)
    for path in paths - keep:
        path.unlink(missing_ok=True)
