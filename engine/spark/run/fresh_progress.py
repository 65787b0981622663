"""Read Spark's progress reports of the epochs since the last call.

Spark keeps its last twenty reports. Each call crosses into the JVM, and a report is serialised there and parsed here,
so reports that are already known are not requested:

    known up to epoch 6; Spark has 4, 5, 6, 7, 8       requests the numbers of 8, 7 and 6, and the texts of 7 and 8
    known up to epoch 8; Spark has 5, 6, 7, 8          requests the number of 8
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Protocol

from pyspark.sql.streaming.query import StreamingQuery


class JavaProgress(Protocol):
    """Spark's report of an epoch, as a Java object."""

    def batchId(self) -> int:  # noqa: N802 - Spark's name
        """Return the number of the epoch."""

    def json(self) -> str:
        """Return the report as JSON."""


def read_fresh(query: StreamingQuery, newest: int) -> Sequence[Mapping[str, object]]:
    """Return the reports of the epochs after `newest`, in order."""
    java = query._jsq  # noqa: SLF001 - pyspark's own way reads all twenty, twice
    last: JavaProgress | None = java.lastProgress()
    if last is None or last.batchId() <= newest:
        return []
    return read_after(java.recentProgress(), newest)


def read_after(reports: Sequence[JavaProgress], newest: int) -> Sequence[Mapping[str, object]]:
    """Parse the reports of epochs after `newest`; the reports are in order."""
    fresh: list[Mapping[str, object]] = []
    for index in range(len(reports) - 1, -1, -1):
        report = reports[index]
        if report.batchId() <= newest:
            break
        fresh.append(json.loads(report.json()))
    return fresh[::-1]
