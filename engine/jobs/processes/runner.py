"""Run drivers, and maintenance between runs, as processes on this machine that outlive the control plane.

State of a run's process, as `look` reports it:

    pid 400, born 17:02 exists                alive
    a pid 400 exists, but born 18:30          gone: the pid was reused
    no pid 400, a JVM of its group exists     orphaned
    no process with its group or its mark     gone

A restarted control plane has no child processes: it identifies them by pid and start time. A JVM may have left the
group and the session of its driver; but it has inherited the environment with the run's mark.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import IO, Protocol, assert_never

from pydantic import BaseModel, ConfigDict, ValidationError

from engine.checkpoints.layout import StatePaths
from engine.delivery.faults import reach
from engine.errors import DiskFullError
from engine.jobs.decisions.observe import Maintenance, MaintenanceTask, Process, Repartition, RestoreSavepoint
from engine.jobs.decisions.status import Failure, Run, failure_of, read_cause
from engine.jobs.disk import DataDirectory, size_of
from engine.jobs.fault_points import ControlPoint
from engine.jobs.processes import processes
from engine.jobs.processes.assignment import Assignment
from engine.jobs.processes.driver_environment import driver_environment
from engine.jobs.processes.forked_drivers import ForkedDriver, ForkedDrivers
from engine.jobs.processes.rehearsal_processes import Liveness
from engine.jobs.processes.spares import SpareDrivers
from engine.values.process_endings import count_memory_kills, describe_ending

DRIVER_COMMAND = (sys.executable, "-m", "engine.driver.main")
NO_ROOM = 5
"""Exit code of maintenance that could not even write its error, because the disk is full."""


class Holder(BaseModel):
    """Identity of the process that holds a pipeline's lock, from the lock file."""

    model_config = ConfigDict(frozen=True)

    pid: int
    born: str
    generation: int

    def write(self, lock: IO[str]) -> None:
        """Record the holder in the lock file."""
        lock.seek(0)
        lock.truncate()
        lock.write(self.model_dump_json())
        lock.flush()


class Runner(Protocol):
    """Starts processes for a pipeline, and reports their state."""

    def launch(self, assignment: Assignment) -> Holder:
        """Start a driver, which continues when this process ends."""

    def find(self, run: Run) -> Holder | None:
        """Return the process of a run whose start was interrupted before its pid was recorded; None if there is
        none."""

    def look(self, run: Run) -> Process:
        """Return the status of a run's process."""

    def ending(self, run: Run) -> str | None:
        """Return how a run's process has ended, as the rest of a sentence after `the driver`; None if unknown."""

    def poke(self, run: Run) -> None:
        """Make the driver report to the control plane now."""

    def kill(self, run: Run) -> None:
        """Kill every process of a run."""

    def begin_maintenance(self, pipeline_id: str, task: MaintenanceTask) -> None:
        """Start maintenance of a pipeline's state directory."""

    def maintenance(self, pipeline_id: str) -> Maintenance | None:
        """Return the status of the maintenance; None if there is none."""

    def kill_maintenance(self, pipeline_id: str, failure: Failure) -> None:
        """Kill every process of the maintenance, which counts as failed for that reason once they are gone."""

    def end_maintenance(self, pipeline_id: str) -> None:
        """Forget maintenance that has ended."""


@dataclass(frozen=True, slots=True)
class _Work:
    """Running maintenance, and how to get its result."""

    task: MaintenanceTask
    process: subprocess.Popen[bytes]
    result: Path
    liveness: Liveness
    size: int
    """Size of the state, in bytes."""
    failure: Failure | None = None
    """Reason why it was killed."""


