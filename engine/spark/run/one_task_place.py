"""Settings and messages of the single-task execution of an epoch part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Row

PUT_ASIDE = -1
"""Replaces the number of a sink in a message that names a file with rows."""


@dataclass(frozen=True, slots=True)
class OneTaskPlace:
    """Settings of single-task execution: the directory for rows that are too many, the number of tasks whose rows are
    collected, the limits of bytes and row pairs, and the number of epochs that Spark executes after a limit was
    exceeded."""

    scratch: Path
    tasks: int
    most_bytes: int = 32 * 1024 * 1024
    most_pairs: int = 2_000_000
    rests_for: int = 16


def put_aside_in(answers: Sequence[Row]) -> Path | None:
    """Return the file into which the task has put rows that were too many for it."""
    return next((Path(bytes(answer.message).decode()) for answer in answers if answer.sink == PUT_ASIDE), None)
