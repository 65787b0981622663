"""Liveness of the planners. Each runs in a process of its own.

    the planner of t is asked for the first time     pulses/arroyo_t contains ?30: a broker may be silent for 30 seconds
    it plans an epoch                                130
    it is asked again, and there is nothing to do    030, with a later modification time

The files are needed because Spark carries nothing else from a planner to the driver. Later runs do not read them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

_PLANNED, _NOTHING, _ASKED = b"1", b"0", b"?"


_DRAINING = "draining"


def is_draining(pulse: Path) -> bool:
    """Whether the planner with this pulse was told to read nothing more."""
    return pulse.with_name(_DRAINING).exists()


def announce(pulse: Path, patience: timedelta) -> None:
    """Record that a planner was asked for the first time, and how long it retries another system before it reports that
    as unreachable: until then its silence is no fault."""
    file = os.open(pulse, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.pwrite(file, _ASKED + f"{patience.total_seconds()}".encode(), 0)
    finally:
        os.close(file)


def beat(pulse: Path, *, is_planned: bool) -> None:
    """Record that a planner has answered, and whether it has planned an epoch."""
    _write_answer(pulse, _PLANNED if is_planned else _NOTHING)


def _write_answer(pulse: Path, answer: bytes) -> None:
    file = os.open(pulse, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        os.pwrite(file, answer, 0)
    finally:
        os.close(file)


@dataclass(slots=True)
class Pulses:
    """The liveness files of a run's planners, as the driver sees them. A planner may pause for `rest` after each
    answer."""

    files: Sequence[Path]
    rest: timedelta = timedelta(0)
    clock: Callable[[], float] = time.monotonic
    _newest: int = field(default=0, init=False)
    _changed_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._changed_at = self.clock()

    def clear(self) -> None:
        """Delete the pulses of earlier runs."""
        for file in self.files:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.unlink(missing_ok=True)
            file.with_name(_DRAINING).unlink(missing_ok=True)

    def drain(self) -> None:
        """Tell the planners to read nothing more, and forget their earlier answers."""
        for file in self.files:
            file.with_name(_DRAINING).touch()
        self.forget_answers()

    def forget_answers(self) -> None:
        """Forget whether there was anything to do."""
        for file in self.files:
            if file.exists():
                _write_answer(file, _ASKED)

    def is_beating(self) -> bool:
        """Whether a planner has answered since the last call, pauses, or may still wait for another system."""
        newest = max((_changed(file) for file in self.files), default=0)
        if newest != self._newest:
            self._newest, self._changed_at = newest, self.clock()
            return True
        patience = max((_patience(file) for file in self.files), default=0.0)
        return self.clock() - self._changed_at < patience + self.rest.total_seconds()

    def found_nothing(self) -> bool:
        """Whether every planner was asked, and none had anything to do in its newest answer."""
        return all(_says(file)[:1] == _NOTHING for file in self.files)


def _changed(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _patience(file: Path) -> float:
    text = _says(file)[1:]
    return float(text) if text else 0.0


def _says(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""
