"""Playing scripts of rows through a whole pipeline, and the batch answer to compare with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from engine.spark.run.lifecycle import RunSpec, run_in
from engine.spark.run.stop_control import Control, StopMode
from engine.values.epoch_report import EpochReport

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = datetime(2024, 1, 1, tzinfo=UTC)
Row = Mapping[str, object]
_HANGS = 60.0
"""Seconds, so that a run whose onlooker has failed ends all the same."""


@dataclass(frozen=True)
class Step:
    """Rows by partition, and the time on the planner's clock when they come."""

    now: timedelta
    rows: Mapping[str, Sequence[Row]]


def at(minutes: float) -> str:
    """An event time, in minutes from the start."""
    return (START + timedelta(minutes=minutes)).isoformat().replace("+00:00", "Z")


def write_script(path: Path, steps: Sequence[Step], *, bounded: bool = True, knows_end: bool = False) -> None:
    """Write a script as the scripted connector reads it."""
    content = [{"now": (START + step.now).isoformat(), "rows": step.rows} for step in steps]
    path.write_text(json.dumps({"steps": content, "bounded": bounded, "knows_end": knows_end}))


class StepByStep(Control):
    """Lets no epoch begin before the last was reported: else short ones are over before a stop is heard of."""

    def __init__(self) -> None:
        super().__init__()
        self.reported = threading.Event()
        self.reported.set()

    @property
    def refuses_epochs(self) -> bool:
        self.reported.wait(_HANGS)
        self.reported.clear()
        return super().refuses_epochs


def play(
    spark: SparkSession, spec: RunSpec, *, stop_after: int | None = None, mode: StopMode = "checkpoint"
) -> tuple[str, list[EpochReport]]:
    """Run to the end, or until an epoch; how it ended and what was reported."""
    control, reports = Control() if stop_after is None else StepByStep(), list[EpochReport]()

    def note(report: EpochReport) -> None:
        reports.append(report)
        if stop_after is not None and report.epoch >= stop_after:
            control.stop(mode)
        if isinstance(control, StepByStep):
            control.reported.set()

    return run_in(spark, spec, control, note), reports


def kill_in_epoch(spec: RunSpec, epoch: int, point: str = "after_write") -> None:
    """Run in a process of its own, which dies with its JVM at a named point of an epoch."""
    file = spec.state_dir.with_suffix(".sql")
    file.write_text(spec.sql)
    command = [sys.executable, "-m", "engine", "run", str(file), "--state-dir", str(spec.state_dir)]
    command += ["--set", "quick=true", "--json-progress"]
    if spec.settings.max_epoch_rows:
        command += ["--max-epoch-rows", str(spec.settings.max_epoch_rows)]
    if spec.settings.fuse:
        command += ["--set", "fuse=on"]
    if spec.settings.by_pane is not None:
        command += ["--set", f"by_pane={'on' if spec.settings.by_pane else 'off'}"]
    if (
        spec.settings.backfill is not None
        and spec.settings.backfill.goes_on
        and spec.settings.backfill.since is not None
    ):
        command += ["--from", spec.settings.backfill.since.isoformat(), "--then-continue"]
    armed = {**os.environ, "ARROYO_FAULT": f"{point}:{epoch}", "ARROYO_FAULTS_ALLOWED": "1"}
    ended = subprocess.run(command, env=armed, capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode == -9, ended.stderr


def read_rows(path: Path) -> list[dict[str, object]]:
    """The rows of a JSON file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def wider(spec: RunSpec, parallelism: int) -> RunSpec:
    """The same at another parallelism."""
    return replace(spec, parallelism=parallelism)
