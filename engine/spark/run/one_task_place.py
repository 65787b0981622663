"""Where one task does an epoch part, and how it says that there are too many rows for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Row

PUT_ASIDE = -1
"""In the place of a sink's number, in a message that names the file into which a task has put its rows."""


@dataclass(frozen=True, slots=True)
class OneTaskPlace:
    """Where one task does an epoch part: the directory for rows that are too many for it, of how many tasks it gathers
    them, how many bytes and pairs of rows are not too many, and how many epochs are Spark's once they were."""

    scratch: Path
    tasks: int
    most_bytes: int = 32 * 1024 * 1024
    most_pairs: int = 2_000_000
    rests_for: int = 16


def put_aside_in(answers: Sequence[Row]) -> Path | None:
    """The file into which the task has put rows that are too many for it."""
    return next((Path(bytes(answer.message).decode()) for answer in answers if answer.sink == PUT_ASIDE), None)
