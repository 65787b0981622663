"""Rows of files that are still open when a savepoint is taken."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime

import pytest

from engine.checkpoints import savepoints
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.lineage import read_lineage
from engine.checkpoints.restore import restore
from engine.delivery.epoch import Epoch
from tests.checkpoints.conftest import commit
from tests.connectors.tables import NUMBERS, batch, sink, table, take

Clock = Callable[[], datetime]


class Writer:
    """Writes the number of each epoch into files that become final when they have thirty bytes or more."""

    def __init__(self, paths: StatePaths) -> None:
        self.paths = paths
        self.out = paths.root.parent / "out"

    def take(self, *numbers: int, is_last: bool = False) -> None:
        of = table("filesystem", NUMBERS, path=self.out, type="sink", format="json", rolling_policy__file_size=30)
        lineage = read_lineage(self.paths.lineage)
        generation = len(lineage.parents) + 1
        for number in numbers:
            epoch = Epoch(number, lineage.id, generation, f"{number}", lineage.parents, None, is_last)
            take(sink(of, self.paths.sinks / "t"), epoch, [batch(NUMBERS, (number, "a"))])

    def visible_numbers(self) -> list[int]:
        lines = [line for path in self.out.glob("*.json") for line in path.read_text().splitlines()]
        return sorted(json.loads(line)["n"] for line in lines)


@pytest.fixture
def writer(paths: StatePaths) -> Writer:
    """A sink at the newest epoch of the state, with one row that is not seen yet."""
    writer = Writer(paths)
    writer.take(*range(11))
    commit(paths.checkpoint, 10)
    return writer


def test_a_restore_brings_back_the_rows_of_files_that_were_open(
    paths: StatePaths, writer: Writer, clock: Clock
) -> None:
    savepoints.take(paths.root, "sp_1", label=None, clock=clock)
    assert writer.visible_numbers() == list(range(10))
    writer.take(11, 12, 13, 14)  # publishes the row, and forgets it
    assert writer.visible_numbers() == list(range(14))

    restore(paths.savepoints / "sp_1", paths.root, allow_replay=True)
    writer.take(11)

    assert writer.visible_numbers() == list(range(12))
    writer.take(12, 13, is_last=True)
    assert writer.visible_numbers() == list(range(14))


def test_a_savepoint_of_a_restored_state_has_the_rows_once_more(
    paths: StatePaths, writer: Writer, clock: Clock
) -> None:
    savepoints.take(paths.root, "sp_1", label=None, clock=clock)
    writer.take(11, 12, 13, 14)
    restore(paths.savepoints / "sp_1", paths.root, allow_replay=True)
    savepoints.take(paths.root, "sp_2", label=None, clock=clock)
    restore(paths.savepoints / "sp_2", paths.root, allow_replay=True)

    writer.take(11, 12)

    assert writer.visible_numbers() == list(range(12))
    assert not list((paths.root / "open_files").rglob("*.segment"))


def test_files_published_by_the_next_epoch_can_still_be_saved(paths: StatePaths, writer: Writer, clock: Clock) -> None:
    writer.take(11)  # and the checkpoint has not committed it yet

    manifest = savepoints.take(paths.root, "sp_1", label=None, clock=clock)

    assert manifest.epoch == 10
    assert {file.path for file in manifest.files if file.path.startswith("open_files")} == {
        "open_files/t/000000.segment", "open_files/t/manifest.json",
    }  # fmt: skip


def test_the_successor_keeps_its_rows_when_the_run_it_replaced_clears_away(
    paths: StatePaths, writer: Writer, clock: Clock
) -> None:
    savepoints.take(paths.root, "sp_1", label=None, clock=clock)
    old = writer.paths.root / "sinks" / "t" / "segments"
    restore(paths.savepoints / "sp_1", paths.root, allow_replay=True)
    for path in [path for path in old.rglob("*") if path.is_file()]:
        path.unlink()

    writer.take(11)

    assert writer.visible_numbers() == list(range(12))
