"""Record of the shared JVM in which a driver works, next to its lock, while work of the driver may be left in it.

    a driver registers          runs/pl_1/java    {"pid": 4711, "born": "88123"}
    the host has drained it     runs/pl_1/java    is removed; then the host releases the lock
    both are killed             runs/pl_1/java    stays: the next holder of the lock kills that JVM first

A JVM whose host was killed ends by itself, but continues all queries for a while. So code that copies or removes a
pipeline's files checks `is_at_work`, in addition to the lock.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError

from engine.jobs.processes import processes

Birth: TypeAlias = tuple[int, str | None]
"""Pid and start time of a process."""
_LOOK = 0.05


class _UnleftJava(BaseModel):
    model_config = ConfigDict(frozen=True)

    pid: int
    born: str | None


def note_java(lock: Path, pid: int) -> None:
    """Record that the holder of the lock may have work in that JVM from now on."""
    _record(lock).write_text(_UnleftJava(pid=pid, born=processes.born(pid)).model_dump_json())


def forget_java(lock: Path) -> None:
    """Record that no work is left in the JVM. The caller still holds the lock."""
    _record(lock).unlink(missing_ok=True)


def end_stale_jvms(lock: Path) -> None:
    """Kill the JVM that may still work for the previous holder of the lock, which the caller holds now."""
    with suppress(FileNotFoundError):
        content = _record(lock).read_text()
        with suppress(ValidationError):  # its writer was killed before it accepted any tenant
            java = _UnleftJava.model_validate_json(content)
            end_now([(java.pid, java.born)])
        forget_java(lock)


def is_at_work(lock: Path) -> bool:
    """Whether a process holds the lock. If none does, a JVM that may still work for the previous holder is killed
    first."""
    if not lock.exists():
        return False
    if (held := processes.try_lock(lock)) is None:
        return True
    with held:
        end_stale_jvms(lock)
    return False


def end_now(births: Iterable[Birth]) -> None:
    """Kill these processes, and wait until they are gone."""
    births = list(births)
    while left := [pid for pid, birth in births if birth is not None and processes.born(pid) == birth]:
        processes.kill(left)
        time.sleep(_LOOK)


def _record(lock: Path) -> Path:
    return lock.with_name("java")
