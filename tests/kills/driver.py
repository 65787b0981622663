"""A driver without Spark whose state, savepoints, restores and sink are real: it keeps Spark's rules for the logs of
offsets and commits, and takes every epoch through the code of ours that Spark's driver and tasks run.

It writes numbered events into the file that its query names. Once there is a file `end` beside it, it writes into that
where they end, a few epochs on, and comes to it. It notes every epoch that it begins in the file `writers`.
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, Literal

import pyarrow as pa

from engine.checkpoints import rescale, restore
from engine.checkpoints.carry_over import carry_over
from engine.checkpoints.claim import Claim, StatefulQuery, claim
from engine.checkpoints.layout import StatePaths, write_text
from engine.checkpoints.lineage import read_lineage
from engine.checkpoints.savepoints import Request, take_requested
from engine.checkpoints.spark_log import newest_commit, numbers, read_planned
from engine.checkpoints.swap import StatePoint, scratch
from engine.connectors.base import SinkContext
from engine.delivery.durable import create_durably, replace_durably
from engine.delivery.epoch import Epoch
from engine.delivery.faults import Point, reach
from engine.delivery.ownership import Owner
from engine.driver.control_plane_client import StopMode
from engine.driver.main import main
from engine.driver.run_log import RunListener
from engine.errors import NothingToSaveError, OutOfRangeError, SupersededError
from engine.jobs.decisions.spec import Upgrade
from engine.jobs.processes.assignment import Assignment
from engine.schema import Schema
from engine.spark.read.offset_log import hash_offsets
from engine.spark.run.epoch import SinkMessage, commit_sinks
from engine.spark.write.targets import Target, sink_directory
from engine.spark.write.write_segments import write_task
from engine.values.epoch_report import EpochReport
from engine.values.instants import from_micros, now
from engine.values.start_positions import StartStep
from tests.chaos.events import SCHEMA, SHARDS, make_events
from tests.connectors.tables import table
from tests.quick_reports import quick_report

EPOCH_ROWS = 50
EPOCHS_TO_THE_END = 4
PACE = 0.2
WONT_RUN = "counter + 13"
"""A query with this in it takes over the state of the one before it, and fails."""
_COMMIT = json.dumps({"nextBatchWatermarkMs": 0})


class StandInWork:
    """Writes events in the place of a query."""

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def stop(self, mode: StopMode) -> None:
        """End after the epoch in hand."""
        self._stopped.set()

    def hold(self, lock: IO[str]) -> None:
        """Keep nothing: no other process works for it."""

    def run(self, assignment: Assignment, listener: RunListener) -> Literal["finished", "stopped"]:
        """Write events until stopped, or until there are no more."""
        paths = StatePaths(assignment.state_dir)
        query = StatefulQuery(assignment.name, assignment.query, _fingerprint(assignment), assignment.parallelism)
        held = claim(
            paths,
            query,
            generation=assignment.generation,
            force=assignment.force,
            takes_over=assignment.upgrade is not None,
            owner=assignment.pipeline_id,
        )
        if assignment.upgrade is not None:
            held = _take_over(paths, query, held, assignment.upgrade)
        if WONT_RUN in assignment.query:
            raise OutOfRangeError("the query fails at its first row", hint="mend it")
        listener.sign(StartStep.FIRST_EPOCH)
        writing = self.begin(assignment, paths, held)
        while not self._stopped.wait(self.pace(listener)):
            number = writing.take_next()
            if number is None:
                return "finished"
            listener.report(writing.report(number))
        return "stopped"

    def pace(self, listener: RunListener) -> float:
        """How long to rest before the next epoch, in seconds."""
        return PACE

    def begin(self, assignment: Assignment, paths: StatePaths, held: Claim) -> Writing:
        """Make what writes the epochs of this run."""
        return Writing(assignment, paths, held)

    def rescale(self, state: Path, parallelism: int) -> None:
        """Lay a state out that has no rows: with the folder for them, the whole way is gone."""
        if newest_commit(StatePaths(state).checkpoint) is not None:
            (StatePaths(state).checkpoint / "state").mkdir(exist_ok=True)
        rescale.repartition(state, parallelism, _spark_that_lays_out)

    def restore(
        self, savepoint: Path, state: Path, allow_replay: bool, save_as: str | None, is_fork: bool = False
    ) -> None:
        """Put a savepoint where the state is."""
        restore.restore(savepoint, state, allow_replay=allow_replay, save_as=save_as, is_fork=is_fork)


def _take_over(paths: StatePaths, query: StatefulQuery, held: Claim, upgrade: Upgrade) -> Claim:
    """Save the state that is another query's, and carry over all but rows, of which it has none."""
    if upgrade.savepoint_id is not None:
        versions = {upgrade.from_plan: upgrade.from_version} if upgrade.from_plan and upgrade.from_version else {}
        with suppress(NothingToSaveError):
            take_requested(paths.root, Request(upgrade.savepoint_id, reason="upgrade", versions=versions), now)
    if not held.is_foreign:
        return held
    with scratch(paths) as skeleton:
        content = {"table": "t", "notes": "t", "first": {}}
        write_text(skeleton / "metadata", '{"id":"query"}')
        write_text(skeleton / "offsets" / "0", "\n".join(["v1", _about(held.parallelism), json.dumps(content)]))
        write_text(skeleton / "commits" / "0", f"v2\n{_COMMIT}\n")
        reach(StatePoint.AFTER_SKELETON)
        carry_over(paths, skeleton, {}, query)
    lineage = read_lineage(paths.lineage)
    return replace(held, lineage=lineage.id, parents=lineage.parents, is_foreign=False)


