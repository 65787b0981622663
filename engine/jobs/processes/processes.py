"""Processes on this machine, identified by pid and start time, and the memory that is available for more.

the machine       MemAvailable 20 GiB the container     limit 4 GiB, used 3, with 1 of page cache result            2
GiB
"""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO

_PROC = Path("/proc")
MARK = "ARROYO_RUN"
"""Environment variable with the run's name, which all descendants of a driver inherit."""


def born(pid: int) -> str | None:
    """Return the identity of the process with this pid, which distinguishes it from later ones; None if there is none,
    or only a zombie."""
    if not _PROC.is_dir():
        return "" if _exists(pid) else None
    try:
        fields = stat_fields(_PROC / str(pid))
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]


def group_is_empty(group: int) -> bool:
    """Whether no living process is left in a process group."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    if not _PROC.is_dir():
        return False
    return not any(_is_member(int(entry.name), group) for entry in _PROC.iterdir() if entry.name.isdigit())


def kill_group(group: int) -> None:
    """Kill every process of a group; ignore an empty one."""
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def marked(marker: str) -> list[int]:
    """Return the living processes that descend from one with this text in its environment: a process can leave its
    group and session, but not its inherited environment."""
    pids = []
    for entry in _PROC.iterdir() if _PROC.is_dir() else ():
        try:
            if entry.name.isdigit() and f"{MARK}={marker}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                pids.append(int(entry.name))
        except OSError:
            continue
    return pids


def maintenance_mark(pipeline_id: str) -> str:
    """Return the environment mark of the processes that maintain a pipeline's state between runs."""
    return f"maintenance/{pipeline_id}"


def kill(pids: Iterable[int]) -> None:
    """Kill these processes; ignore those that have ended."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def try_lock(path: Path) -> IO[str] | None:
    """Take an exclusive lock that lasts until the file is closed or the process ends; return None if another process
    holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def has_open(pid: int, path: Path) -> bool:
    """Whether a process has a file open, like the holder of a lock. False for one that is gone, or invisible."""
    wanted, folder = str(path.resolve()), _PROC / str(pid) / "fd"
    try:
        return any(os.path.realpath(link) == wanted for link in folder.iterdir())
    except OSError:
        return False


def is_locked(path: Path) -> bool:
    """Whether some process holds the lock."""
    if not path.exists():
        return False
    file = try_lock(path)
    if file is None:
        return True
    file.close()
    return False


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _is_member(pid: int, group: int) -> bool:
    try:
        fields = stat_fields(_PROC / str(pid))
    except OSError:
        return False
    return fields[0] != "Z" and fields[2] == str(group)


def stat_fields(process: Path) -> list[str]:
    """Return the fields of a process from its state on, by its directory below /proc. Its name is left out: it may
    contain anything, and the kernel may truncate it within a character."""
    return (process / "stat").read_bytes().rpartition(b")")[2].decode("ascii").split()


_MOST = 16_384
"""Bytes to read: a log may be larger than the memory."""


def log_tail(log: Path) -> str:
    """Return the end of a log; empty if the log is empty or missing."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _MOST))
            return file.read(_MOST).decode(errors="replace").strip()
    except OSError:
        return ""


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
