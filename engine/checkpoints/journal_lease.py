"""The lease of a run on a journal. It shows that the run is alive, so that a second one is refused.

    lease    {"claim": 41, "seconds": 30, "count": 7, "machine": "1f6c...", "lock": "/tmp/x", "released": false}

    released, or none                                       a start takes it
    the holder was on this machine, and its lock is free    it has ended: a start takes it
    else                                                    a start watches it for `seconds` of its own monotonic clock:
                                                            if the count changes, the run is alive: the start is refused

A lease that was lost stops nothing by itself: the journal does (`journal.py`). So clocks need not agree.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from engine.delivery.storage import Storage, Stored
from engine.errors import EngineError, StateInUseError

LEASE = timedelta(seconds=30)
"""Time after which a run that does not renew its lease may be replaced."""
_NAME = "lease"
_RENEWALS = 3
"""Number of renewals in the time of a lease."""
_TRIES = 10


@dataclass(slots=True)
class Lease:
    """The lease of this run."""

    storage: Storage
    claim: int
    seconds: float
    lock: str
    is_lost: bool = False
    _count: int = 0
    _version: str | None = None
    _handle: int | None = None
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def take(self, seen: Stored | None) -> None:
        """Write the lease over the one that was seen. The journal has been claimed before."""
        self._handle = _try_lock(self.lock, creates=True)
        self._write(seen)
        self._thread = threading.Thread(target=self._renew_all_the_time, name="lease of the state", daemon=True)
        self._thread.start()

    def renew(self) -> None:
        """Renew it; note if a later run has it."""
        if self.is_lost or self._version is None:
            return
        self._count += 1
        version = self.storage.compare_and_put(_NAME, self._content(is_released=False), self._version)
        if version is None:
            self._write(self.storage.get(_NAME))
        else:
            self._version = version

    def _write(self, seen: Stored | None) -> None:
        """Replace the lease of an earlier run, which may renew it at the same time. A later run has the state."""
        for _ in range(_TRIES):
            if seen is not None and claim_in(seen) > self.claim:
                self.is_lost = True
                return
            content = self._content(is_released=False)
            version = (
                self.storage.create(_NAME, content)
                if seen is None
                else self.storage.compare_and_put(_NAME, content, seen.version)
            )
            if version is not None:
                self._version = version
                return
            seen = self.storage.get(_NAME)

    def release(self) -> None:
        """Let the next run start without waiting."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        if self._version is not None and not self.is_lost:
            with suppress(EngineError):
                self.storage.compare_and_put(_NAME, self._content(is_released=True), self._version)
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _renew_all_the_time(self) -> None:
        while not self._stop.wait(self.seconds / _RENEWALS):
            with suppress(EngineError):  # a bucket that is away stops the journal, too
                self.renew()

    def _content(self, *, is_released: bool) -> bytes:
        lease = {
            "claim": self.claim,
            "seconds": self.seconds,
            "count": self._count,
            "host": socket.gethostname(),
            "process": os.getpid(),
            "machine": machine(),
            "lock": self.lock if self._handle is not None else "",
            "released": is_released,
        }
        return json.dumps(lease).encode()


def wait_until_free(
    storage: Storage, clock: Callable[[], float] = time.monotonic, wait: Callable[[float], None] = time.sleep
) -> Stored | None:
    """Return the lease once its holder has ended, released it, or not renewed it for as long as it had promised. Raise
    StateInUseError if the holder is alive."""
    seen = storage.get(_NAME)
    if seen is None:
        return None
    try:
        lease = json.loads(seen.content)
        is_free = lease["released"] or (
            lease["machine"] and lease["machine"] == machine() and _has_ended(lease["lock"])
        )
        promised = float(lease["seconds"])
    except (ValueError, KeyError, TypeError):
        return seen  # damaged: the next renewal replaces it, and the journal fences
    if is_free:
        return seen
    end = clock() + promised
    while clock() < end:
        wait(min(1.0, promised / 10))
        now = storage.get(_NAME)
        if now is None or now.version != seen.version:
            raise StateInUseError(
                f"the state in {storage} is in use by process {lease.get('process')} on {lease.get('host')}",
                hint="stop that run, or give another --state-dir",
            )
    return seen


def claim_in(lease: Stored) -> int:
    """Return the number of the claim of the run that has a lease; 0 if it is damaged."""
    try:
        return int(json.loads(lease.content)["claim"])
    except (ValueError, KeyError, TypeError):
        return 0


def machine() -> str:
    """Return what distinguishes this machine, since its last start, and the view of its files; empty if unknown."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/mnt')}"  # noqa: PTH115 - no file has this name
    except OSError:
        return ""


def lock_path(storage: Storage) -> str:
    """Return the file that a run locks on its machine, so that a start there sees at once that it has ended."""
    digest = hashlib.sha256(f"{os.getuid()} {storage}".encode()).hexdigest()[:16]
    return str(Path(tempfile.gettempdir()) / f"arroyo-journal-{digest}.lock")


def _has_ended(lock: str) -> bool:
    handle = _try_lock(lock, creates=False) if lock else None
    if handle is None:
        return False
    os.close(handle)
    return True


def _try_lock(lock: str, *, creates: bool) -> int | None:
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_CREAT if creates else 0), 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle
