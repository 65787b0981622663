"""Whether the processes of some work come on, as /proc has it.

a limit of 300 s, so that 3 s of CPU time or 1 MiB read and written count as coming on

    0 s      java 2.1 s, 40 MiB
    1 s      java 2.9 s, 55 MiB      it comes on: still for 0 s
    240 s    java 3.3 s, 55 MiB      still for 239 s: a JVM without work takes a little, too
    400 s    all are stopped         still for 399 s
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from engine.jobs.processes import processes

_TICKS = float(os.sysconf("SC_CLK_TCK"))
_SHARE = 0.01
"""The share of a core that is work: a JVM that has none takes less, and who gets less is on a machine that is lost."""
_BYTES = 1024 * 1024
_INTERVAL = 1.0
"""Seconds between two looks: each reads a small file for every process of the machine."""
_TRANSFERS = ("rchar", "wchar")


@dataclass(frozen=True, slots=True)
class Effort:
    """What processes have done so far."""

    cpu_seconds: float = 0.0
    transferred: int = 0
    """Bytes that were read and written."""


@dataclass(slots=True)
class Liveness:
    """Looks at a process and all that it has started, again and again."""

    pid: int
    limit: timedelta
    """Work that does not come on for so long hangs."""
    clock: Callable[[], float] = time.monotonic
    proc: Path = Path("/proc")
    _effort: Effort = field(default=Effort(), init=False)
    """What they had done when they came on last."""
    _moved_at: float = field(init=False)
    _looked_at: float = field(init=False)
    _begun_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._begun_at = self._moved_at = self._looked_at = self.clock()

    def age(self) -> timedelta:
        """The time since the work was begun. Who computes in circles comes on for ever, so it has an end, too."""
        return timedelta(seconds=self.clock() - self._begun_at)

    def stillness(self) -> timedelta:
        """The time since they came on last. A machine without /proc cannot tell, and says that they do."""
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
