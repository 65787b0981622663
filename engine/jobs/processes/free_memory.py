"""Available memory, according to the kernel.

the machine       MemAvailable 20 GiB
the container     limit 4 GiB, used 3, with 1 of page cache
result            2 GiB
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

_CONTAINERS = (
    ("memory.max", "memory.current", "memory.stat", "inactive_file"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat", "total_inactive_file"),
)
"""Files with the limit and the usage, for both versions of control groups."""


def known_free_memory(proc: Path = Path("/proc"), groups: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Return the free bytes; None if the kernel does not report them."""
    try:
        _figure(proc / "meminfo", "MemAvailable:")
    except (OSError, ValueError):
        return None
    return free_memory(proc, groups)


def free_memory(proc: Path = Path("/proc"), groups: Path = Path("/sys/fs/cgroup")) -> int:
    """Return the free bytes; 0 if the kernel does not report them."""
    free = 0
    with suppress(OSError, ValueError):
        free = _figure(proc / "meminfo", "MemAvailable:") * 1024
    for limit, held, figures, droppable in _CONTAINERS:
        with suppress(OSError, ValueError):  # without a limit it is no number, and there is no file
            room = int((groups / limit).read_text()) - int((groups / held).read_text())
            free = min(free, room + _figure(groups / figures, droppable))
    return max(free, 0)


def _figure(path: Path, name: str) -> int:
    for line in path.read_text().splitlines():
        words = line.split()
        if words[0] == name:
            return int(words[1])
    raise ValueError(name)