def _spark_that_lays_out() -> Any:
    """What a rescale asks of Spark: one more epoch, without rows, in another width."""

    def repartition(checkpoint: str, parallelism: int) -> None:
        folder = Path(checkpoint)
        epoch = max(numbers(folder / "commits"))
        planned = read_planned(folder, epoch).cut_into(parallelism)
        write_text(folder / "offsets" / str(epoch + 1), planned.text())
        write_text(folder / "commits" / str(epoch + 1), f"v2\n{_COMMIT}\n")

    manager = SimpleNamespace(repartition=repartition)
    return SimpleNamespace(streams=SimpleNamespace(active=()), _streamingCheckpointManager=manager)


def _about(parallelism: int) -> str:
    """What Spark notes of an epoch."""
    return json.dumps({"batchWatermarkMs": 0, "conf": {"spark.sql.shuffle.partitions": str(parallelism)}})


class Writing:
    """One run's epochs."""

    def __init__(self, assignment: Assignment, paths: StatePaths, held: Claim) -> None:
        self._paths, self._checkpoint, self._claim = paths, paths.checkpoint, held
        self._place = _output(assignment.query)
        name = self._place.name.partition(".")[0]
        self._end, self._writers = (self._place.with_name(f"{name}.{role}") for role in ("end", "writers"))
        self._owner = Owner(assignment.name, held.owner)
        self._job_id = assignment.job_id
        self._target = self._file("out", self._place, SCHEMA)
        self._checkpoint.mkdir(parents=True, exist_ok=True)
        if not (self._checkpoint / "metadata").exists():
            (self._checkpoint / "metadata").write_text('{"id":"query"}')

    def _file(self, sink: str, place: Path, schema: Schema) -> Target:
        directory = sink_directory(self._paths.root, sink)
        directory.mkdir(parents=True, exist_ok=True)
        to = table("single_file", schema, path=place, type="sink", format="json")
        return Target(to, SinkContext(directory, self._job_id, self._owner))

    def take_next(self) -> int | None:
        """Take the next epoch; None when there are no more events."""
        newest = newest_commit(self._checkpoint)
        number, first = (0, 0) if newest is None else (newest + 1, self._end_of(newest))
        limit = self._limit(first) if self._end.exists() else None
        if limit is not None and first >= limit:
            return None
        self._plan(number, first, limit)
        reach(Point.AFTER_OFFSETS, number)
        with self._writers.open("a") as notes:
            notes.write(f"{self._claim.generation} {number}\n")
        self._write(self._epoch(number), first, self._end_of(number))
        reach(Point.AFTER_SINKS, number)
        if not create_durably(self._checkpoint / "commits" / str(number), f"v2\n{_COMMIT}\n".encode()):
            raise SupersededError("another run has committed the epoch")
        reach(Point.AFTER_COMMIT, number)
        return number

    def _limit(self, first: int) -> int:
        """Where the events end. The first driver that is asked chooses it: nobody else knows how far it is by now."""
        if not (text := self._end.read_text()):
            text = str(first + EPOCHS_TO_THE_END * EPOCH_ROWS + 7)
            replace_durably(self._end, text.encode())
        return int(text)

    def report(self, number: int) -> EpochReport:
        """What is said of an epoch."""
        watermark = from_micros(self._end_of(number) * 1_000_000)
        lineage = self._claim.lineage
        return quick_report(number, watermark, "t", rows_in=EPOCH_ROWS, rows_out=EPOCH_ROWS, lineage=lineage)

    def _plan(self, number: int, first: int, limit: int | None) -> None:
        end = first + EPOCH_ROWS if limit is None else min(first + EPOCH_ROWS, limit)
        source = json.dumps({"table": "t", "at": {"0": end}, "wm": end * 1_000_000, "end": end})
        lines = "\n".join(["v1", _about(self._claim.parallelism), source])
        create_durably(self._checkpoint / "offsets" / str(number), lines.encode())

    def _epoch(self, number: int) -> Epoch:
        return Epoch(
            number,
            self._claim.lineage,
            self._claim.generation,
            hash_offsets(self._checkpoint, number),
            self._claim.parents,
            watermark=self._end_of(number) * 1_000_000,
        )

    def _write(self, epoch: Epoch, first: int, end: int) -> None:
        messages: list[SinkMessage] = []
        for task in range(SHARDS):
            messages += written(0, self._target, epoch, make_events(first, end, task), task)
        commit_sinks((self._target,), epoch, messages)

    def _end_of(self, number: int) -> int:
        lines = (self._checkpoint / "offsets" / str(number)).read_text().splitlines()
        return int(json.loads(lines[2])["end"])


