"""The steps of a run's start, which it says when it calls home."""

from __future__ import annotations

from enum import StrEnum


class StartStep(StrEnum):
    """What a run is doing before it is up."""

    READING = "reading the script"
    JAVA = "starting Java"
    PLANNING = "planning"
    FIRST_EPOCH = "first epoch"
    """The query runs, and nothing is committed yet."""
