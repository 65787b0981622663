"""A driver without Spark: it keeps Spark's rules for the logs of offsets and commits, and takes every epoch through the
code of ours that Spark's tasks and Spark's driver run."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from engine.checkpoints.layout import StatePaths
from engine.connectors.base import SinkContext, Table
from engine.delivery.durable import create_durably
from engine.delivery.epoch import Epoch
from engine.delivery.faults import Point, reach
from engine.delivery.ownership import Owner
from engine.errors import EngineError, SupersededError
from engine.spark.read.offset_log import hash_offsets
from engine.spark.run.epoch import SinkMessage, commit_sinks
from engine.spark.write.targets import Target, sink_directory
from engine.spark.write.write_segments import write_task
from tests.chaos.events import SHARDS, make_events

DONE, SUPERSEDED, OVERTAKEN, FAILED = 0, 3, 4, 5
"""How a driver ends: the input is read; a newer one has its place; another was first in a log; anything else."""


@dataclass(frozen=True, slots=True)
class Spec:
    """What a driver works on: one pipeline's state, its sinks, and about how many rows it takes in an epoch."""

    root: Path
    tables: tuple[Table, ...]
    epoch_rows: int
    seed: int
    job: str
    lineage: str = "one"

    @property
    def paths(self) -> StatePaths:
        """The state of the pipeline."""
        return StatePaths(self.root / "state")

    @property
    def end_of_input(self) -> int | None:
        """The number behind the last event, once the loop has said it."""
        path = self.root / "end"
        return int(path.read_text()) if path.exists() else None


def drive(spec: Spec, generation: int, on_commit: Callable[[int], object] = lambda number: None) -> int:
    """Take epochs until the input ends; how it ended. `on_commit` hears of each epoch that is committed."""
    checkpoint = spec.paths.checkpoint
    targets = tuple(Target(table, _place(spec, table)) for table in spec.tables)
    try:
        while True:
            number, first = _next(checkpoint)
            limit = spec.end_of_input
            if limit is not None and first >= limit:
                return DONE
            if not _plan(spec, number, first, limit, generation):
                return OVERTAKEN
            _take(spec, targets, number, first, generation)
            if not create_durably(checkpoint / "commits" / str(number), b"v1\n{}\n"):
                return OVERTAKEN
            reach(Point.AFTER_COMMIT, number)
            on_commit(number)
    except SupersededError:
        return SUPERSEDED
    except EngineError as wrong:
        (spec.root / f"failed-{generation}").write_text(f"{wrong.code}: {wrong}\n")
        return FAILED


def committed(checkpoint: Path) -> int:
    """How many events the commit log stands for."""
    newest = max(_numbers(checkpoint / "commits"), default=None)
    return 0 if newest is None else _end(checkpoint, newest)


def planned(checkpoint: Path) -> int:
    """How many events the log of offsets stands for."""
    newest = max(_numbers(checkpoint / "offsets"), default=None)
    return 0 if newest is None else _end(checkpoint, newest)


def _take(spec: Spec, targets: tuple[Target, ...], number: int, first: int, generation: int) -> None:
    checkpoint = spec.paths.checkpoint
    end = _end(checkpoint, number)
    epoch = Epoch(
        number,
        spec.lineage,
        generation,
        hash_offsets(checkpoint, number),
        watermark=end * 1_000_000,
        is_last=_is_last(checkpoint, number),
    )
    reach(Point.AFTER_OFFSETS, number)
    messages: list[SinkMessage] = []
    for task in range(SHARDS):
        rows = make_events(first, end, task)
        timed = rows.append_column("_timestamp", rows.column("n").cast(pa.timestamp("us")))
        for sink, target in enumerate(targets):
            for answer in write_task([target], epoch, [(0, timed if target.needs_event_time else rows)], task):
                assert isinstance(answer, pa.RecordBatch)
                messages += [SinkMessage(sink, row["rows"], row["message"]) for row in answer.to_pylist()]
    commit_sinks(targets, epoch, messages)
    reach(Point.AFTER_SINKS, number)


def _place(spec: Spec, table: Table) -> SinkContext:
    directory = sink_directory(spec.paths.root, table.name)
    directory.mkdir(parents=True, exist_ok=True)
    return SinkContext(directory, spec.job, Owner("chaos", spec.job))


def _next(checkpoint: Path) -> tuple[int, int]:
    """The epoch after the newest committed one, and its first event."""
    newest = max(_numbers(checkpoint / "commits"), default=-1)
    return newest + 1, 0 if newest < 0 else _end(checkpoint, newest)


def _plan(spec: Spec, number: int, first: int, limit: int | None, generation: int) -> bool:
    """Fix where an epoch ends, unless that is fixed already; False when another driver has just done so."""
    path = spec.paths.checkpoint / "offsets" / str(number)
    if path.exists():
        return True
    end = first + random.Random(f"{spec.seed} {number} {generation}").randrange(1, 2 * spec.epoch_rows)
    end = end if limit is None else min(end, limit)
    return create_durably(path, f"v1\n{{}}\n{json.dumps({'end': end, 'is_last': end == limit})}\n".encode())


def _end(checkpoint: Path, number: int) -> int:
    return int(_offset(checkpoint, number)["end"])


def _is_last(checkpoint: Path, number: int) -> bool:
    return bool(_offset(checkpoint, number)["is_last"])


def _offset(checkpoint: Path, number: int) -> dict[str, int]:
    content: dict[str, int] = json.loads((checkpoint / "offsets" / str(number)).read_text().splitlines()[2])
    return content


def _numbers(folder: Path) -> list[int]:
    return [int(path.name) for path in folder.iterdir() if path.name.isdigit()] if folder.is_dir() else []
