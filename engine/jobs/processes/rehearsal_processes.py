"""Rehearsal processes. They outlive the control plane, and the next one finds them by pid and start time, and their
descendants by an inherited variable.

Detect whether processes make progress, from /proc.

with a limit of 300 s, 3 s of CPU time or 1 MiB read and written count as progress

    0 s      java 2.1 s, 40 MiB
    1 s      java 2.9 s, 55 MiB      progress: still for 0 s
    240 s    java 3.3 s, 55 MiB      still for 239 s: an idle JVM uses a little CPU, too
    400 s    all are stopped         still for 399 s
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from engine.jobs.decisions.rollback import RehearsalFolder, RehearsalOrder
from engine.jobs.disk import DataDirectory, is_id
from engine.jobs.processes import processes
from engine.jobs.processes.driver_environment import driver_environment

COMMAND = (sys.executable, "-m", "engine.driver.rehearsal")


class Rehearsers(Protocol):
    """Runs rehearsals, and reports their state."""

    def start(self, rehearsal_id: str, order: RehearsalOrder, script: str, secrets: Mapping[str, str]) -> None:
        """Start a rehearsal; `script` names the secrets that it needs."""

    def is_alive(self, rehearsal_id: str) -> bool:
        """Whether a process runs it."""

    def end_processes(self, rehearsal_id: str) -> None:
        """Kill its processes."""

    def remove(self, rehearsal_id: str) -> None:
        """Remove its files, once no process runs it."""

    def left(self) -> Iterable[str]:
        """Return the rehearsals that have left files."""


class _Player(BaseModel):
    model_config = ConfigDict(frozen=True)

    pid: int
    born: str


@dataclass(slots=True)
class LocalRehearsers:
    """Child processes in sessions of their own."""

    directory: DataDirectory
    inherited: tuple[str, ...] = ()
    """Additional inherited variables."""
    command: tuple[str, ...] = COMMAND
    _children: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, rehearsal_id: str, order: RehearsalOrder, script: str, secrets: Mapping[str, str]) -> None:
        """Start a rehearsal, in a folder of its own."""
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
        """Whether its process lives, whichever control plane has started it."""
        if (child := self._children.get(rehearsal_id)) is not None:
            return child.poll() is None
        try:
            text = folder_of(self.directory, rehearsal_id).process.read_text()
            player = _Player.model_validate_json(text)
        except (OSError, ValidationError):  # who started it was killed before it could write down whom
            return bool(processes.marked(_mark(rehearsal_id)))
        return processes.born(player.pid) == player.born

    def end_processes(self, rehearsal_id: str) -> None:
        """Kill its process and all descendants."""
        _until_none(lambda: processes.marked(_mark(rehearsal_id)), processes.kill)
        if (child := self._children.pop(rehearsal_id, None)) is not None:
            child.kill()
            child.wait()

    def remove(self, rehearsal_id: str) -> None:
        """Remove its folder; what cannot be removed is tried again later."""
        shutil.rmtree(self.directory.rehearsal(rehearsal_id), ignore_errors=True)

    def left(self) -> Iterable[str]:
        """Return the rehearsals that have a folder."""
        parent = self.directory.rehearsals
        return sorted(entry.name for entry in parent.iterdir() if is_id(entry.name, "reh")) if parent.is_dir() else []


def _mark(rehearsal_id: str) -> str:
    return f"rehearsal/{rehearsal_id}"


def _until_none(look: Callable[[], list[int]], end: Callable[[list[int]], None], most: int = 100) -> None:
    """Kill processes until none is left, including those that start meanwhile."""
    for _ in range(most):
        if not (pids := look()):
            return
        end(pids)


def folder_of(directory: DataDirectory, rehearsal_id: str) -> RehearsalFolder:
    """Return the existing files of a rehearsal."""
    return RehearsalFolder(directory.rehearsal(rehearsal_id))


_TICKS = float(os.sysconf("SC_CLK_TCK"))
_SHARE = 0.01
"""Share of a core that counts as work: an idle JVM uses less."""
_BYTES = 1024 * 1024
_INTERVAL = 1.0
"""Seconds between two measurements: each reads a small file per process of the machine."""
_TRANSFERS = ("rchar", "wchar")


@dataclass(frozen=True, slots=True)
class Effort:
    """Work of processes so far."""

    cpu_seconds: float = 0.0
    transferred: int = 0
    """Bytes read and written."""


@dataclass(slots=True)
class Liveness:
    """Measures a process and all its descendants repeatedly."""

    pid: int
    limit: timedelta
    """Time without progress after which work counts as hanging."""
    clock: Callable[[], float] = time.monotonic
    proc: Path = Path("/proc")
    _effort: Effort = field(default=Effort(), init=False)
    """Measurement at the last progress."""
    _moved_at: float = field(init=False)
    _looked_at: float = field(init=False)
    _begun_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._begun_at = self._moved_at = self._looked_at = self.clock()

    def age(self) -> timedelta:
        """Return the time since the work began. A process in an endless loop always makes progress, so this is limited,
        too."""
        return timedelta(seconds=self.clock() - self._begun_at)

    def stillness(self) -> timedelta:
        """Return the time since the last progress. On a machine without /proc this is unknown, and counts as
        progress."""
        now = self.clock()
        if not self.proc.is_dir():
            return timedelta(0)
        if now - self._looked_at >= _INTERVAL:
            self._looked_at = now
            self._look(now)
        return timedelta(seconds=now - self._moved_at)

    def _look(self, now: float) -> None:
        effort = effort_of(self.pid, self.proc)
        # processes that end take with them what they have done
        is_less = effort.cpu_seconds < self._effort.cpu_seconds or effort.transferred < self._effort.transferred
        cpu_seconds = effort.cpu_seconds - self._effort.cpu_seconds
        is_working = cpu_seconds >= self.limit.total_seconds() * _SHARE
        if is_less or is_working or effort.transferred - self._effort.transferred >= _BYTES:
            self._effort, self._moved_at = effort, now


def effort_of(pid: int, proc: Path = Path("/proc")) -> Effort:
    """Return the CPU time and I/O of a process and of its live descendants."""
    stats = dict(_stats(proc))
    children: dict[int, list[int]] = {}
    for child, fields in stats.items():
        children.setdefault(int(fields[1]), []).append(child)
    ticks, transferred, waiting = 0, 0, [pid] if pid in stats else []
    while waiting:
        process = waiting.pop()
        waiting += children.get(process, ())
        ticks += sum(map(int, stats[process][11:13]))
        transferred += _transferred(proc / str(process))
    return Effort(ticks / _TICKS, transferred)


def _stats(proc: Path) -> Mapping[int, list[str]]:
    stats = {}
    for entry in proc.iterdir():
        if entry.name.isdigit():
            try:
                stats[int(entry.name)] = processes.stat_fields(entry)
            except OSError:
                continue
    return stats


def _transferred(process: Path) -> int:
    try:
        lines = (process / "io").read_text().splitlines()
    except OSError:  # not everybody may look at it
        return 0
    return sum(int(count) for name, _, count in (line.partition(": ") for line in lines) if name in _TRANSFERS)
