"""Files that a driver leaves next to its assignment for the control plane: an exit message that was not acknowledged,
and a record of the shared JVM in which it worked.

The control plane reads it once the driver is gone, so that a job that finished meanwhile is not restarted.

Version of the protocol between drivers and control plane. A driver outlives its control plane, and the next one may
be of another version.

    driver says 2, control plane speaks 1 and 2      adopted: it continues
    driver sends no version: it is an old one        1
    driver says 1, control plane speaks 2 and 3      stopped after its epoch, and restarted with the current version
    driver says 3, control plane speaks 1 and 2      adopted: unknown fields are ignored

After an incompatible change of the protocol, raise `WIRE`; `OLDEST_WIRE` follows one release later. Even a driver
that is too old understands a stop command.

Record of the shared JVM in which a driver works, next to its lock, while work of the driver may be left in it.

    a driver registers          runs/pl_1/java    {"pid": 4711, "born": "88123"}
    the host has drained it     runs/pl_1/java    is removed; then the host releases the lock
    both are killed             runs/pl_1/java    stays: the next holder of the lock kills that JVM first

A JVM whose host was killed ends by itself, but continues all queries for a while. So code that copies or removes a
pipeline's files checks `is_at_work`, in addition to the lock.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError

from engine.delivery.durable import replace_durably
from engine.jobs.processes import processes

LOG = logging.getLogger(__name__)


def leave_goodbye(lock: Path, generation: int, body: Mapping[str, object]) -> None:
    """Write down an exit message that could not be delivered; if that fails, it is lost."""
    try:
        replace_durably(_path(lock, generation), json.dumps(body).encode())
    except OSError as error:
        LOG.warning("the last word cannot be left behind: %s", error)


def left_goodbye(lock: Path, generation: int) -> object | None:
    """Return the exit message that a run left behind; None if there is none that can be read."""
    try:
        content: object = json.loads(_path(lock, generation).read_text())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        LOG.warning("the last word of run %s cannot be read: %s", generation, error)
        return None
    return content


def forget_goodbye(lock: Path, generation: int) -> None:
    """Delete an exit message that was delivered."""
    try:
        _path(lock, generation).unlink(missing_ok=True)
    except OSError as error:
        LOG.warning("the last word of run %s, which was heard, cannot be removed: %s", generation, error)


def _path(lock: Path, generation: int) -> Path:
    return lock.with_name(f"{generation:06}.goodbye")


WIRE = 2
"""Protocol version of this package's drivers."""
OLDEST_WIRE = 1
"""Oldest protocol version that this package's control plane supports."""


def is_spoken(wire: int) -> bool:
    """Whether a control plane of this package supports a driver's protocol version."""
    return wire >= OLDEST_WIRE


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
