"""What is left behind below a data directory and needed by nobody: found by looking, removed only by the sweep.

    state/pl_1/logs/scratch-400    no process 400 is there, and no open run of pl_1 has that number       goes
    state/pl_1/logs/scratch-900    process 900 is there                                                   stays
    runs/pl_1/000001.log .json     run 1 has ended, 12 newer ones are there, and it is older than a week  goes
    runs/pl_1/000013.log .json     the newest run, whatever its age                                       stays
    hosts/3f9a0c51d2e47b86         no process of that host is there, and nothing in it is younger than a week    goes
    runs/pl_9                      no pipeline pl_9 is there, and nothing in it is younger than a week    goes

States and savepoints are no leaks, whosever they are: only a deletion, which is written down, removes those.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from engine.checkpoints.layout import StatePaths
from engine.jobs.disk.data_directory import DataDirectory
from engine.jobs.disk.ids import is_id
from engine.jobs.processes import processes

LeakKind = Literal["scratch", "run files", "files of no pipeline"]
_SCRATCH = re.compile(r"scratch-([0-9]+)")
_OF_RUN = re.compile(r"([0-9]{6,})\..+")


@dataclass(frozen=True, slots=True)
class Limits:
    """What of the past is kept. A thing goes only if it is beyond its number and older than its time."""

    kept_runs: int = 10
    """So many runs of a pipeline keep their logs and assignments, whatever their age."""
    files_for: timedelta = timedelta(days=7)
    """How long those of older ones are kept."""
    kept_events: int = 1000
    """So many events of a job are kept, whatever their age."""
    history_for: timedelta = timedelta(days=90)
    """How long older events are kept, and certificates, and runs that were never up."""


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A run that has not been seen to end."""

    generation: int
    pid: int | None


@dataclass(frozen=True, slots=True)
class LeakedPath:
    """A file or directory that may go, and why."""

    path: Path
    kind: LeakKind
    reason: str
    bytes: int


def leaked_paths(
    directory: DataDirectory,
    open_runs: Mapping[str, OpenRun | None],
    now: datetime,
    limits: Limits,
    is_alive: Callable[[int], bool] = lambda pid: processes.born(pid) is not None,
) -> Iterator[LeakedPath]:
    """Yield the paths below a data directory that may be deleted. `open_runs` has every pipeline, with its open run if
    there is one. Read it first: a pipeline that is created meanwhile then has no files old enough to delete."""
    for folder in folders_of_pipelines(directory.root / "state", open_runs):
        yield from _scratch(StatePaths(folder).logs, open_runs[folder.name], is_alive)
    for folder in folders_of_pipelines(directory.root / "runs"):
        if folder.name in open_runs:
            yield from _run_files(folder, open_runs[folder.name], now, limits)
        elif not processes.is_locked(folder / "lock") and _is_older(folder, now - limits.files_for):
            yield LeakedPath(folder, "files of no pipeline", "its pipeline is not there", size_of(folder))
    for folder in _entries(directory.hosts):
        if _is_older(folder, now - limits.files_for) and not processes.marked(f"host/{folder.name}"):
            yield LeakedPath(folder, "scratch", "its shared JVM has ended", size_of(folder))


def folders_of_pipelines(parent: Path, among: Mapping[str, object] | None = None) -> Iterator[Path]:
    """The directories that have the id of a pipeline, of any or of some."""
    for folder in _entries(parent):
        if is_id(folder.name, "pl") and (among is None or folder.name in among) and not folder.is_symlink():
            yield folder


def _scratch(logs: Path, run: OpenRun | None, is_alive: Callable[[int], bool]) -> Iterator[LeakedPath]:
    for path in _entries(logs):
        match = _SCRATCH.fullmatch(path.name)
        if match is None or is_alive(pid := int(match[1])):
            continue
        # A JVM may live on for a while when its driver has died; until it is gone, its run is open.
        if run is not None and run.pid in (pid, None):
            continue
        yield LeakedPath(path, "scratch", f"process {pid} is no more", size_of(path))


def _run_files(folder: Path, run: OpenRun | None, now: datetime, limits: Limits) -> Iterator[LeakedPath]:
    files = [(int(match[1]), path) for path in _entries(folder) if (match := _OF_RUN.fullmatch(path.name))]
    newest = sorted({generation for generation, _ in files})[-limits.kept_runs :]
    for generation, path in sorted(files):
        if generation in newest or (run is not None and generation >= run.generation):
            continue
        modified = _modified(path)
        if modified is not None and now - modified > limits.files_for:
            reason = f"run {generation} has ended, and {len(newest)} newer ones have files"
            yield LeakedPath(path, "run files", reason, size_of(path))


# Runs end, and pipelines are deleted, while all this is looked at: what is gone by then is passed over.


def _entries(folder: Path) -> list[Path]:
    """List a directory; empty if it is no directory."""
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def _is_older(folder: Path, instant: datetime) -> bool:
    """Whether a directory is there, and neither it nor what is in it was changed since an instant."""
    modified = _modified(folder)
    inside = [_modified(path) for path in _entries(folder)]
    return modified is not None and all(at is None or at < instant for at in (modified, *inside))


def _modified(path: Path) -> datetime | None:
    try:
        return datetime.fromtimestamp(path.lstat().st_mtime, UTC)
    except FileNotFoundError:
        return None


def size_of(path: Path) -> int:
    """The bytes of a file, or of all files of a directory, that are there still."""
    if not path.is_dir():
        return _bytes(path)
    return sum(_bytes(Path(parent, name)) for parent, _, names in os.walk(path) for name in names)


def _bytes(file: Path) -> int:
    try:
        return file.lstat().st_size
    except FileNotFoundError:
        return 0
