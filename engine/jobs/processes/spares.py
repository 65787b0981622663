"""Spares: processes with the JVM and Spark running and warm. Each becomes the driver of a run.

    the control plane has begun           spare a is started, and warms up
    spare a reports that it is ready
    run 7 is launched                     spare a gets run 7 through its standard input, and is its driver
    no start for a while                  spare b is started
    run 8 is launched before b is warm    spare b gets run 8, and stops warming up

A spare ends when its standard input closes, so it never outlives its control plane. Once it is a driver it lives like
any other. The environment of its processes still names the spare: the mark of its run is stored next to the assignment.
"""

from __future__ import annotations

import json
import logging
import secrets
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.jobs.disk import DataDirectory
from engine.jobs.processes import processes
from engine.jobs.processes.assignment import Assignment
from engine.jobs.processes.processes import free_memory, log_tail
from engine.values.run_settings import needs_own_session

LOG = logging.getLogger(__name__)
SPARE_COMMAND = (sys.executable, "-m", "engine.driver.spare")
LOCK, READY, LOG_FILE = "lock", "ready", "spare.log"
"""Files of a spare's directory; its process holds the first one."""
_QUIET = 60.0
"""Seconds after a start before the next spare is started, to leave the machine to the starting run."""
_FIRST = 2.0
"""Seconds before the first spare of a new control plane, which may have runs to restart."""
_REST = 600.0
"""Seconds before the next attempt after a spare has died."""
_MEMORY = 3 * 2**30
"""A spare needs about one GiB; this much memory must be available."""
_LEAST = 2**29
"""Available memory below which spares are ended, before the kernel kills a process."""
_YOUNG = 60.0
"""Seconds in which the process of a directory may not have taken its lock yet."""


@dataclass(frozen=True, slots=True)
class Spare:
    """A spare process."""

    id: str
    directory: Path
    process: subprocess.Popen[bytes]
    environment: Mapping[str, str] = field(repr=False)

    @property
    def mark(self) -> str:
        """Return the environment mark of all its processes."""
        return spare_mark(self.id)

    @property
    def is_ready(self) -> bool:
        """Whether it is warm and alive."""
        return self.is_alive and (self.directory / READY).exists()

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return self.process.poll() is None

    def hand_over(self, assignment: Path, log: Path, environment: Mapping[str, str]) -> bool:
        """Turn it into the driver of a run; return whether it has accepted."""
        added = {name: text for name, text in environment.items() if self.environment.get(name) != text}
        order = json.dumps({"assignment": str(assignment), "log": str(log), "environment": added})
        pipe = self.process.stdin
        try:
            if pipe is None or not self.is_alive:
                return False
            pipe.write(order.encode() + b"\n")
            pipe.close()
        except OSError:  # it has ended meanwhile
            return False
        return True

    def forget(self) -> None:
        """End it: it is no longer needed."""
        if self.process.stdin:
            self.process.stdin.close()


def spare_mark(spare_id: str) -> str:
    """Return the mark of a spare's processes."""
    return f"spare/{spare_id}"


@dataclass(slots=True)
class SpareDrivers:
    """Maintains a number of spares."""

    directory: DataDirectory
    count: int
    environment: Callable[[], Mapping[str, str]]
    """Inherited variables of drivers, without those of a pipeline."""
    command: Sequence[str] = SPARE_COMMAND
    clock: Callable[[], float] = time.monotonic
    memory: Callable[[], int] = free_memory
    _spares: list[Spare] = field(default_factory=list)
    _quiet_since: float = field(init=False)
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _closed: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._quiet_since = self.clock() + _FIRST - _QUIET

    def take(self, assignment: Assignment) -> Spare | None:
        """Return the warmest spare that can be the driver of a run; from now on it is the caller's."""
        with self._guard:
            self._quiet_since = self.clock()
            if not fits(assignment):
                return None
            alive = [spare for spare in self._spares if spare.is_alive]
            if not alive:
                return None
            spare = max(alive, key=lambda spare: spare.is_ready)
            self._spares.remove(spare)
            return spare

    def run(self) -> None:
        """Maintain the spares until closed."""
        while not self._closed.wait(1.0):
            try:
                self.keep()
            except OSError:
                LOG.exception("spare drivers cannot be looked after now; it is tried again")

    def keep(self) -> None:
        """Start a spare if one is missing, and remove the files of ended ones."""
        with self._guard:
            self._remove_directories()
            self._forget_ended()
            if self._spares and self.memory() < _LEAST:
                self._give_up()
            if self._is_time_for_another():
                if self.memory() < _MEMORY:
                    self._quiet_since = self.clock()
                else:
                    self._spares.append(self._start())

    def close(self) -> None:
        """End the spares; those that have become drivers live on."""
        self._closed.set()
        with self._guard:
            for spare in self._spares:
                spare.forget()

    def _forget_ended(self) -> None:
        ended = [spare for spare in self._spares if not spare.is_alive]
        for spare in ended:
            LOG.warning("a spare driver has ended with code %s; its log: %s", *_last_words(spare))
            self._quiet_since = self.clock() + _REST - _QUIET
            spare.forget()
        self._spares = [spare for spare in self._spares if spare not in ended]

    def _is_time_for_another(self) -> bool:
        """Whether a spare is missing, no process is starting, and the existing spares are warm."""
        is_quiet = self.clock() - self._quiet_since >= _QUIET
        return len(self._spares) < self.count and is_quiet and all(spare.is_ready for spare in self._spares)

    def _start(self) -> Spare:
        spare_id = secrets.token_hex(8)
        directory = self.directory.spares / spare_id
        directory.mkdir(parents=True)
        environment = {**self.environment(), processes.MARK: spare_mark(spare_id)}
        with (directory / LOG_FILE).open("ab") as output:
            process = subprocess.Popen(
                [*self.command, str(directory)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=environment,
            )
        return Spare(spare_id, directory, process, environment)

    def _give_up(self) -> None:
        """End all spares, since other processes need their memory."""
        LOG.warning("memory is short: %d spare drivers end", len(self._spares))
        self._quiet_since = self.clock() + _REST - _QUIET
        for spare in self._spares:
            spare.forget()
            processes.kill_group(spare.process.pid)
            spare.process.wait()
        self._spares = []

    def _remove_directories(self) -> None:
        for directory in self.directory.spares.iterdir() if self.directory.spares.is_dir() else ():
            if processes.is_locked(directory / LOCK):
                continue
            if time.time() - directory.stat().st_mtime > _YOUNG and directory.name not in [s.id for s in self._spares]:
                shutil.rmtree(directory, ignore_errors=True)


def fits(assignment: Assignment) -> bool:
    """Whether the driver of a run may be a spare: its session is of the usual kind."""
    return assignment.parallelism == 1 and not needs_own_session(assignment.settings)


def _last_words(spare: Spare) -> tuple[int | None, str]:
    return spare.process.poll(), log_tail(spare.directory / LOG_FILE)[-500:] or "it said nothing"
