"""A driver without Spark whose state, savepoints, restores and sinks are real (`tests.kills.driver`). It writes a row
for each second, 50 in an epoch, and in every seventh epoch one that comes late, for the table of those.

Each row says in which history it was written: after a restore they are other rows.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from engine.checkpoints import late_batches
from engine.checkpoints.claim import Claim
from engine.checkpoints.late_batches import LateBatch, Stretch
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.spark_log import newest_commit
from engine.delivery.epoch import Epoch
from engine.driver.main import main
from engine.driver.run_log import RunListener
from engine.jobs.processes.assignment import Assignment
from engine.schema import Field, Schema
from engine.spark.run.epoch import commit_sinks
from engine.types import BIGINT, TEXT
from engine.values.epoch_report import EpochReport
from tests.connectors.tables import batch
from tests.kills.driver import EPOCH_ROWS, PACE, StandInWork, WithoutPandas, Writing, written

ROWS = Schema((Field("n", BIGINT, nullable=False), Field("epoch", BIGINT), Field("history", TEXT)))
LATE_EVERY = 7
LATE_BY = 20 * EPOCH_ROWS
"""So many seconds."""
AHEAD = 10
"""So many epochs it goes on without its readers."""
READERS = ("pull", "watch")
MINUTES = 120
LAST_EPOCH = (MINUTES * 60 + LATE_BY) // EPOCH_ROWS + 1
"""With that, nothing comes late any more for these minutes."""


class Seconds(StandInWork):
    """Writes a row for each second."""

    paths: StatePaths
    folder: Path

    def pace(self, listener: RunListener) -> float:
        """How long to rest. It waits for readers that are slow, as on a busy machine, so that they read most minutes
        before rows come late for these."""
        while self._is_ahead() and not self._stopped.wait(PACE):
            listener.sign(None)
        return PACE

    def _is_ahead(self) -> bool:
        newest = newest_commit(self.paths.checkpoint) or 0
        read = min(int(file.read_text()) if file.exists() else 0 for file in self._readers())
        return newest * EPOCH_ROWS < MINUTES * 60 and newest > read + AHEAD

    def _readers(self) -> list[Path]:
        return [self.folder / f"{reader}.epoch" for reader in READERS]

    def begin(self, assignment: Assignment, paths: StatePaths, held: Claim) -> Writing:
        """Make what writes the epochs of this run."""
        writing = SecondsWriting(assignment, paths, held)
        self.paths, self.folder = paths, writing.folder
        return writing


class SecondsWriting(Writing):
    """One run's epochs."""

    def __init__(self, assignment: Assignment, paths: StatePaths, held: Claim) -> None:
        super().__init__(assignment, paths, held)
        self.folder = self._place.parent
        late = self._place.with_name("too_late.json")
        self._targets = (self._file("out", self._place, ROWS), self._file("too_late", late, ROWS))

    def report(self, number: int) -> EpochReport:
        """What is said of an epoch."""
        return replace(super().report(number), late=self._late(number))

    def _write(self, epoch: Epoch, first: int, end: int) -> None:
        history, number = epoch.lineage, epoch.number
        rows = [[(second, number, history) for second in range(first, end)]]
        late = late_second(number)
        rows.append([] if late is None else [(late, number, history)])
        messages = [
            message
            for sink, (target, each) in enumerate(zip(self._targets, rows, strict=True))
            if each
            for message in written(sink, target, epoch, batch(ROWS, *each))
        ]
        commit_sinks(self._targets, epoch, messages)
        if late is not None:
            late_batches.keep(self._paths, LateBatch(history, number, self._late(number)))

    def _late(self, number: int) -> dict[str, Sequence[Stretch]]:
        second = late_second(number)
        return {} if second is None else {"out": [(second // 60, second // 60 + 1)]}


def late_second(epoch: int) -> int | None:
    """The second of the row that comes late in an epoch; None when there is none."""
    second = epoch * EPOCH_ROWS - LATE_BY
    return second if epoch % LATE_EVERY == 0 and second >= 0 else None


if __name__ == "__main__":
    sys.meta_path.insert(0, WithoutPandas())
    sys.exit(main(sys.argv[1:], Seconds()))
