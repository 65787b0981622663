"""Tests of connections and tables, each in a process of its own, where nothing of the control plane is.

Such a process has the environment that a driver has, so that it reaches what pipelines reach and no more. It is ended
when it takes too long, since clients of other systems wait for as long as they like.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from typing import Any
from urllib.parse import quote, quote_plus

from engine.errors import ProbeBusyError
from engine.jobs.processes.driver_environment import driver_environment
from engine.values.secret_references import SECRET_PREFIX

HIDDEN = "**********"
"""What is shown instead of a secret."""
_SHORTEST = 4
"""Shorter secrets are in any text."""
_MOST_OF_ANSWER = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ProbeOrder:
    """What is to be tried: a connection, or a table; `infer` has its columns found out from what is there. Options have
    references in the place of secrets."""

    name: str
    connector: str
    options: Mapping[str, Any]
    columns: str | None = None
    """Of a table, as CREATE TABLE lists them; None of a connection."""
    connections: str = ""
    """The CREATE CONNECTION statements that a table may name."""
    infer: bool = False


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What came of it: in words, and the columns that were found."""

    message: str
    is_wrong: bool = False
    code: str | None = None
    hint: str | None = None
    columns: tuple[tuple[str, str, bool], ...] = ()
    """Of each column its name, its type as SQL has it, and whether it may be NULL."""


Probe = Callable[[ProbeOrder, Mapping[str, str]], ProbeResult]
"""Tries something, with the secrets that its options name."""


@dataclass(slots=True)
class LocalProbes:
    """Plays tests as processes of this machine, a few at a time."""

    inherited: tuple[str, ...] = ()
    limit: timedelta = timedelta(seconds=30)
    _turns: threading.BoundedSemaphore = field(default_factory=lambda: threading.BoundedSemaphore(2))

    def ask(self, order: ProbeOrder, secrets: Mapping[str, str]) -> ProbeResult:
        """Run a test and return its result, within the time limit. Refuse it while several run."""
        if not self._turns.acquire(blocking=False):
            raise ProbeBusyError("two tests are under way already", hint="try it again in a moment")
        try:
            return self._ask(order, secrets)
        finally:
            self._turns.release()

    def _ask(self, order: ProbeOrder, secrets: Mapping[str, str]) -> ProbeResult:
        script = f"{json.dumps(dict(order.options))}\n{order.connections}"
        environment = driver_environment(os.environ, self.inherited, script, secrets)
        seconds = f"{self.limit.total_seconds():g}"
        try:
            done = subprocess.run(
                [sys.executable, "-m", "engine.driver.probe", seconds],
                input=json.dumps(asdict(order)).encode(),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # a client may write there whatever it was told
                env=environment,
                timeout=self.limit.total_seconds(),
                start_new_session=True,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return ProbeResult(f"there was no answer within {seconds} seconds", True, "connector.unavailable")
        except OSError as error:
            return ProbeResult(f"the test cannot be played: {error.strerror}", True, "run.failed")
        result = _read(done.stdout, done.returncode)
        hidden = [value for name, value in environment.items() if name.startswith(SECRET_PREFIX)]
        return replace(
            result, message=_without(hidden, result.message), hint=_without(hidden, result.hint or "") or None
        )


def _without(secrets: Iterable[str], text: str) -> str:
    """The text without secrets that a client has put into it, also as a URL or a literal would hold them."""
    for secret in sorted((secret for secret in secrets if len(secret) >= _SHORTEST), key=len, reverse=True):
        for spelling in (secret, quote(secret, safe=""), quote_plus(secret), repr(secret)[1:-1]):
            text = text.replace(spelling, HIDDEN)
    return text


def _read(answer: bytes, code: int) -> ProbeResult:
    try:
        if len(answer) > _MOST_OF_ANSWER:
            raise ValueError("it is too long")
        values = json.loads(answer)
        columns = tuple((str(name), str(kind), bool(nullable)) for name, kind, nullable in values.pop("columns"))
        return ProbeResult(**values, columns=columns)
    except (ValueError, TypeError, KeyError):
        return ProbeResult(f"the test has ended without an answer, with code {code}", True, "run.failed")
