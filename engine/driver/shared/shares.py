"""Attribute resource usage in a shared JVM to drivers.

    in 10 s   Java 4 s of CPU, Spark's workers 2 s         task time: a 3 s, b 1 s
    a         its own threads and tasks in Java: 2.5 s     workers 1.5 s
    b         its own threads and tasks in Java: 0.5 s     workers 0.5 s
    both      memory of Java and of the workers, divided by two

Java counts the usage of its threads and tasks. Workers serve tasks of all drivers, so their usage is divided by task
time. The rest of Java, such as garbage collection, is not attributed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.jobs.processes.process_usage import ProcessRole, ProcessUsage, RunUsage


@dataclass(frozen=True, slots=True)
class InJava:
    """Usage of one driver in the JVM so far: CPU time of its threads and tasks, and its task time."""

    cpu_seconds: float
    task_seconds: float


@dataclass(slots=True)
class Shares:
    """Divides the total usage between two measurements."""

    _workers_before: float = 0.0
    _tasks_before: dict[str, float] = field(default_factory=dict)
    _workers: dict[str, float] = field(default_factory=dict)

    def look(self, workers_cpu: float, drivers: Mapping[str, InJava]) -> None:
        """The CPU time of all workers so far, and what each driver has used that is there."""
        ran = {name: max(0.0, used.task_seconds - self._tasks_before.get(name, 0.0)) for name, used in drivers.items()}
        fresh, total = max(0.0, workers_cpu - self._workers_before), sum(ran.values())
        for name, seconds in ran.items():
            share = fresh * seconds / total if total else fresh / len(ran)
            self._workers[name] = self._workers.get(name, 0.0) + share
        self._workers_before = max(workers_cpu, self._workers_before)
        self._tasks_before = {name: used.task_seconds for name, used in drivers.items()}
        self._workers = {name: seconds for name, seconds in self._workers.items() if name in drivers}

    def of(self, name: str, used: InJava, together: RunUsage, count: int) -> dict[ProcessRole, ProcessUsage]:
        """Return the share of one of `count` drivers."""
        memory = {role: usage.memory_bytes // max(count, 1) for role, usage in together.items()}
        return {
            "java": ProcessUsage(used.cpu_seconds, memory.get("java", 0)),
            "workers": ProcessUsage(self._workers.get(name, 0.0), memory.get("workers", 0)),
        }
