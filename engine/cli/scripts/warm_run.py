"""`arroyo run --warm`: the work goes to the spare that the run before has left, and another is left for the next."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from engine.cli.scripts.run_order import fits_spare, write_order
from engine.driver.handover import LOCK, Line, call, is_private, spares_directory
from engine.driver.surroundings import digest_of_surroundings
from engine.errors import DriverCrashedError
from engine.jobs.processes import processes
from engine.jobs.processes.free_memory import free_memory
from engine.spark.run.run_spec import RunSpec

SPARE_COMMAND = (sys.executable, "-m", "engine.cli.scripts.run_spare")
_MEMORY = 3 * 2**30
"""A spare holds about one GiB; so much must be free that it takes nothing from anybody."""
_INTERRUPTED = 130
_ATTEMPTS = 2
"""After so many interrupts without an end the next one leaves."""


class ColdRun(Protocol):
    """Does a run's work in this process."""

    def __call__(self, spec: RunSpec, *, as_json: bool) -> int:
        """The exit code."""


def run_warm(spec: RunSpec, *, as_json: bool, run_cold: ColdRun) -> int:
    """Have a spare do the work, where there is one that fits, and leave one; the exit code."""
    environment = dict(os.environ)  # a run changes its own, and the spare is for the next
    directory = spares_directory(environment)
    try:
        line = call(directory, digest_of_surroundings(environment)) if fits_spare(spec) else None
        return run_cold(spec, as_json=as_json) if line is None else hand_over(line, write_order(spec, as_json=as_json))
    finally:
        leave_spare(directory, environment)


def hand_over(line: Line, order: str) -> int:
    """Have the work of an order done at the other end of a line, and pass signals on; the exit code."""
    sys.stdout.flush()
    sys.stderr.flush()
    answer, signals = None, _Signals(line)
    with signals.caught(), suppress(OSError):
        line.say({"order": order}, (1, 2))
        signals.pass_on()
        answer = line.hear()
    line.close()
    if answer is not None:
        return int(str(answer["exit"]))
    if signals.count:
        return _INTERRUPTED
    raise DriverCrashedError(
        "the process that did the work of this run has ended without a word",
        hint="run it again; it goes on from its last epoch",
    )


@dataclass(slots=True)
class _Signals:
    """The signals of this process, which are for the other end of a line once its order is there whole."""

    line: Line
    count: int = 0
    _waiting: list[int] = field(default_factory=list)
    _is_open: bool = False

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Answer them; the third ends this process."""
        before = {number: signal.signal(number, self._take) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def pass_on(self) -> None:
        """Send those that have come, and from now on each at once."""
        self._is_open = True
        while self._waiting:
            self.line.say({"signal": self._waiting.pop(0)})

    def _take(self, number: int, _frame: object) -> None:
        if self.count >= _ATTEMPTS:
            os._exit(_INTERRUPTED)
        self.count += 1
        self._waiting.append(number)
        if self._is_open:
            with suppress(OSError):
                self.pass_on()


def leave_spare(directory: Path, environment: Mapping[str, str], command: Sequence[str] = SPARE_COMMAND) -> None:
    """Start a spare for the next run, unless there is one, or too little memory for it. It never fails a run."""
    with suppress(OSError):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not is_private(directory) or free_memory() < _MEMORY or processes.is_locked(directory / LOCK):
            return
        with (directory / "spare.log").open("wb") as log:
            subprocess.Popen(
                [*command, str(directory)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=environment,
            )
