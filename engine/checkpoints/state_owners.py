"""Claims on a prefix of a bucket: of two runs that keep their state there, only the last one continues.

    s3://bucket/jobs/20261128T2015-5f2c/...                     the state
    s3://bucket/jobs/20261128T2015-5f2c.owners/000000000007     {"run": "9a1e", "host": "worker-3", "process": 4711}

A lock on the state directory ends at its machine. If the directory was copied to the same path of another machine, or
is on a disk whose locks end there, two runs would write below one prefix, and each would delete what it does not know.
So each run creates the next number before it writes, by a conditional request: of two that do so at once, one is
refused. A run ends once there is a number after its own: it looks for the next number every few seconds.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta

from engine.checkpoints.state_bucket import read_state_url, state_storage
from engine.connectors.files.storage import Prefix
from engine.delivery.storage import Storage
from engine.errors import EngineError, StateInUseError, SupersededError

_SUFFIX = ".owners"
_DIGITS = 12
EVERY = timedelta(seconds=10)
"""Interval at which a run looks for a successor. An epoch sends no request for that."""


@dataclass(slots=True)
class PrefixOwner:
    """A run that has claimed a prefix."""

    prefix: Prefix
    number: int
    every: timedelta
    clock: Callable[[], float] = time.monotonic
    _asked_at: float = field(init=False)
    _asking: threading.Thread | None = field(default=None, init=False)
    _successor: SupersededError | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._asked_at = self.clock()

    def look(self) -> None:
        """Raise SupersededError if another run has claimed the prefix since. Returns at once: a thread asks the bucket
        every few seconds. A bucket that does not answer stops nothing here."""
        if self._successor is not None:
            raise self._successor
        is_asking = self._asking is not None and self._asking.is_alive()
        if is_asking or self.clock() - self._asked_at < self.every.total_seconds():
            return
        self._asked_at = self.clock()
        self._asking = threading.Thread(target=self._ask, name="owner of the state", daemon=True)
        self._asking.start()

    def ask(self) -> None:
        """Raise SupersededError if another run has claimed the prefix since."""
        found = _owners(self.prefix).get(_name(self.number + 1))
        if found is None:
            return
        newer = json.loads(found.content)
        raise SupersededError(
            f"another run has taken over the state in {self.prefix}: process {newer.get('process')} on "
            f"{newer.get('host')}",
            hint="nothing is lost: the newer run continues. If both are meant to run, one has a copy of the state "
            "directory of the other: give it another state_url",
        )

    def _ask(self) -> None:
        try:
            self.ask()
        except SupersededError as error:
            self._successor = error
        except EngineError:
            return  # the requests of Spark show what is wrong


def own_prefix(url: str, run: str | None = None) -> PrefixOwner:
    """Claim a prefix for a run. Raise StateInUseError if another run does so at the same time."""
    prefix = read_state_url(url)
    bucket = _owners(prefix)
    numbers = sorted(int(name) for name in bucket.list() if name.isdigit())
    number = numbers[-1] + 1 if numbers else 1
    claim = {"run": run or secrets.token_hex(8), "host": socket.gethostname(), "process": os.getpid()}
    content = json.dumps(claim).encode()
    if bucket.create(_name(number), content) is None:
        raise StateInUseError(
            f"another run has just taken the state in {prefix}",
            hint="stop one of them; if both are meant to run, give them different values of state_url",
        )
    bucket.delete([_name(old) for old in numbers[:-1]])
    return PrefixOwner(prefix, number, EVERY)


def forget_owners(url: str) -> None:
    """Delete all claims on a prefix that is deleted, too."""
    bucket = _owners(read_state_url(url))
    bucket.delete(bucket.list())


def _owners(prefix: Prefix) -> Storage:
    """Return where the claims on a prefix are: beside it, as Spark wants it to be empty at first."""
    return state_storage(replace(prefix, prefix=f"{prefix.prefix}{_SUFFIX}"))


def _name(number: int) -> str:
    return f"{number:0{_DIGITS}d}"
