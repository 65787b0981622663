"""A driver that computes nothing: one epoch after another, a minute of watermark each, a file to remember how far.

What the query says in a comment decides how it goes: `-- epochs: 5` ends after five, `-- fail: sql.broken` fails with
that code at the second epoch, `-- crash: 2` exits without a word at the second epoch of the first generation,
`-- deaf` does not hear orders to stop, `-- pace: 10` makes an epoch take ten milliseconds, `-- holds: 5` goes on after
the fifth epoch only once there is a file `go` in its state directory, `-- late: 3` has a row of 50 minutes ago
come late in every third epoch. A rescale to 13 fails, the first one to 14 hangs.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Literal

from engine.checkpoints import late_batches
from engine.checkpoints.late_batches import LateBatch
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.lineage import Lineage, write_lineage
from engine.driver.control_plane_client import StopMode
from engine.driver.main import main
from engine.driver.run_log import RunListener
from engine.errors import EngineError
from engine.jobs.processes.assignment import Assignment
from engine.values.epoch_report import EpochReport
from engine.values.instants import FAR_FUTURE
from engine.values.start_positions import StartStep
from tests.quick_reports import quick_report

LINEAGE = "one"
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


class FakeWork:
    """Counts epochs in a file of the state directory."""

    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._is_deaf = False

    def stop(self, mode: StopMode) -> None:
        """End after the epoch in hand."""
        if not self._is_deaf:
            self._stopped.set()

    def hold(self, lock: IO[str]) -> None:
        """Work under that lock alone."""

    def run(self, assignment: Assignment, listener: RunListener) -> Literal["finished", "stopped"]:
        """Count until stopped, or until the wanted number is reached."""
        says = dict(re.findall(r"-- (\w+):? ?(\S*)", assignment.query))
        self._is_deaf = "deaf" in says
        state = assignment.state_dir
        state.mkdir(parents=True, exist_ok=True)
        listener.sign(StartStep.FIRST_EPOCH)
        listener.started()
        last = int(says.get("epochs", 1_000_000_000))
        pace = int(says.get("pace", 20)) / 1000
        epoch = _read(state)["epoch"]
        every = int(says.get("late", 0))
        if every and not (state / "lineage.json").exists():
            write_lineage(state / "lineage.json", Lineage(LINEAGE))
        while not self._stopped.wait(pace):
            if epoch >= last:
                return "finished"
            epoch += 1
            if epoch == 2 and "fail" in says:
                raise _failure(says["fail"])
            if epoch == int(says.get("crash", -1)) and assignment.generation == 1:
                os._exit(7)
            report = _report(epoch, is_last=epoch >= last)
            if every:
                report = replace(report, lineage=LINEAGE)
            if every and epoch % every == 0:
                minute = late_minute(epoch)
                report = replace(report, late={"out": [(minute, minute + 1)]})
                late_batches.keep(StatePaths(state), LateBatch(LINEAGE, epoch, report.late))
            _write(state, {"epoch": epoch, "parallelism": assignment.parallelism})
            listener.report(report)
            if epoch == int(says.get("holds", -1)):
                self._hold(state / "go", listener)
        return "stopped"

    def _hold(self, go: Path, listener: RunListener) -> None:
        while not go.exists() and not self._stopped.wait(0.01):
            listener.sign(None)

    def rescale(self, state: Path, parallelism: int) -> None:
        """Note the new number."""
        counts = _read(state)
        if parallelism == 13:
            raise _failure("state.unlucky")
        if parallelism == 14 and not (state / "hung").exists():
            (state / "hung").touch()
            os.kill(os.getpid(), signal.SIGSTOP)
        _write(state, {**counts, "parallelism": parallelism, "rescaled": parallelism})

    def restore(
        self, savepoint: Path, state: Path, allow_replay: bool, save_as: str | None, is_fork: bool = False
    ) -> None:
        """Take the savepoint's count."""
        _write(state, json.loads((savepoint / "count.json").read_text()))


def late_minute(epoch: int) -> int:
    """The minute since 1970 that a row is of which comes late in an epoch."""
    return int(BEGIN.timestamp()) // 60 + epoch - 50


def _failure(code: str) -> EngineError:
    kind = type("FakeError", (EngineError,), {"code": code, "retryable": code.startswith("run.")})
    error: EngineError = kind("it was told to fail", hint="tell it not to")
    return error


def _report(epoch: int, is_last: bool) -> EpochReport:
    watermark = FAR_FUTURE if is_last else BEGIN + timedelta(minutes=epoch)
    return quick_report(epoch, watermark, "impulse", rows_in=10, rows_out=5, state_changes=1, state_bytes=8)


def _read(state: Path) -> dict[str, int]:
    try:
        counts: dict[str, int] = json.loads((state / "count.json").read_text())
    except FileNotFoundError:
        return {"epoch": 0}
    return counts


def _write(state: Path, count: dict[str, int]) -> None:
    fresh = state / "count.new"
    fresh.write_text(json.dumps(count))
    fresh.replace(state / "count.json")
    commits = state / "checkpoint" / "commits"
    commits.mkdir(parents=True, exist_ok=True)
    (commits / str(count["epoch"])).touch()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], FakeWork()))
