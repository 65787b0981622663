"""The data directory: its layout, its size, and leftovers.

Layout of the control plane's data directory. No name in it comes from users.

Measure disk usage below a data directory, without changing it.

    state/pl_1/checkpoint/state/0/0/9.delta     4 MB, also in savepoint sp_1      counts once, for the state
    state/pl_1/savepoints/sp_1/.../9.delta      the same file, a hard link        counts nothing
    state/pl_1/savepoints/sp_1/.../3.delta      1 MB, no longer in the state      what deleting sp_1 would free

Find leftovers below a data directory; the sweep removes them.

    state/pl_1/logs/scratch-400    no process 400 exists, and no open run of pl_1 has that number        removed
    state/pl_1/logs/scratch-900    process 900 exists                                                    stays
    runs/pl_1/000001.log .json     run 1 has ended, there are 12 newer ones, and it is older than a week  removed
    runs/pl_1/000013.log .json     the newest run, whatever its age                                       stays
    hosts/3f9a0c51d2e47b86         no process of that host exists, and nothing in it is younger than a week      removed
    runs/pl_9                      no pipeline pl_9 exists, and nothing in it is younger than a week      removed

States and savepoints are never leftovers: only a recorded deletion removes them.
"""

from __future__ import annotations

import os
import re
import secrets
import string
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from engine.checkpoints.layout import StatePaths
from engine.jobs.processes import processes


@dataclass(frozen=True, slots=True)
class PipelineUse:
    """Disk usage of one pipeline in bytes. Files that savepoints share with the state count for the state, and files
    that they share with each other count once."""

    state: int
    savepoints: int
    savepoint_count: int
    logs: int

    @property
    def all(self) -> int:
        """Everything together."""
        return self.state + self.savepoints + self.logs


def pipeline_use(directory: DataDirectory, pipeline_id: str) -> PipelineUse:
    """Return the disk use of a pipeline. Files that vanish meanwhile are skipped."""
    paths, known = StatePaths(directory.state(pipeline_id)), set[tuple[int, int]]()
    logs = sum(_sizes(folder, known) for folder in (paths.logs, directory.runs(pipeline_id)))
    state = _sizes(paths.root, known, without=(paths.logs, paths.savepoints))
    return PipelineUse(state, _sizes(paths.savepoints, known), _count(paths.savepoints), logs)


def other_use(directory: DataDirectory, pipeline_ids: Collection[str]) -> dict[str, int]:
    """Return the disk use outside of the pipelines, by kind; kinds that use nothing are left out."""
    known = {folder.name for folder in folders_of_pipelines(directory.root / "state")} - set(pipeline_ids)
    sizes = {
        "records": sum(size_of(path) for path in directory.root.glob(f"{directory.database.name}*")),
        "backups": size_of(directory.backups),
        "drivers in reserve": size_of(directory.spares),
        "drills": size_of(directory.drills),
        "rehearsals": size_of(directory.rehearsals),
        "states of no pipeline": sum(pipeline_use(directory, name).all for name in known),
    }
    return {what: size for what, size in sizes.items() if size}


def _sizes(folder: Path, known: set[tuple[int, int]], without: Collection[Path] = ()) -> int:
    """Return the bytes of the files below that are not counted yet, and mark them as counted."""
    total = 0
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if Path(parent, name) not in without]
        for found in _looked_at(parent, names):
            if (found.st_dev, found.st_ino) not in known:
                known.add((found.st_dev, found.st_ino))
                total += found.st_size
    return total


def _looked_at(parent: str, names: list[str]) -> Iterator[os.stat_result]:
    for name in names:
        try:
            yield Path(parent, name).lstat()
        except FileNotFoundError:
            continue


