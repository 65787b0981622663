"""The watermark of a watched directory, from its files to the plan of the next epoch, without Spark."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from engine.compile import compile_script
from engine.connectors.filesystem.options import FilesystemSourceOptions
from engine.connectors.filesystem.watched import WatchedFilesystemSource
from engine.spark.read.planner import Offset, Planner, PlanSpec
from engine.spark.read.reading import SliceReading
from engine.spark.read.scan_spec import WITH_WATERMARK, AssignedSlice, EpochMoment, ScanSpec
from engine.spark.read.watermarks import Activity
from engine.values.instants import from_micros

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
NOW = NOON + timedelta(days=1)
SQL = """
CREATE TABLE sales (at TIMESTAMP NOT NULL, WATERMARK FOR at AS at - INTERVAL '10 seconds')
WITH (connector = 'filesystem', path = '{folder}', format = 'json', type = 'source', 'source.watch' = true);
SELECT count(*) FROM sales GROUP BY tumble(INTERVAL '1 hour');
"""


class WatchedTable:
    """A watched directory, its planner, and a reader in the place of Spark's tasks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "in"
        self.folder.mkdir()
        program = compile_script(SQL.format(folder=self.folder))
        table = program.tables["sales"]
        assert isinstance(table.options, FilesystemSourceOptions)
        self.source = WatchedFilesystemSource(table, table.options, clock=lambda: int(NOW.timestamp()) * 1_000_000_000)
        plan = PlanSpec("sales", folder / "notes")
        self.spec = ScanSpec(table, program.scans["sales"], plan, WITH_WATERMARK)
        self.planner = Planner(plan, self.source, Activity(timedelta(minutes=5), {}), lambda: NOW)
        self.offset = self.planner.first()

    def put(self, name: str, *times: datetime) -> None:
        """Let a file arrive, an instant after the one before it."""
        lines = "".join(json.dumps({"at": time.isoformat()}) + "\n" for time in times)
        (self.folder / name).write_text(lines)
        changed = int(NOON.timestamp()) + len(list(self.folder.iterdir()))
        os.utime(self.folder / name, (changed, changed))

    def epochs(self) -> Iterator[Offset]:
        """Plan and read epochs until there is nothing to do."""
        while (end := self.planner.next(self.offset)) is not self.offset:
            self._read(self.offset, end)
            self.offset = end
            yield end

    def watermark(self) -> datetime | None:
        """The watermark once all is read that is there."""
        for _ in self.epochs():
            pass
        return None if self.offset.watermark is None else from_micros(self.offset.watermark)

    def _read(self, start: Offset, end: Offset) -> None:
        for name, count in end.moved.items():
            slices = self.source.slices(name, start.positions.get(name, {}), end.positions[name], count)
            for index, part in enumerate(slices):
                assigned = AssignedSlice(part, index, end.positions[name])
                reading = SliceReading(self.spec, assigned, EpochMoment(end.watermark or 0, end.planned))
                for chunk in self.source.read(part):
                    reading.take(chunk)
                reading.close()


def minutes(first: int, last: int) -> list[datetime]:
    return [NOON + timedelta(minutes=minute) for minute in range(first, last)]


def test_a_small_file_of_ten_hours_moves_the_watermark_to_its_last_row(tmp_path: Path) -> None:
    table = WatchedTable(tmp_path)
    table.put("sales.json", *minutes(0, 601))

    assert table.watermark() == NOON + timedelta(hours=10, seconds=-10)


def test_an_hour_closes_with_the_file_that_completes_it(tmp_path: Path) -> None:
    table = WatchedTable(tmp_path)
    table.put("12.json", *minutes(0, 60))
    assert table.watermark() == NOON + timedelta(minutes=59, seconds=-10)

    table.put("13.json", NOON + timedelta(minutes=60, seconds=30), *minutes(62, 120))

    assert table.watermark() == NOON + timedelta(minutes=119, seconds=-10)


def test_files_of_one_epoch_are_measured_by_the_watermark_before_them(tmp_path: Path) -> None:
    table = WatchedTable(tmp_path)
    table.put("13.json", *minutes(60, 120))
    table.put("12.json", *minutes(0, 60))

    first, last = table.epochs()

    assert first.watermark is None, "nothing of the two files is late"
    assert (last.moved, last.watermark) == (
        {},
        int((NOON + timedelta(minutes=119, seconds=-10)).timestamp()) * 1_000_000,
    )


def test_a_row_of_the_far_future_does_not_make_the_next_file_late(tmp_path: Path) -> None:
    table = WatchedTable(tmp_path)
    table.put("12.json", *minutes(0, 60), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC))

    assert table.watermark() == NOON + timedelta(minutes=59, seconds=-10)
