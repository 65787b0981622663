"""Describe how a process has ended.

returncode -9, and the kernel's count of out-of-memory kills has increased
"was ended by the kernel, which was out of memory (signal 9)"
"""

from __future__ import annotations

import re
import signal
from pathlib import Path

_COUNTERS = (Path("/sys/fs/cgroup/memory.events"), Path("/proc/vmstat"))
_COUNT = re.compile(r"^oom_kill (\d+)$", re.MULTILINE)


def count_memory_kills() -> int:
    """Count the processes that the kernel has killed for lack of memory; 0 if it does not tell."""
    for counter in _COUNTERS:
        try:
            count = _COUNT.search(counter.read_text())
        except OSError:
            continue
        if count:
            return int(count[1])
    return 0


def describe_ending(returncode: int, memory_kills: int) -> str:
    """Return the rest of a sentence about a process with this exit code; `memory_kills` is how many processes the
    kernel has killed for lack of memory since the start."""
    if returncode >= 0:
        return f"ended with exit code {returncode}"
    number = -returncode
    if number == signal.SIGKILL and memory_kills > 0:
        return "was ended by the kernel, which was out of memory (signal 9)"
    name = signal.Signals(number).name if number in set(signal.Signals) else "unknown"
    return f"was killed by signal {number} ({name})"
