"""Layout of a pipeline's state directory, and helpers to read and write its small files.

Scratch directories with a lock, so that the directories of killed processes can be removed.

rehearsals/3f0c/       of a running process
rehearsals/3f0c.lock   locked by it, so that no other process removes the directory
rehearsals/88aa/       of a killed process: removed when the next one begins
rehearsals/88aa.lock
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from engine.delivery.durable import replace_durably
from engine.errors import UnreadableStateError


@dataclass(frozen=True, slots=True)
class StatePaths:
    """The state directory of one pipeline."""

    root: Path

    @property
    def checkpoint(self) -> Path:
        """Return Spark's own checkpoint."""
        return self.root / "checkpoint"

    @property
    def sinks(self) -> Path:
        """Return the folder of segments and ledgers, a directory per sink."""
        return self.root / "sinks"

    @property
    def watermarks(self) -> Path:
        """Return the folder of the notes that readers leave for planners."""
        return self.root / "watermarks"

    @property
    def intake(self) -> Path:
        """Intake logs, a directory per source that cannot be read twice."""
        return self.root / "intake"

    @property
    def lineage(self) -> Path:
        """Return the file with the lineage of this state."""
        return self.root / "lineage.json"

    @property
    def generation(self) -> Path:
        """Return the file with the newest generation that may write."""
        return self.root / "generation"

    @property
    def pipeline(self) -> Path:
        """Return the file with the owner of the state: name, script, fingerprint, parallelism."""
        return self.root / "pipeline.json"

    @property
    def owner(self) -> Path:
        """Return the file with the id that marks the sinks' targets. It lives as long as the directory, whatever state
        that holds."""
        return self.root / "owner.json"

    @property
    def savepoints(self) -> Path:
        """Return the folder of savepoints."""
        return self.root / "savepoints"

    @property
    def meeting(self) -> Path:
        """Return the file with the offsets at which another pipeline has ended, if this one is to stop there, too."""
        return self.root / "meeting.json"

    @property
    def late(self) -> Path:
        """Return the folder of late rows that were not reported to the control plane, a file for each epoch."""
        return self.root / "late"

    @property
    def lock(self) -> Path:
        """Return the lock file, which the one process that works on this state holds."""
        return self.root / "lock"

    @property
    def logs(self) -> Path:
        """Return the folder of logs and scratch space, which may be deleted."""
        return self.root / "logs"


def read_json(path: Path) -> dict[str, object] | None:
    """Return the content of a small file, None if there is none; raise an error if it is damaged."""
    try:
        content = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    except (ValueError, OSError) as error:
        raise unreadable(path) from error
    if not isinstance(content, dict):
        raise unreadable(path)
    return content


def read_text(path: Path) -> str:
    """Return the content of a small file that must exist; raise an error if it is empty or cannot be read."""
    try:
        text = path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path) from error
    if not text:
        raise unreadable(path)
    return text


def write_json(path: Path, content: Mapping[str, object]) -> None:
    """Replace a small file in one step that survives a crash."""
    write_text(path, json.dumps(content, indent=1))


def write_text(path: Path, text: str) -> None:
    """Replace a small file in one step that survives a crash."""
    replace_durably(path, text.encode())


def unreadable(path: Path) -> UnreadableStateError:
    """Return the error for a file that exists and cannot be parsed."""
    return UnreadableStateError(
        f"{path} cannot be read",
        hint="restore a savepoint, or start empty with --force, which keeps the old state aside",
    )


@contextmanager
def scratch_directory(parent: Path) -> Iterator[Path]:
    """Create a directory below `parent` for the length of the context. Directories that killed processes have left
    there are removed, too."""
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    sweep(parent)
    handle, directory = _take(parent)
    try:
        directory.mkdir(mode=0o700)
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        _lock_of(directory).unlink(missing_ok=True)
        os.close(handle)


def sweep(parent: Path) -> int:
    """Remove the directories that killed processes have left below `parent`; return how many there were."""
    removed = 0
    for lock in sorted(parent.glob("*.lock")):
        handle = _try_lock(lock)
        if handle is None:
            continue
        directory = lock.with_suffix("")
        removed += directory.is_dir()
        shutil.rmtree(directory, ignore_errors=True)
        if not directory.exists():
            lock.unlink(missing_ok=True)
        os.close(handle)
    return removed


def _take(parent: Path) -> tuple[int, Path]:
    while True:
        directory = parent / uuid.uuid4().hex[:12]
        lock = _lock_of(directory)
        lock.touch(mode=0o600)
        # a concurrent sweep may have removed the file
        if (handle := _try_lock(lock)) is not None:
            return handle, directory


def _lock_of(directory: Path) -> Path:
    return directory.with_name(f"{directory.name}.lock")


def _try_lock(path: Path) -> int | None:
    """Return a handle that holds the lock; None if another process holds it, or if the file is gone."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    with suppress(FileNotFoundError):
        if os.path.samestat(os.fstat(handle), path.stat()):
            return handle
    os.close(handle)
    return None
