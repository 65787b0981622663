"""What processes have used up to some moments, told from outside, by kind of process."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.served import MARK

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Moment:
    """What had been used when something was seen to have happened: seconds, and CPU seconds by kind of process."""

    seconds: float
    cpu: Mapping[str, float]
    processes: Mapping[str, int]

    @property
    def total(self) -> float:
        """CPU seconds of all."""
        return sum(self.cpu.values())


@dataclass(slots=True)
class Meter:
    """The CPU of the processes that have a mark in their environment; what ends is counted as it was last seen."""

    mark: str
    _kinds: dict[tuple[int, str], str | None] = field(default_factory=dict)
    _used: dict[tuple[int, str], float] = field(default_factory=dict)

    def look(self) -> None:
        """See what they have used."""
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with suppress(OSError):
                    self._see(entry)

    def _see(self, entry: Path) -> None:
        fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
        process = (int(entry.name), fields[19].decode())
        command = (entry / "cmdline").read_bytes() if self._kinds.get(process, "") is not None else b""
        if process not in self._kinds:
            is_marked = f"{MARK}={self.mark}".encode() in (entry / "environ").read_bytes().split(b"\0")
            if not command:  # it is just being started
                return
            self._kinds[process] = "" if is_marked else None
        if self._kinds[process] is not None:
            if command:  # a process that was forked becomes another program, and one that has ended none
                self._kinds[process] = _kind(command)
            self._used[process] = sum(map(int, fields[11:13])) / _TICKS

    def moment(self, seconds: float, before: Mapping[tuple[int, str], float]) -> Moment:
        """What they have used beyond what was before."""
        cpu, processes = dict[str, float](), Counter[str]()
        for process, used in self._used.items():
            kind, more = self._kinds[process] or "", used - before.get(process, 0.0)
            if more > 0:
                cpu[kind] = cpu.get(kind, 0.0) + more
                processes[kind] += 1
        return Moment(seconds, cpu, processes)

    def used(self) -> Mapping[tuple[int, str], float]:
        """What each has used so far."""
        return dict(self._used)


def _kind(command: bytes) -> str:
    parts = command.split(b"\0")
    if parts[0].endswith(b"java"):
        return "java"
    if any(part.startswith((b"engine.spark.", b"pyspark.")) for part in parts):
        return "workers"
    return "server" if b"serve" in parts else "arroyo"
