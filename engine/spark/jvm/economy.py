"""JVM options that reduce the overhead of a JVM.

A driver has one or two tasks and a small heap, and does a little work several times a second, for days. Java's defaults
suit the opposite: they compile early and aggressively, and collect garbage in several parallel threads.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_TASKS = re.compile(r"local(?:\[(\d+)(?:,\s*\d+)?\])?")
_MEMORY = re.compile(r"(\d+)([kmgt]?)", re.IGNORECASE)
_BYTES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_MOST_TASKS = 2
_MOST_BYTES = 4 * 2**30
"""Largest heap for one garbage collector thread, which scans it in a second or two. A larger heap gets Java's
default."""

_LATE = ("Invocation", 50_000), ("MinInvocation", 6_000), ("Compile", 150_000), ("BackEdge", 400_000)
"""Ten times Java's default call and loop counts before the optimising compiler compiles a method. Methods that process
rows reach them within seconds; methods that run a few times per epoch reach them late or never."""
_RARE = ("Invocation", 2_000), ("MinInvocation", 1_000), ("Compile", 20_000), ("BackEdge", 600_000)
"""Counts before the profiling compiler (C1) compiles a method. Most methods that a start calls a few hundred times are
not called again."""


def economy_options(*, master: str, memory: str, quick: bool) -> Sequence[str]:
    """Return the options of a JVM with that Spark master, and with this much heap."""
    if quick:
        return ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    late = [
        f"-XX:Tier{tier}{name}Threshold={count}" for tier, kinds in ((3, _RARE), (4, _LATE)) for name, count in kinds
    ]
    return [*late, "-XX:+UseSerialGC"] if _is_small(master, memory) else late


def _is_small(master: str, memory: str) -> bool:
    tasks, amount = _TASKS.fullmatch(master), _MEMORY.fullmatch(memory)
    if tasks is None or amount is None:
        return False
    return int(tasks[1] or 1) <= _MOST_TASKS and int(amount[1]) * _BYTES[amount[2].lower()] <= _MOST_BYTES
