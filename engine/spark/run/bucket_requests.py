"""Requests to the bucket of a state, by kind, between two reports of epochs.

changelog               the PUTs of epochs: one for each partition of state
put, get, head, list, delete    of a start, then of maintenance alone
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession


@dataclass(slots=True)
class BucketRequests:
    """Counts what was sent since the last call. `read` returns all that was ever sent, as JSON."""

    read: Callable[[], str]
    _before: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self._before = self._counts()

    def since_last(self) -> Mapping[str, int]:
        """Return the requests since the last call, of the kinds that were sent."""
        counts = self._counts()
        further = {kind: count - self._before.get(kind, 0) for kind, count in counts.items()}
        self._before = counts
        return {kind: count for kind, count in sorted(further.items()) if count > 0}

    def _counts(self) -> Mapping[str, int]:
        try:
            return {kind: int(count) for kind, count in json.loads(self.read()).items()}
        except Py4JError:
            return {}  # a JVM that has ended is reported where it is needed


def requests_of(spark: SparkSession) -> BucketRequests:
    """Count the requests of a session and its executors. The JVM must not have the states of other pipelines."""
    jvm = spark.sparkContext._jvm  # noqa: SLF001 - pyspark has no other way to Java
    assert jvm is not None
    return BucketRequests(lambda: str(jvm.arroyo.BucketRequests.counts()))
