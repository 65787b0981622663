"""Tests of connections and tables, each in a process of its own without the control plane's data.

Such a process has the environment that a driver has, so that it reaches what pipelines reach and no more. It is ended
when it takes too long, since clients of other systems wait for as long as they like.

Run a process with a request on its standard input and a result on its standard output. A timeout kills it with all its
children.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from typing import Any
from urllib.parse import quote, quote_plus

from engine.errors import (
    EngineError,
    NoStateError,
    ProbeBusyError,
    RecompiledError,
    StateError,
    StateRowsError,
    UnknownSubjectError,
    UnreadableStateError,
)
from engine.jobs.processes import processes
from engine.jobs.processes.driver_environment import driver_environment
from engine.values.secret_references import SECRET_PREFIX

HIDDEN = "**********"
"""Replacement of a secret in output."""
_SHORTEST = 4
"""Shorter secrets are not replaced, because they occur in any text."""
_MOST_OF_ANSWER = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ProbeOrder:
    """A test: a connection or a table; with `infer` its columns are inferred. Options have references instead of
    secrets."""

    name: str
    connector: str
    options: Mapping[str, Any]
    columns: str | None = None
    """Column list of a table in SQL; None for a connection."""
    connections: str = ""
    """CREATE CONNECTION statements that a table may name."""
    infer: bool = False


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """Result as text, and the inferred columns."""

    message: str
    is_wrong: bool = False
    code: str | None = None
    hint: str | None = None
    columns: tuple[tuple[str, str, bool], ...] = ()
    """Name, SQL type and nullability of each column."""


Probe = Callable[[ProbeOrder, Mapping[str, str]], ProbeResult]
"""Runs a test, with the secrets that its options name."""


@dataclass(slots=True)
class LocalProbes:
    """Runs tests as processes on this machine, a few at a time."""

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
    """Return the text without secrets that a client has put into it, also in the spelling of a URL or a literal."""
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


_KNOWN = {kind.code: kind for kind in (NoStateError, RecompiledError, UnknownSubjectError, UnreadableStateError)}


@dataclass(frozen=True, slots=True)
class RowsOrder:
    """Rows to read: operator and state, filters `COLUMN=VALUE`, and a limit. `udfs` are names and texts of function
    files."""

    directory: str
    operator: str
    conditions: Sequence[str]
    limit: int
    udfs: Sequence[tuple[str, str]] = ()
    connections: str = ""


KeptRows = list[dict[str, Any]]
"""Rows, each with its partition, its table, and its columns."""
ReadRows = Callable[[RowsOrder], KeptRows]


@dataclass(slots=True)
class LocalStateRows:
    """Reads state rows in processes on this machine, one at a time."""

    inherited: tuple[str, ...] = ()
    limit: timedelta = timedelta(seconds=90)
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def read(self, order: RowsOrder) -> KeptRows:
        """Return the requested rows within the time limit. Refuse while others are being read."""
        if not self._turn.acquire(blocking=False):
            raise StateRowsError("rows of a state are being read already", hint="try it again in a moment")
        try:
            answer = ask_process("engine.driver.state_rows", asdict(order), self.inherited, self.limit)
        finally:
            self._turn.release()
        if "code" in answer:
            raise _error(str(answer["code"]), str(answer["message"]), answer["hint"])
        rows: KeptRows = answer["rows"]
        return rows


def _error(code: str, message: str, hint: str | None) -> EngineError:
    kind = _KNOWN.get(code, StateError)
    return kind(message, hint=hint)


_MOST_OF_ANSWER_ASKED_PROCESS = 8 * 1024 * 1024


def ask_process(module: str, order: Mapping[str, Any], inherited: Sequence[str], limit: timedelta) -> dict[str, Any]:
    """Run a module of the engine with an input, in the environment of a driver, and return its answer."""
    mark = f"asked/{uuid.uuid4().hex}"
    try:
        return _answer(module, order, {**driver_environment(os.environ, inherited), processes.MARK: mark}, limit)
    finally:
        processes.kill(processes.marked(mark))


def _answer(module: str, order: Mapping[str, Any], environment: Mapping[str, str], limit: timedelta) -> dict[str, Any]:
    seconds = limit.total_seconds()
    try:
        done = subprocess.run(
            [sys.executable, "-m", module],
            input=json.dumps(order).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            timeout=seconds,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise StateRowsError(
            f"the rows could not be read within {seconds:g} seconds", hint="ask for fewer, or by key"
        ) from error
    if len(done.stdout) > _MOST_OF_ANSWER_ASKED_PROCESS:
        raise StateRowsError("these rows are longer than 8 MiB", hint="ask for fewer, or by key")
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError as error:
        raise StateRowsError(f"the process that was to read the rows has ended with code {done.returncode}") from error
    return answer
