"""Resource usage of a run's processes, from /proc.

    200 driver         12 s   90 MiB       driver    12 s    90 MiB
      201 java         80 s  700 MiB       java      80 s   700 MiB
        202 daemon      1 s   20 MiB
          203 worker   30 s   40 MiB       workers   31 s    60 MiB, plus the usage of ended workers

Memory that forked workers share counts once, if the kernel reports it. Unknown figures are omitted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from engine.jobs.processes import processes

ProcessRole: TypeAlias = Literal["driver", "java", "workers"]
"""The driver, its JVM, and the JVM's Python processes."""
FORKS_WORKERS = b"engine.spark.workers.fork_server"
"""Server that a driver starts besides Java: Spark's Python processes are its forks."""
_TICKS = float(os.sysconf("SC_CLK_TCK"))
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class ProcessUsage:
    """CPU time of processes since the run began, and their current memory."""

    cpu_seconds: Annotated[float, Field(ge=0, allow_inf_nan=False, description="CPU time since the run began.")]
    memory_bytes: Annotated[int, Field(ge=0, lt=2**63, description="Resident memory.")]


RunUsage: TypeAlias = Mapping[ProcessRole, ProcessUsage]
"""Resource usage of a run, by role."""


class SharedWith(BaseModel):
    """A JVM that a run shares with other pipelines."""

    model_config = ConfigDict(frozen=True)

    pid: int = Field(description="The number of its process.")
    drivers: int = Field(description="How many pipelines share it.")


class SharedJava(SharedWith):
    """A shared JVM, with the usage of this run."""

    usage: dict[ProcessRole, ProcessUsage]


def together(own: RunUsage, shared: RunUsage) -> RunUsage:
    """Add a run's share of shared processes to its own use."""
    roles = [*own, *(role for role in shared if role not in own)]
    return {role: _sum(own.get(role, _NOTHING), shared.get(role, _NOTHING)) for role in roles}


def _sum(one: ProcessUsage, other: ProcessUsage) -> ProcessUsage:
    return ProcessUsage(one.cpu_seconds + other.cpu_seconds, one.memory_bytes + other.memory_bytes)


_NOTHING = ProcessUsage(0.0, 0)


@dataclass(frozen=True, slots=True)
class _Process:
    pid: int
    parent: int
    cpu: float
    cpu_of_ended: float
    """CPU time of ended children that it has waited for."""
    pages: int


@dataclass(slots=True)
class UsageMeter:
    """Measures a process and all its descendants repeatedly."""

    pid: int = field(default_factory=os.getpid)
    proc: Path = Path("/proc")
    _cpu_before: dict[ProcessRole, float] = field(default_factory=dict)

    def measure(self) -> RunUsage:
        """Measure the current use. CPU time never decreases, even if an ended process was never reaped."""
        cpu: dict[ProcessRole, float] = {}
        memory: dict[ProcessRole, int] = {}
        for role, process in self._roles():
            cpu[role] = cpu.get(role, 0.0) + process.cpu
            of_ended: ProcessRole = "workers" if role == "java" else role
            if process.cpu_of_ended:
                cpu[of_ended] = cpu.get(of_ended, 0.0) + process.cpu_of_ended
            memory[role] = memory.get(role, 0) + self._memory(process)
        self._cpu_before.update({role: max(cpu[role], self._cpu_before.get(role, 0.0)) for role in cpu})
        return {role: ProcessUsage(self._cpu_before[role], memory[role]) for role in memory}

    def _roles(self) -> Iterator[tuple[ProcessRole, _Process]]:
        """Yield the process and its descendants, with the role of each in the run."""
        children: dict[int, list[_Process]] = {}
        root = None
        for process in self._all():
            children.setdefault(process.parent, []).append(process)
            root = process if process.pid == self.pid else root
        waiting: list[tuple[ProcessRole, _Process]] = [] if root is None else [("driver", root)]
        while waiting:
            role, process = waiting.pop()
            yield role, process
            waiting += [(self._role(child, role), child) for child in children.get(process.pid, ())]

    def _role(self, process: _Process, parent: ProcessRole) -> ProcessRole:
        if parent != "driver":
            return "workers"
        if is_java(process.pid, self.proc):
            return "java"
        return "workers" if self._forks_workers(process.pid) else "driver"

    def _forks_workers(self, pid: int) -> bool:
        try:
            return FORKS_WORKERS in (self.proc / str(pid) / "cmdline").read_bytes().split(b"\0")
        except OSError:
            return False

    def _all(self) -> Iterator[_Process]:
        for entry in self.proc.iterdir() if self.proc.is_dir() else ():
            process = _read(entry) if entry.name.isdigit() else None
            if process is not None:
                yield process

    def _memory(self, process: _Process) -> int:
        """Return its share of the pages that it has, or all of them if the kernel does not report the share."""
        try:
            lines = (self.proc / str(process.pid) / "smaps_rollup").read_text().splitlines()
        except OSError:
            lines = []
        share = next((line.split()[1] for line in lines if line.startswith("Pss:")), None)
        return process.pages * _PAGE if share is None else int(share) * 1024


def _read(entry: Path) -> _Process | None:
    """Return the process of that directory; None if it has ended."""
    try:
        fields = processes.stat_fields(entry)
    except OSError:
        return None
    user, system, user_of_ended, system_of_ended = map(int, fields[11:15])
    return _Process(
        pid=int(entry.name),
        parent=int(fields[1]),
        cpu=(user + system) / _TICKS,
        cpu_of_ended=(user_of_ended + system_of_ended) / _TICKS,
        pages=int(fields[21]),
    )


def is_java(pid: int, proc: Path = Path("/proc")) -> bool:
    """Whether the process is a JVM."""
    try:
        return (proc / str(pid) / "exe").readlink().name == "java"
    except OSError:
        return False
