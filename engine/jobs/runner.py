"""Runs drivers, and work between runs, as processes of this machine that outlive the control plane."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from engine.jobs import processes
from engine.jobs.assignment import Assignment
from engine.jobs.data_directory import Places
from engine.jobs.observe import Chore, Process
from engine.jobs.status import Failure, Run

WORKER = (sys.executable, "-m", "engine.driver.main")


class Holder(BaseModel):
    """What the process that holds a pipeline's lock says of itself, in the lock file."""

    model_config = ConfigDict(frozen=True)

    pid: int
    born: str
    generation: int

    def write(self, lock: IO[str]) -> None:
        """Say so in the lock file."""
        lock.seek(0)
        lock.truncate()
        lock.write(self.model_dump_json())
        lock.flush()


class Runner(Protocol):
    """Starts processes for a pipeline and says what has become of them."""

    def launch(self, assignment: Assignment) -> Holder:
        """Start a driver; it runs on when this process ends."""

    def find(self, run: Run) -> Holder | None:
        """The process of a run whose start was interrupted before its pid was written down; None if there is none."""

    def look(self, run: Run) -> Process:
        """What is left of a run's process."""

    def poke(self, run: Run) -> None:
        """Make the driver call home now."""

    def kill(self, run: Run) -> None:
        """End every process of a run."""

    def begin_chore(
        self, pipeline_id: str, kind: Literal["rescale", "restore"], target: str, args: Sequence[str]
    ) -> None:
        """Start work on a pipeline's state directory."""

    def chore(self, pipeline_id: str) -> Chore | None:
        """How that work stands; None when there is none."""

    def end_chore(self, pipeline_id: str) -> None:
        """Forget work that has ended."""


@dataclass(frozen=True, slots=True)
class _Work:
    """Work under way and how to tell what came of it."""

    kind: Literal["rescale", "restore"]
    target: str
    process: subprocess.Popen[bytes]
    result: Path


@dataclass(slots=True)
class LocalRunner:
    """Subprocesses in sessions of their own. A lock file for each pipeline admits one driver at a time."""

    places: Places
    command: Sequence[str] = WORKER
    _children: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)
    _chores: dict[str, _Work] = field(default_factory=dict)

    def launch(self, assignment: Assignment) -> Holder:
        """Start a driver in a session of its own, its output going to the run's log."""
        path = self.places.assignment(assignment.pipeline_id, assignment.generation)
        assignment.write(path)
        log = self.places.log(assignment.pipeline_id, assignment.generation)
        child = self._spawn(["run", str(path)], log, _mark(assignment.job_id, assignment.generation))
        self._children[child.pid] = child
        return Holder(pid=child.pid, born=processes.born(child.pid) or "", generation=assignment.generation)

    def find(self, run: Run) -> Holder | None:
        """The process that holds the pipeline's lock, if it is of this run."""
        lock = self.places.driver_lock(run.pipeline_id)
        if not processes.is_locked(lock):
            return None
        try:
            holder = Holder.model_validate_json(lock.read_text())
        except ValidationError:
            return None
        return holder if holder.generation == run.generation else None

    def look(self, run: Run) -> Process:
        """Alive while the recorded process lives; orphaned while only processes it started do."""
        if run.pid is None:
            return Process.GONE
        if (child := self._children.get(run.pid)) is not None:
            child.poll()
        seen = processes.born(run.pid)
        if seen is not None:
            return Process.ALIVE if seen == run.born else Process.GONE
        if not processes.group_is_empty(run.pid) or processes.marked(_mark(run.job_id, run.generation)):
            return Process.ORPHANED
        self._children.pop(run.pid, None)
        return Process.GONE

    def poke(self, run: Run) -> None:
        """Send the signal that a driver which has said hello answers by calling home."""
        if run.pid is not None and run.hello_at is not None and processes.born(run.pid) == run.born:
            os.kill(run.pid, signal.SIGUSR1)

    def kill(self, run: Run) -> None:
        """End the driver and all it has started, unless its pid belongs to somebody else by now."""
        if run.pid is not None and self.look(run) is not Process.GONE:
            processes.kill_group(run.pid)
            processes.kill(processes.marked(_mark(run.job_id, run.generation)))

    def begin_chore(
        self, pipeline_id: str, kind: Literal["rescale", "restore"], target: str, args: Sequence[str]
    ) -> None:
        """Start work that first takes the pipeline's lock, so it never meets a driver."""
        result = self.places.runs(pipeline_id) / "chore.json"
        result.unlink(missing_ok=True)
        lock = str(self.places.driver_lock(pipeline_id))
        child = self._spawn([kind, *args, "--lock", lock, "--result", str(result)], self.places.chore_log(pipeline_id))
        self._chores[pipeline_id] = _Work(kind, target, child, result)

    def chore(self, pipeline_id: str) -> Chore | None:
        """How the work stands, judged by its exit code."""
        work = self._chores.get(pipeline_id)
        if work is None:
            return None
        match work.process.poll():
            case None:
                return Chore(work.kind, work.target, "running")
            case 0:
                return Chore(work.kind, work.target, "done")
            case code:
                return Chore(work.kind, work.target, "failed", _failure(work, code))

    def end_chore(self, pipeline_id: str) -> None:
        """Forget work that has ended."""
        self._chores.pop(pipeline_id, None)

    def _spawn(self, args: Sequence[str], log: Path, mark: str = "") -> subprocess.Popen[bytes]:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            return subprocess.Popen(
                [*self.command, *args],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, processes.MARK: mark},
            )


def _mark(job_id: str, generation: int) -> str:
    """What the processes of a run have in their environment."""
    return f"{job_id}/{generation}"


def _failure(work: _Work, code: int) -> Failure:
    """What the work said of its failure, or its exit code when it said nothing."""
    try:
        said = json.loads(work.result.read_text())
        return Failure(said["code"], said["message"], said.get("hint"))
    except (OSError, ValueError, KeyError):
        return Failure("run.died", f"{work.kind} ended with exit code {code}", "its log has its last words")
