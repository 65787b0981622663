"""Steps of a run's start, which the driver reports to the control plane."""

from __future__ import annotations

from enum import StrEnum


class StartStep(StrEnum):
    """Current step of a starting run."""

    READING = "reading the script"
    JAVA = "starting Java"
    PLANNING = "planning"
    FIRST_EPOCH = "first epoch"
    """The query runs, and no epoch is committed yet."""
