"""What each thing below a data directory takes on the disk: found by looking, and never changed.

state/pl_1/checkpoint/state/0/0/9.delta     4 MB, which savepoint sp_1 has too   counts once, for the state
state/pl_1/savepoints/sp_1/.../9.delta      the same file, as a hard link        counts nothing
state/pl_1/savepoints/sp_1/.../3.delta      1 MB, which the state has no more    what a deletion of sp_1 would free
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.checkpoints.layout import StatePaths
from engine.jobs.disk.data_directory import DataDirectory
from engine.jobs.disk.leaks import folders_of_pipelines, size_of


@dataclass(frozen=True, slots=True)
class PipelineUse:
    """What one pipeline takes, in bytes. What savepoints share with the state is of the state, and what they share with
    one another counts once."""

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
    """Return the disk use beside the pipelines, by kind; kinds that use nothing are left out."""
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
    """The bytes of the files below that are not known yet; they are from then on."""
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