@dataclass(slots=True)
class LocalRunner:
    """Child processes in sessions of their own. A lock file per pipeline permits one driver at a time."""

    directory: DataDirectory
    command: Sequence[str] = DRIVER_COMMAND
    inherited: Sequence[str] = ()
    """Additional inherited variables of drivers."""
    spares: SpareDrivers | None = None
    """Spares, which can become drivers at once."""
    forks: ForkedDrivers | None = None
    """Forks the drivers of pipelines with a shared JVM."""
    work_limit: timedelta = timedelta(minutes=5)
    """Time without progress after which maintenance counts as hanging."""
    _children: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)
    _forked: dict[int, ForkedDriver] = field(default_factory=dict)
    _memory_kills: dict[int, int] = field(default_factory=dict)
    """Number of processes that the kernel had killed for lack of memory when a child was started."""
    _endings: dict[str, tuple[int, str]] = field(default_factory=dict)
    """How the newest run of a job has ended, if it was a child."""
    _work: dict[str, _Work] = field(default_factory=dict)
    _cleared: set[str] = field(default_factory=set)
    """Pipelines whose state no process of an earlier control plane uses any longer."""

    def launch(self, assignment: Assignment) -> Holder:
        """Start a driver in a session of its own; its output goes to the run's log."""
        self._end_work_of_predecessors(assignment.pipeline_id)
        path = self.directory.assignment(assignment.pipeline_id, assignment.generation)
        assignment.write(path)
        reach(ControlPoint.AFTER_ASSIGNMENT)
        self._endings.pop(assignment.job_id, None)
        log = self.directory.log(assignment.pipeline_id, assignment.generation)
        script = f"{assignment.query}\n{assignment.connections}"
        environment = driver_environment(os.environ, self.inherited, script, assignment.secrets)
        memory_kills = count_memory_kills()
        pid = self._started(assignment, path, log, environment)
        self._memory_kills[pid] = memory_kills
        return Holder(pid=pid, born=processes.born(pid) or "", generation=assignment.generation)

    def _started(self, assignment: Assignment, path: Path, log: Path, environment: Mapping[str, str]) -> int:
        """Return the process of a driver: a spare, a fork, or a new process."""
        marked = {**environment, processes.MARK: _mark(assignment.job_id, assignment.generation)}
        child = self._spare(assignment, path, log, environment)
        if child is None and self.forks is not None and assignment.settings.is_shared:
            forked = self.forks.fork(path, log, marked)
            if forked is not None:
                self._forked[forked.pid] = forked
                return forked.pid
        if child is None:
            child = self._spawn(["run", str(path)], log, marked)
        self._children[child.pid] = child
        return child.pid

    def _spare(
        self, assignment: Assignment, path: Path, log: Path, environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes] | None:
        """Turn a spare into the run's driver, and return its process. The mark of its processes is recorded first, so
        that they are found again after a crash."""
        spare = None if self.spares is None else self.spares.take(assignment)
        if spare is None:
            return None
        mark = self.directory.mark(assignment.pipeline_id, assignment.generation)
        try:
            mark.write_text(spare.mark)
        except OSError:
            spare.forget()
            raise
        if not spare.hand_over(path, log, environment):
            mark.unlink()
            return None
        return spare.process

    def _mark_of(self, run: Run) -> str:
        """Return the environment mark of a run's processes."""
        try:
            return self.directory.mark(run.pipeline_id, run.generation).read_text()
        except FileNotFoundError:
            return _mark(run.job_id, run.generation)

    def find(self, run: Run) -> Holder | None:
        """Return the process that holds the pipeline's lock, if it belongs to this run."""
        lock = self.directory.driver_lock(run.pipeline_id)
        if not processes.is_locked(lock):
            return None
        try:
            holder = Holder.model_validate_json(lock.read_text())
        except ValidationError:
            return None
        return holder if holder.generation == run.generation else None

    def look(self, run: Run) -> Process:
        """Return the status of a run's process: alive while the recorded process lives, orphaned while only its child
        processes do."""
        if run.pid is None:
            return Process.GONE
        birth = processes.born(run.pid)
        if birth is not None:
            return Process.ALIVE if birth == run.born else Process.GONE
        self._note_ending(run)
        if not processes.group_is_empty(run.pid) or processes.marked(self._mark_of(run)):
            return Process.ORPHANED
        self._children.pop(run.pid, None)
        self._forked.pop(run.pid, None)
        return Process.GONE

    def _note_ending(self, run: Run) -> None:
        pid = run.pid or 0
        child = self._children.get(pid) or self._forked.get(pid)
        if child is not None and (code := child.poll()) is not None:
            kills = count_memory_kills() - self._memory_kills.pop(child.pid, 0)
            self._endings.setdefault(run.job_id, (run.generation, describe_ending(code, kills)))

    def ending(self, run: Run) -> str | None:
        """Return how the run has ended, if it was a child of this process."""
        generation, text = self._endings.get(run.job_id, (None, None))
        return text if generation == run.generation else None

    def poke(self, run: Run) -> None:
        """Send the signal to which a driver that has registered answers with a report."""
        if run.pid is not None and run.hello_at is not None and processes.born(run.pid) == run.born:
            os.kill(run.pid, signal.SIGUSR1)

    def kill(self, run: Run) -> None:
        """Kill the driver and its descendants, unless another process has its pid by now."""
        if run.pid is not None and self.look(run) is not Process.GONE:
            processes.kill_group(run.pid)
            processes.kill(processes.marked(self._mark_of(run)))

    def begin_maintenance(self, pipeline_id: str, task: MaintenanceTask) -> None:
        """Start maintenance, which first takes the pipeline's lock, so it never runs beside a driver."""
        self._end_work_of_predecessors(pipeline_id)
        result = self.directory.maintenance_result(pipeline_id)
        result.unlink(missing_ok=True)
        lock = str(self.directory.driver_lock(pipeline_id))
        args = [*self._arguments(pipeline_id, task), "--lock", lock, "--result", str(result)]
        environment = {
            **driver_environment(os.environ, self.inherited),
            processes.MARK: processes.maintenance_mark(pipeline_id),
        }
        size = size_of(self._worked_on(pipeline_id, task))
        child = self._spawn(args, self.directory.maintenance_log(pipeline_id), environment)
        self._work[pipeline_id] = _Work(task, child, result, Liveness(child.pid, self.work_limit), size)

    def _end_work_of_predecessors(self, pipeline_id: str) -> None:
        """End maintenance that an earlier control plane has started: it is restarted, or no longer wanted. It may hang
        and hold the lock; wherever it is ended, the state is whole."""
        if pipeline_id not in self._cleared:
            processes.kill(processes.marked(processes.maintenance_mark(pipeline_id)))
            self._cleared.add(pipeline_id)

    def maintenance(self, pipeline_id: str) -> Maintenance | None:
        """Return the status of the maintenance by its exit code; it has ended when none of its processes is alive."""
        work = self._work.get(pipeline_id)
        if work is None:
            return None
        code = work.process.poll()
        if code is None:
            liveness = work.liveness
            return Maintenance(work.task, "running", None, liveness.stillness(), liveness.age(), work.size)
        if descendants := processes.marked(processes.maintenance_mark(pipeline_id)):
            processes.kill(descendants)
            return Maintenance(work.task, "running")
        if code == 0:
            return Maintenance(work.task, "done")
        return Maintenance(work.task, "failed", work.failure or _failure(work, code))

    def kill_maintenance(self, pipeline_id: str, failure: Failure) -> None:
        """Kill the process and its descendants."""
        work = self._work[pipeline_id]
        self._work[pipeline_id] = replace(work, failure=failure)
        processes.kill_group(work.process.pid)
        processes.kill(processes.marked(processes.maintenance_mark(pipeline_id)))

    def end_maintenance(self, pipeline_id: str) -> None:
        """Forget maintenance that has ended."""
        self._work.pop(pipeline_id, None)

    def _worked_on(self, pipeline_id: str, task: MaintenanceTask) -> Path:
        """Return the directory that the maintenance reads."""
        if isinstance(task, RestoreSavepoint):
            return self.directory.savepoint(task.restore.of_pipeline or pipeline_id, task.restore.savepoint_id)
        return StatePaths(self.directory.state(pipeline_id)).checkpoint

    def _arguments(self, pipeline_id: str, task: MaintenanceTask) -> list[str]:
        """Return the driver arguments for the maintenance."""
        state = str(self.directory.state(pipeline_id))
        match task:
            case Repartition(parallelism):
                return ["rescale", state, str(parallelism)]
            case RestoreSavepoint(restore):
                savepoint = str(self.directory.savepoint(restore.of_pipeline or pipeline_id, restore.savepoint_id))
                replay = ["--allow-replay"] if restore.allow_replay else []
                save_as = [] if restore.save_as is None else ["--save-as", restore.save_as]
                fork = [] if restore.of_pipeline is None else ["--fork"]
                return ["restore", savepoint, state, *replay, *save_as, *fork]
            case never:
                assert_never(never)

    def _spawn(self, args: Sequence[str], log: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            return subprocess.Popen(
                [*self.command, *args],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=environment,
            )


def _mark(job_id: str, generation: int) -> str:
    """Return the environment mark of the processes that were started for a run."""
    return f"{job_id}/{generation}"


def _failure(work: _Work, code: int) -> Failure:
    """Return the failure that the maintenance reported, or its exit code if it reported none."""
    try:
        error = json.loads(work.result.read_text())
        return Failure(error["code"], error["message"], error.get("hint"), read_cause(error.get("cause")))
    except (OSError, ValueError, KeyError):
        if code == NO_ROOM:
            full = f"{work.result.parent} cannot be written: {os.strerror(errno.ENOSPC)}"
            return failure_of(DiskFullError(full, hint="free space on the disk; nothing is lost"))
        verb = "rescale" if isinstance(work.task, Repartition) else "restore"
        return Failure("run.died", f"{verb} ended with exit code {code}", "its log shows its last words")
