"""Callbacks from a driver's work during a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from engine.jobs.processes.process_usage import SharedJava
from engine.values.epoch_report import EpochReport
from engine.values.start_positions import StartStep


class RunListener(Protocol):
    """Receives the progress of a run."""

    def report(self, report: EpochReport) -> None:
        """An epoch was committed."""

    def started(self) -> None:
        """The run is up, and nothing is committed."""

    def sign(self, step: StartStep | None) -> None:
        """The work is alive, and its start has come to this step, if it is another one."""

    def shares(self, look: Callable[[], SharedJava | None]) -> None:
        """The run shares Java with others, and this says what it has of it."""
