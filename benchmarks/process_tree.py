"""CPU and memory of a process and of all below it, those that have ended included.

The kernel adds the CPU of a child that has ended to its parent's only if the parent waits for it. Spark's Python daemon
ignores SIGCHLD, so nobody waits for its workers, and a sum over what is alive forgets them:

    first look     daemon 2.0 s, of children waited for 0.0     worker 1.5 s     in all 3.5 s
    second look    daemon 2.1 s, of children waited for 0.0     (gone)           in all 2.1 s?

So each process that has gone is compared with what its parent has got for it; what nobody got is kept here, and the
second look says 3.6 s. What a process uses between the last look at it and its end is lost unless it is waited for, so
a measurement looks every 50 ms.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
INTERVAL = 0.05
_LOOKS_TO_A_WEIGHING = 20
"""Memory is weighed once a second: that takes the kernel some milliseconds for each gigabyte."""

_KINDS = {"planner": "python", "workers": "python", "daemon": "python"}
"""Spark's Python processes say what they are there for."""

Key = tuple[int, int]
"""A process: its number and when it started, since numbers come again."""


@dataclass(frozen=True, slots=True)
class Process:
    """What a look has shown of a process: its own seconds, and those of its children that it has waited for."""

    parent: int
    kind: str
    seconds: float
    waited: float


@dataclass(slots=True, eq=False)
class ProcessTree:
    """A process and all that it has ever started, directly or not."""

    root: int
    peak_megabytes: float = 0.0
    _alive: dict[Key, Process] = field(default_factory=dict)
    _lost: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    _strangers: set[int] = field(default_factory=set)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def cpu_seconds(self) -> float:
        """The CPU that all of it has used so far."""
        return sum(self.cpu_by_kind().values())

    def cpu_by_kind(self) -> Mapping[str, float]:
        """The same by kind of process: the `root`, `java`, and what else there is by its name."""
        with self._guard:
            self._look()
            seconds = defaultdict(float, self._lost)
            for process in self._alive.values():
                seconds[process.kind] += process.seconds + process.waited
            return dict(seconds)

    def weigh(self) -> None:
        """Remember how much memory it holds, if that is the most so far. Pages that are shared count once."""
        with self._guard:
            held = sum(_megabytes(number) for number, _ in self._alive)
        self.peak_megabytes = max(self.peak_megabytes, held)

    def numbers(self) -> frozenset[int]:
        """The numbers of those that are alive."""
        self.cpu_by_kind()
        with self._guard:
            return frozenset(number for number, _ in self._alive)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Look at it all the time, in a thread of its own."""
        is_over = threading.Event()

        def look_on() -> None:
            looks = 0
            while not is_over.wait(INTERVAL):
                self.cpu_by_kind()
                if looks % _LOOKS_TO_A_WEIGHING == 0:
                    self.weigh()
                looks += 1

        thread = threading.Thread(target=look_on, daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()

    def _look(self) -> None:
        numbers = {int(name) for name in os.listdir("/proc") if name.isdigit()}  # noqa: PTH208 - half the time of a Path
        read = {number: process for number in numbers - self._strangers if (process := _read(number, self.root))}
        alive = {key: process for key, process in read.values() if key in self._alive or key[0] == self.root}
        members = {number for number, _ in alive}
        new = {number: pair for number, pair in read.items() if number not in members}
        while joining := [number for number, (_, process) in new.items() if process.parent in members]:
            alive.update(new.pop(number) for number in joining)
            members.update(joining)
        self._strangers = (self._strangers & numbers) | new.keys()
        self._account(alive)
        self._alive = alive

    def _account(self, alive: Mapping[Key, Process]) -> None:
        """Keep what those that have gone had used, unless a parent has got it."""
        gone = {key: process for key, process in self._alive.items() if key not in alive}
        below: defaultdict[int, float] = defaultdict(float)
        got = {key[0]: alive[key].waited - process.waited for key, process in self._alive.items() if key in alive}
        gone_numbers = {number for number, _ in gone}
        # the youngest first, so that a process comes after its children
        for key, process in sorted(gone.items(), key=lambda item: item[0][1], reverse=True):
            used = process.seconds + process.waited + below.pop(key[0], 0.0)
            if process.parent in gone_numbers:
                below[process.parent] += used
                continue
            passed_on = min(used, max(got.get(process.parent, 0.0), 0.0))
            if process.parent in got:
                got[process.parent] -= passed_on
            self._lost[process.kind] += used - passed_on


def _read(number: int, root: int) -> tuple[Key, Process] | None:
    try:
        head, _, tail = Path(f"/proc/{number}/stat").read_text(errors="replace").rpartition(")")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = tail.split()
    own, waited = (sum(map(int, fields[first : first + 2])) / _TICKS for first in (11, 13))
    name = head.partition("(")[2]
    kind = "root" if number == root else _KINDS.get(name, name)
    return (number, int(fields[19])), Process(int(fields[1]), kind, own, waited)


def _megabytes(number: int) -> float:
    try:
        lines = Path(f"/proc/{number}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)
