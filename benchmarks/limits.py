"""`python -m benchmarks.limits`: what a driver spends for each partition, note and file of an epoch, and where it ends.

CPU in microseconds, without Spark: the planner reads the notes of an epoch and plans the next one, its offset is
written as JSON, and a source lists a directory. `docs/how-to/cluster-limits.md` extrapolates from these figures.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from engine.connectors.base import Chunk, Position, Slice
from engine.connectors.files.listing import list_files
from engine.spark.read import notes
from engine.spark.read.planner import Planner, PlanSpec
from engine.spark.read.watermarks import Activity

PARTITIONS, FILES, ROUNDS = 1000, 20_000, 3
_START = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass
class _Growing:
    """A source of many partitions, each with ten rows more at every look."""

    at: int = 10
    bounded: bool = False

    def partitions(self) -> Sequence[str]:
        return [f"events-{number}" for number in range(PARTITIONS)]

    def start(self, partition: str) -> Position:
        return 0

    def advance(self, at: Mapping[str, Position], max_rows: int | None) -> Mapping[str, Position]:
        return dict.fromkeys(at, self.at)

    def is_finished(self, partition: str, at: Position) -> bool:
        return False

    def slices(self, partition: str, start: Position, end: Position, tasks: int) -> Sequence[Slice]:
        return [Slice(partition, start, end)]

    def read(self, task_slice: Slice) -> Iterator[Chunk]:
        raise AssertionError("nothing is read here")


def main() -> None:
    """Print a line for each cost."""
    with tempfile.TemporaryDirectory() as folder:
        cost, size = _planner(Path(folder))
        print(f"planner, a partition with a note   {cost:8.1f} us, {size:.0f} bytes of the offset log")
    with tempfile.TemporaryDirectory() as folder:
        print(f"listing, a file of a directory     {_listing(Path(folder)):8.1f} us")


def _planner(folder: Path) -> tuple[float, float]:
    """Return the CPU of planning an epoch, and the bytes of its offset, for each partition."""
    source = _Growing()
    activity = Activity(timedelta(minutes=5), {})
    planner = Planner(PlanSpec("events", folder, checks_notes=True), source, activity, lambda: _START)
    planned = planner.next(planner.first())
    best = float("inf")
    for _ in range(ROUNDS):
        for partition in source.partitions():
            notes.leave(folder, partition, 0, notes.ReaderNote(source.at, 1_000_000, 0, 10, 2_000_000, 1))
        source.at += 10
        best = min(best, _cpu(partial(planner.next, planned)))
        planned = planner.next(planned)
        assert planned.watermark == 1_000_000
    return 1e6 * best / PARTITIONS, len(json.dumps(planned.to_json())) / PARTITIONS


def _listing(folder: Path) -> float:
    for number in range(FILES):
        (folder / f"{number:06}.json").write_bytes(b"{}\n")
    return 1e6 * min(_cpu(lambda: list_files(folder, None, by_time=True)) for _ in range(ROUNDS)) / FILES


def _cpu(work: Callable[[], object]) -> float:
    """Return the seconds of CPU that a call takes."""
    before = time.process_time()
    work()
    return time.process_time() - before


if __name__ == "__main__":
    main()
