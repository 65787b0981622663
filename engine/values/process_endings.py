"""Describe how a process has ended.

returncode -9, and the kernel's count of out-of-memory kills has increased
"was ended by the kernel, which was out of memory (signal 9)"

Serialise starts of processes, and prevent them once this process is ending its child processes.

    one thread       looks for child processes to end          ends this process
    another thread         starts Java, which the first has not seen

Such a JVM would start, find that it is not needed, and write its class archive before it exits.
"""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
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


_PATIENCE = 10.0
"""Seconds for which a start may delay the end: a start on a hanging disk is not waited for."""
_guard = threading.Lock()


@contextmanager
def starting_process() -> Iterator[None]:
    """Mark that a process is started in the context."""
    with _guard:
        yield


def start_none_any_more() -> None:
    """Wait until no process is being started. Whoever wants to start one afterwards waits until this process ends."""
    _guard.acquire(timeout=_PATIENCE)


SMALL_SCRIPT = """
CREATE TABLE ticks WITH (connector = 'impulse', event_rate = '1');
CREATE TABLE out WITH (connector = 'single_file', path = '/nowhere', format = 'json', type = 'sink');
INSERT INTO out SELECT counter % 8 AS k, tumble(INTERVAL '1 second') AS w, count(*) AS n FROM ticks GROUP BY k, w;
"""