def written(sink: int, target: Target, epoch: Epoch, rows: pa.RecordBatch, task: int = 0) -> Iterator[SinkMessage]:
    """Write a task's rows for a sink; what its commit has to know of them."""
    for answer in write_task([target], epoch, [(0, rows)], task):
        assert isinstance(answer, pa.RecordBatch)
        for row in answer.to_pylist():
            yield SinkMessage(sink, row["rows"], row["message"])


def _output(query: str) -> Path:
    """The file that the query writes."""
    path = re.search(r"path = '([^']+)'", query)
    assert path is not None
    return Path(path[1])


def _fingerprint(assignment: Assignment) -> str:
    """That of the plan, as the control plane has worked it out."""
    database = sqlite3.connect(assignment.server_file.with_name("arroyo.db"), timeout=30)
    try:
        rows = database.execute(
            "SELECT fingerprint FROM versions WHERE pipeline_id = ? ORDER BY number DESC", (assignment.pipeline_id,)
        )
        return str(rows.fetchone()[0])
    finally:
        database.close()


class WithoutPandas(MetaPathFinder):
    """pyarrow asks for pandas at its first array, which would take longer to load than all else."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        """Refuse it."""
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname)


if __name__ == "__main__":
    sys.meta_path.insert(0, WithoutPandas())
    sys.exit(main(sys.argv[1:], StandInWork()))
