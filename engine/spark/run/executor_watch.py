"""Notices that a run has lost all executors of its cluster for good.

master killed          the run continues with its executors
master started again   it knows neither the run nor its executors, and ends these: Spark waits, without an end
three minutes later    the run ends with `run.no_executors`, and its next start registers with the new master
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from engine.errors import NoExecutorsError

PATIENCE = timedelta(minutes=3)
"""Longest time that a run may be without any executor. A cluster that starts another one needs less."""
_EVERY = timedelta(seconds=5)


@dataclass(slots=True)
class ExecutorWatch:
    """Looks every few seconds whether there is an executor."""

    count: Callable[[], int]
    master: str
    patience: timedelta = PATIENCE
    clock: Callable[[], float] = time.monotonic
    _looked_at: float = field(default=float("-inf"), init=False)
    _alone_since: float | None = field(default=None, init=False)

    def look(self) -> None:
        """Raise NoExecutorsError if there has been no executor for too long."""
        now = self.clock()
        if now - self._looked_at < _EVERY.total_seconds():
            return
        self._looked_at = now
        if self.count() > 0:
            self._alone_since = None
            return
        self._alone_since = now if self._alone_since is None else self._alone_since
        if now - self._alone_since >= self.patience.total_seconds():
            raise NoExecutorsError(
                f"all executors of {self.master} have been gone for {self.patience.total_seconds():.0f} s",
                hint="nothing is lost: the next start asks the master for executors again; see the page and the logs "
                "of the cluster",
            )


def count_executors(spark: SparkSession) -> int:
    """Return how many executors are up, as far as Spark's driver knows. A JVM that does not answer is another error,
    which its next call shows: until then it counts as one."""
    try:
        # the driver is in the list, too
        return int(spark.sparkContext._jsc.sc().statusStore().executorList(True).size()) - 1  # noqa: SLF001 - see above
    except Py4JError:
        return 1
