"""The processes that play rehearsals. They outlive the control plane, as drivers do, and the next one finds them again:
by pid and moment of birth, and all that they have started by what it has inherited."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from engine.jobs.decisions.rehearsal import RehearsalFolder, RehearsalOrder
from engine.jobs.disk.data_directory import DataDirectory
from engine.jobs.disk.ids import is_id
from engine.jobs.processes import processes
from engine.jobs.processes.driver_environment import driver_environment

COMMAND = (sys.executable, "-m", "engine.driver.rehearsal")


class Rehearsers(Protocol):
    """Play rehearsals, and say what has become of those."""

    def start(self, rehearsal_id: str, order: RehearsalOrder, script: str, secrets: Mapping[str, str]) -> None:
        """Begin to play one; `script` names the secrets that it needs."""

    def is_alive(self, rehearsal_id: str) -> bool:
        """Whether somebody is at it."""

    def end_processes(self, rehearsal_id: str) -> None:
        """End all that is at it."""

    def remove(self, rehearsal_id: str) -> None:
        """Remove all that it has worked with, once nobody is at it."""

    def left(self) -> Iterable[str]:
        """Return the rehearsals that have left something behind."""


class _Player(BaseModel):
    model_config = ConfigDict(frozen=True)

    pid: int
    born: str


@dataclass(slots=True)
class LocalRehearsers:
    """Subprocesses in sessions of their own."""

    directory: DataDirectory
    inherited: tuple[str, ...] = ()
    """Further variables that they inherit."""
    command: tuple[str, ...] = COMMAND
    _children: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, rehearsal_id: str, order: RehearsalOrder, script: str, secrets: Mapping[str, str]) -> None:
        """Begin to play one, in a folder of its own."""
        folder = folder_of(self.directory, rehearsal_id)
        path = order.write(folder.root)
        environment = driver_environment(os.environ, self.inherited, script, secrets)
        with folder.log.open("wb") as log:
            child = subprocess.Popen(
                [*self.command, str(path)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**environment, processes.MARK: _mark(rehearsal_id)},
            )
        self._children[rehearsal_id] = child
        player = _Player(pid=child.pid, born=processes.born(child.pid) or "")
        folder.process.write_text(player.model_dump_json())

    def is_alive(self, rehearsal_id: str) -> bool:
        """Whether the process is there that was started for it, by whichever control plane."""
        if (child := self._children.get(rehearsal_id)) is not None:
            return child.poll() is None
        try:
            text = folder_of(self.directory, rehearsal_id).process.read_text()
            player = _Player.model_validate_json(text)
        except (OSError, ValidationError):  # who started it was killed before it could write down whom
            return bool(processes.marked(_mark(rehearsal_id)))
        return processes.born(player.pid) == player.born

    def end_processes(self, rehearsal_id: str) -> None:
        """End it and whatever it has started."""
        _until_none(lambda: processes.marked(_mark(rehearsal_id)), processes.kill)
        if (child := self._children.pop(rehearsal_id, None)) is not None:
            child.kill()
            child.wait()

    def remove(self, rehearsal_id: str) -> None:
        """Remove its folder; what cannot be removed is tried again at the next look."""
        shutil.rmtree(self.directory.rehearsal(rehearsal_id), ignore_errors=True)

    def left(self) -> Iterable[str]:
        """Return the rehearsals that have a folder."""
        parent = self.directory.rehearsals
        return sorted(entry.name for entry in parent.iterdir() if is_id(entry.name, "reh")) if parent.is_dir() else []


def _mark(rehearsal_id: str) -> str:
    return f"rehearsal/{rehearsal_id}"


def _until_none(look: Callable[[], list[int]], end: Callable[[list[int]], None], most: int = 100) -> None:
    """End processes until none is left, including those that start meanwhile."""
    for _ in range(most):
        if not (pids := look()):
            return
        end(pids)


def folder_of(directory: DataDirectory, rehearsal_id: str) -> RehearsalFolder:
    """The files of a rehearsal, as long as they are there."""
    return RehearsalFolder(directory.rehearsal(rehearsal_id))