def _count(folder: Path) -> int:
    try:
        return sum(not entry.name.startswith(".") for entry in folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return 0


LeakKind = Literal["scratch", "run files", "files of no pipeline"]
_SCRATCH = re.compile(r"scratch-([0-9]+)")
_OF_RUN = re.compile(r"([0-9]{6,})\..+")


@dataclass(frozen=True, slots=True)
class Limits:
    """Retention. A file is removed only if it exceeds both the number and the age."""

    kept_runs: int = 10
    """Number of runs of a pipeline whose logs and assignments are retained, whatever their age."""
    files_for: timedelta = timedelta(days=7)
    """Retention time of older runs' files."""
    kept_events: int = 1000
    """Number of events of a job that are retained, whatever their age."""
    history_for: timedelta = timedelta(days=90)
    """Retention time of older events, certificates, and runs that never started."""


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A run that has not been seen to end."""

    generation: int
    pid: int | None


@dataclass(frozen=True, slots=True)
class LeakedPath:
    """A file or directory to remove, and why."""

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
    """Yield the directories that have the id of a pipeline, of any or of some."""
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
    """Whether a directory exists, and neither it nor its content was changed since an instant."""
    modified = _modified(folder)
    inside = [_modified(path) for path in _entries(folder)]
    return modified is not None and all(at is None or at < instant for at in (modified, *inside))


def _modified(path: Path) -> datetime | None:
    try:
        return datetime.fromtimestamp(path.lstat().st_mtime, UTC)
    except FileNotFoundError:
        return None


def size_of(path: Path) -> int:
    """Return the bytes of a file, or of all existing files of a directory."""
    if not path.is_dir():
        return _bytes(path)
    return sum(_bytes(Path(parent, name)) for parent, _, names in os.walk(path) for name in names)


def _bytes(file: Path) -> int:
    try:
        return file.lstat().st_size
    except FileNotFoundError:
        return 0


_OWN_FILES = ("arroyo.db", "folder", "forks.log", "secrets.key", "server.json", "server.lock", "token")
_OWN_FOLDERS = ("backups", "drills", "hosts", "rehearsals", "runs", "spares", "state")
_OWN_NAMES = frozenset((*_OWN_FILES, *_OWN_FOLDERS))
"""Names of files and folders that the control plane creates in its data directory; a test compares them."""


@dataclass(frozen=True, slots=True)
class DataDirectory:
    """Paths below one data directory. They are not created."""

    root: Path

    @property
    def database(self) -> Path:
        """The records."""
        return self.root / "arroyo.db"

    @property
    def lock(self) -> Path:
        """Held by the one control plane that works here."""
        return self.root / "server.lock"

    @property
    def server(self) -> Path:
        """Return the file with the address of the running control plane."""
        return self.root / "server.json"

    @property
    def token(self) -> Path:
        """The admin token, readable by its owner alone."""
        return self.root / "token"

    @property
    def secrets_key(self) -> Path:
        """Return the file with the key that encrypts the secrets of pipelines; only its owner can read it."""
        return self.root / "secrets.key"

    @property
    def folder(self) -> Path:
        """Says in which directory the first control plane stood that looked after the pipelines that are here."""
        return self.root / "folder"

    @property
    def backups(self) -> Path:
        """Copies of the control plane from before its database was changed for a newer version."""
        return self.root / "backups"

    @property
    def spares(self) -> Path:
        """Return the folder of spare drivers' files, a directory each."""
        return self.root / "spares"

    @property
    def hosts(self) -> Path:
        """Return the folder of the shared JVMs, a directory each."""
        return self.root / "hosts"

    @property
    def forks_log(self) -> Path:
        """Return the log of the process that forks drivers."""
        return self.root / "forks.log"

    @property
    def drills(self) -> Path:
        """Scratch space of the drill that is being played."""
        return self.root / "drills"

    @property
    def rehearsals(self) -> Path:
        """Return the folder of running rehearsals, a directory each."""
        return self.root / "rehearsals"

    def is_own(self, path: Path) -> bool:
        """Whether a path, with its links followed, is this directory or what the control plane stores in it. Other
        files below it are the user's."""
        found, root = path.resolve(), self.root.resolve()
        if not found.is_relative_to(root):
            return False
        first = found.relative_to(root).parts[:1]
        return not first or first[0] in _OWN_NAMES or first[0].startswith(f"{self.database.name}-")

    def rehearsal(self, rehearsal_id: str) -> Path:
        """Return the work directory of one rehearsal; it is deleted when that has ended."""
        if not is_id(rehearsal_id, "reh"):
            raise ValueError(f"{rehearsal_id!r} is not a rehearsal id")
        return self.rehearsals / rehearsal_id

    def state(self, pipeline_id: str) -> Path:
        """Return a pipeline's state directory."""
        return self.root / "state" / _checked(pipeline_id)

    @property
    def has_pipelines(self) -> bool:
        """Whether there is state of a pipeline."""
        states = self.root / "state"
        return states.is_dir() and any(is_id(entry.name, "pl") for entry in states.iterdir())

    def has_state(self, pipeline_id: str) -> bool:
        """Whether a pipeline has committed an epoch."""
        commits = self.state(pipeline_id) / "checkpoint" / "commits"
        return commits.is_dir() and any(entry.name.isdigit() for entry in commits.iterdir())

    def savepoint(self, pipeline_id: str, savepoint_id: str) -> Path:
        """Return a savepoint of a pipeline."""
        if not is_id(savepoint_id, "sp"):
            raise ValueError(f"{savepoint_id!r} is not a savepoint id")
        return self.state(pipeline_id) / "savepoints" / savepoint_id

    def runs(self, pipeline_id: str) -> Path:
        """Return the folder of a pipeline's processes: assignments, logs, the lock."""
        return self.root / "runs" / _checked(pipeline_id)

    def driver_lock(self, pipeline_id: str) -> Path:
        """Return the file that is locked by the one process that works on a pipeline's state."""
        return self.runs(pipeline_id) / "lock"

    def assignment(self, pipeline_id: str, generation: int) -> Path:
        """Return the assignment file of one run."""
        return self.runs(pipeline_id) / f"{generation:06}.json"

    def log(self, pipeline_id: str, generation: int) -> Path:
        """Return the log of one run."""
        return self.runs(pipeline_id) / f"{generation:06}.log"

    def mark(self, pipeline_id: str, generation: int) -> Path:
        """Return the file with the mark that the processes of one run have in their environment, if it is not the run's
        own name."""
        return self.runs(pipeline_id) / f"{generation:06}.mark"

    def maintenance_log(self, pipeline_id: str) -> Path:
        """Return the log of maintenance between runs."""
        return self.runs(pipeline_id) / "chore.log"

    def maintenance_result(self, pipeline_id: str) -> Path:
        """Return the file with the reason why maintenance has failed."""
        return self.runs(pipeline_id) / "chore.json"


def _checked(pipeline_id: str) -> str:
    """Return the id, which must be one of ours."""
    if not is_id(pipeline_id, "pl"):
        raise ValueError(f"{pipeline_id!r} is not a pipeline id")
    return pipeline_id


_ALPHABET = string.ascii_letters + string.digits
_SHAPE = re.compile(r"(pl|job|sp|gate|part|reh|preview|cp|ct|udf)_[A-Za-z0-9]{16}")

Kind = Literal["pl", "job", "sp", "gate", "part", "reh", "preview", "cp", "ct", "udf"]
"""Kind of an id: a pipeline, a job, a savepoint, a certificate, a consumer of time buckets, a rehearsal, a stored
connection, table or function; for a preview it is the name."""


def make(kind: Kind) -> str:
    """Return a new random id, such as `pl_` and sixteen letters and digits."""
    return f"{kind}_{''.join(secrets.choice(_ALPHABET) for _ in range(16))}"


def is_id(text: str, kind: Kind) -> bool:
    """Whether a text has the shape of an id of that kind."""
    return text.startswith(f"{kind}_") and _SHAPE.fullmatch(text) is not None
