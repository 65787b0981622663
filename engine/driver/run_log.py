"""Log of a run for the pipeline's owner, one JSON object per line.

    {"time": "...", "level": "info", "job": "job_1", "run": 3, "epoch": null, "text": "starting Java"}
    {"time": "...", "level": "info", "job": "job_1", "run": 3, "epoch": 0, "text": "the first epoch of this run is ..."}
    {"time": "...", "level": "info", "job": "job_1", "run": 3, "epoch": 57, "text": "57 epochs in 60 s, ..."}
    {"time": "...", "level": "warn", ..., "text": "3 rows came after their watermark", "code": "log.late_rows"}

There is a line for each step of the start, each minute in which something was committed, the first warning of each
kind, each command, and the end. The content of rows is never logged.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from engine.checkpoints.layout import StatePaths
from engine.driver.control_plane_client import Home
from engine.errors import EngineError
from engine.jobs.processes.assignment import Assignment
from engine.jobs.processes.process_usage import SharedJava
from engine.spark.run.log_warnings import SparkLog
from engine.values.epoch_report import EpochReport
from engine.values.start_positions import StartStep

LOG = logging.getLogger(__name__)
_MINUTE = 60.0
_LOOK = 1.0
"""Seconds between two reads of Spark's log."""
_LEVELS = {logging.WARNING: "warn", logging.CRITICAL: "error"}
_OURS = "engine"


@dataclass(slots=True)
class Figures:
    """Totals since the last progress line."""

    epochs: int = 0
    rows_in: int = 0
    rows_out: int = 0
    late_rows: int = 0
    dropped_rows: int = 0

    def add(self, report: EpochReport) -> None:
        """Add one more epoch."""
        self.epochs += 1
        self.rows_in += report.rows_in
        self.rows_out += report.rows_out
        self.late_rows += report.late_rows
        self.dropped_rows += report.dropped_in_epoch


@dataclass(slots=True)
class RunLog:
    """Forwards the progress of a run to its control plane, and logs what is worth a line."""

    assignment: Assignment
    home: Home
    spark_log: SparkLog
    clock: Callable[[], float] = time.monotonic
    epoch: int | None = None
    """The newest committed epoch."""
    _figures: Figures = field(default_factory=Figures)
    _is_up: bool = False
    _told_at: float = field(init=False)
    _looked_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._told_at = self._looked_at = self.clock()

    @staticmethod
    def of(assignment: Assignment, home: Home) -> RunLog:
        """Return the log of the run of an assignment."""
        return RunLog(assignment, home, SparkLog(StatePaths(assignment.state_dir).logs / "spark.log"))

    def report(self, report: EpochReport) -> None:
        """Report a committed epoch."""
        self.home.report(report)
        self.epoch = report.epoch
        if not self._is_up:
            self._begin("the first epoch of this run is committed")
        self._figures.add(report)
        if self.clock() - self._told_at >= _MINUTE:
            self._tell_progress(report)

    def started(self) -> None:
        """Report that the run is up, and nothing is committed."""
        self.home.started()
        if not self._is_up:
            self._begin("the run is up, and its sources have nothing to read yet")

    def sign(self, step: StartStep | None) -> None:
        """Report progress of the work."""
        self.home.sign(step)
        if step is not None:
            LOG.info("%s", step)
        if self.clock() - self._looked_at >= _LOOK:
            self.look()

    def shares(self, look: Callable[[], SharedJava | None]) -> None:
        """Record that the run shares the JVM with others."""
        self.home.share(look)

    def look(self) -> None:
        """Report Spark's warnings."""
        self._looked_at = self.clock()
        for warning in self.spark_log.fresh_warnings():
            LOG.warning("%s", warning.text, extra={"code": warning.code})

    def end(self, outcome: str) -> None:
        """Log the end of the work; a failure is logged where it is caught."""
        self.look()
        match outcome:
            case "finished":
                LOG.info("the input has ended, and everything is written")
            case "stopped":
                LOG.info("the run has stopped; the next one goes on from here")

    def _begin(self, text: str) -> None:
        self._is_up, self._told_at = True, self.clock()
        LOG.info("%s", text)

    def _tell_progress(self, report: EpochReport) -> None:
        figures, seconds = self._figures, self.clock() - self._told_at
        watermark = "none yet" if report.watermark is None else f"{report.watermark:%Y-%m-%dT%H:%M:%SZ}"
        LOG.info(
            "%d epochs in %.0f s, %d rows in, %d rows out, watermark %s",
            *(figures.epochs, seconds, figures.rows_in, figures.rows_out, watermark),
        )
        if figures.late_rows:
            LOG.warning("%d rows came after their watermark", figures.late_rows, extra={"code": "log.late_rows"})
        if figures.dropped_rows:
            text = "%d rows could not be read or written and were left out"
            LOG.warning(text, figures.dropped_rows, extra={"code": "log.dropped_rows"})
        self._figures, self._told_at = Figures(), self.clock()


@dataclass(slots=True)
class JsonLines(logging.Formatter):
    """Writes each log record as a JSON line, with its run."""

    job: str
    run: int
    epoch: Callable[[], int | None] = lambda: None

    def format(self, record: logging.LogRecord) -> str:
        """Return the line. Entries of other packages have their source."""
        text = record.getMessage()
        error = record.exc_info[1] if record.exc_info else None
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")[:-6] + "Z",
            "level": _LEVELS.get(record.levelno, record.levelname.lower()),
            "job": self.job,
            "run": self.run,
            "epoch": self.epoch(),
            "text": text if record.name.partition(".")[0] in (_OURS, "__main__") else f"{record.name}: {text}",
        }
        if code := getattr(record, "code", None):
            line["code"] = code
        if hint := getattr(record, "hint", None):
            line["hint"] = hint
        if error is not None:
            line["trace"] = logging.Formatter().formatException(record.exc_info)  # type: ignore[arg-type] # it has an error
        return json.dumps(line, ensure_ascii=False)


def write_json_lines(log: RunLog) -> None:
    """Write each log record of this process as a line of JSON from now on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(log.assignment.job_id, log.assignment.generation, lambda: log.epoch))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)


def tell_failure(error: EngineError) -> None:
    """Log why a run has failed."""
    LOG.error("%s", error.message, extra={"code": error.code, "hint": error.hint})


class RunListener(Protocol):
    """Receives the progress of a run."""

    def report(self, report: EpochReport) -> None:
        """Receive a committed epoch."""

    def started(self) -> None:
        """Receive that the run is up, and nothing is committed."""

    def sign(self, step: StartStep | None) -> None:
        """Receive progress of the work, and the step that its start has reached, if that is new."""

    def shares(self, look: Callable[[], SharedJava | None]) -> None:
        """Receive that the run shares the JVM with others, with a function that measures its part."""
