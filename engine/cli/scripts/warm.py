"""`arroyo run --warm` and `arroyo warm`: the process that is kept for the next run.

`arroyo run --warm`: pass the work to the spare of the previous run, and leave another spare.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from engine.cli.base import Command
from engine.cli.remote import say
from engine.driver.handover import (
    LOCK,
    LeftSpare,
    Line,
    call,
    digest_of_surroundings,
    end_spare,
    find_spare,
    is_private,
    spares_directory,
)
from engine.errors import DriverCrashedError
from engine.jobs.processes import processes
from engine.jobs.processes.processes import free_memory
from engine.spark.run.run_spec import RunSpec
from engine.udf.declared import UdfFile
from engine.values.run_settings import needs_own_session, read_run_settings, write_run_settings

_NONE = "no spare waits for a run"


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("action", choices=("show", "stop"), help="Show or end the process that waits for the next run")


def _run(arguments: Namespace) -> int:
    directory = spares_directory(os.environ)
    if arguments.action == "stop":
        ended = end_spare(directory)
        say(_NONE if ended is None else f"ended: {_name(ended)}")
        return 0
    spare = find_spare(directory)
    say(_NONE if spare is None else f"{_name(spare)} waits since {spare.since:%H:%M:%S} UTC{_memory(spare)}")
    return 0


def _name(spare: LeftSpare) -> str:
    return "a spare" if spare.pid is None else f"spare {spare.pid}"


def _memory(spare: LeftSpare) -> str:
    from engine.jobs.processes.process_usage import UsageMeter  # noqa: PLC0415 - `--help` must not pay for pydantic

    usage = {} if spare.pid is None else UsageMeter(spare.pid).measure()
    return f", {sum(part.memory_bytes for part in usage.values()) // 2**20} MiB" if usage else ""


WARM = Command(_arguments, _run)


SPARE_COMMAND = (sys.executable, "-m", "engine.cli.scripts.run_spare")
_MEMORY = 3 * 2**30
"""A spare needs about one GiB; this much memory must be available."""
_INTERRUPTED = 130
_ATTEMPTS = 2
"""Number of interrupts after which the run exits without waiting."""


class ColdRun(Protocol):
    """Does a run's work in this process."""

    def __call__(self, spec: RunSpec, *, as_json: bool) -> int:
        """Return the exit code."""


def run_warm(spec: RunSpec, *, as_json: bool, run_cold: ColdRun) -> int:
    """Let a fitting spare do the work, if there is one, and leave a new one; return the exit code."""
    environment = dict(os.environ)  # a run changes its own, and the spare is for the next
    directory = spares_directory(environment)
    try:
        line = call(directory, digest_of_surroundings(environment)) if fits_spare(spec) else None
        return run_cold(spec, as_json=as_json) if line is None else hand_over(line, write_order(spec, as_json=as_json))
    finally:
        leave_spare(directory, environment)


def hand_over(line: Line, order: str) -> int:
    """Let the process at the other end of a line carry out an order, and pass signals on; return the exit code."""
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
    """Signals of this process, which are forwarded to the spare once it has the request."""

    line: Line
    count: int = 0
    _waiting: list[int] = field(default_factory=list)
    _is_open: bool = False

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Handle the signals; the third ends this process."""
        before = {number: signal.signal(number, self._take) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def pass_on(self) -> None:
        """Send the signals that have arrived, and from now on each immediately."""
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


def fits_spare(spec: RunSpec) -> bool:
    """Whether a spare's session is the one that the run would open."""
    settings = spec.settings
    if spec.upgrade is not None or settings.start_from or settings.backfill is not None:
        return False
    return spec.parallelism == 1 and not spec.conf and not needs_own_session(settings)


def write_order(spec: RunSpec, *, as_json: bool) -> str:
    """Return the text that describes the run. It contains the script's connections, so it is private."""
    return json.dumps(
        {
            "name": spec.name,
            "sql": spec.sql,
            "state_dir": str(spec.state_dir),
            "force": spec.force,
            "epoch_interval": spec.epoch_interval / timedelta(microseconds=1),
            "settings": write_run_settings(spec.settings),
            "udfs": [[file.name, file.text] for file in spec.udfs],
            "connections": spec.connections,
            "stand_ins": None if spec.stand_ins is None else str(spec.stand_ins),
            "keeps_state": spec.keeps_state,
            "as_json": as_json,
        }
    )


def read_order(text: str) -> tuple[RunSpec, bool]:
    """Parse the order of a run, and whether its progress is JSON."""
    order = json.loads(text)
    spec = RunSpec(
        name=order["name"],
        sql=order["sql"],
        state_dir=Path(order["state_dir"]),
        force=order["force"],
        epoch_interval=timedelta(microseconds=order["epoch_interval"]),
        settings=read_run_settings(order["settings"]),
        udfs=tuple(UdfFile(name, content) for name, content in order["udfs"]),
        connections=order["connections"],
        stand_ins=None if order["stand_ins"] is None else Path(order["stand_ins"]),
        keeps_state=order["keeps_state"],
    )
    return spec, order["as_json"]
