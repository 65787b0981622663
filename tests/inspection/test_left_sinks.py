"""A sink that only a history has written which was left is named before anything stops."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from engine.checkpoints.layout import StatePaths
from engine.checkpoints.lineage import Lineage, read_lineage
from engine.cli.state import diagnosis_text
from engine.control.upgrades.plan_upgrade import check_sinks, plan_upgrade
from engine.delivery.ledger import LedgerEntry
from engine.delivery.manifests import EpochManifest, decide_manifest
from engine.delivery.rolling import OpenFile
from engine.delivery.segments import Segment
from engine.errors import LeftSinkError
from engine.inspection.diagnosis import diagnose
from engine.jobs.decisions.spec import Upgrade
from engine.spark.write.targets import sink_directory
from tests.inspection.conftest import Kept
from tests.inspection.test_starts_in_plans import MORE, SQL

NEW = SQL + MORE


def written(state: Path, *entries: tuple[str, int]) -> None:
    """The ledger that the new sink, copies, has."""
    folder = sink_directory(state, "copies") / "ledger"
    folder.mkdir(parents=True)
    ledger = [asdict(LedgerEntry(lineage, epoch, "", 1)) for lineage, epoch in entries]
    (folder / "000000000001.json").write_text(json.dumps(ledger))


def test_sink_left_by_an_earlier_version_is_named_with_the_remedy(kept: Kept) -> None:
    state = kept("updating_joins")
    written(state, ("left", 2), ("left", 3))

    with pytest.raises(LeftSinkError, match="copies was written by a version that was rolled back") as refused:
        plan_upgrade(state, NEW, (), Upgrade())

    assert "another name and another place" in str(refused.value.hint)
    assert plan_upgrade(state, SQL, (), Upgrade()) is not None


def test_sink_that_the_lineage_has_written_continues(kept: Kept) -> None:
    state = kept("updating_joins")
    written(state, (read_lineage(StatePaths(state).lineage).id, 0), ("left", 1))

    assert plan_upgrade(state, NEW, (), Upgrade()) is not None


def test_sink_that_is_added_again_is_checked_against_its_start(kept: Kept) -> None:
    state = kept("updating_joins")
    written(state, ("left", 2))
    known = read_lineage(StatePaths(state).lineage)

    check_sinks(state, NEW, (), (Lineage("left", ((known.id, 1),)), 2))
    with pytest.raises(LeftSinkError, match="copies"):
        check_sinks(state, NEW, (), (known, 1))


def open_file(state: Path, epoch: int) -> None:
    """What copies had left open after an epoch, and the segment that this is made of."""
    folder = sink_directory(state, "copies")
    segment = Segment("segments/000000000003-left/00000-a", 120, 4, "")
    (folder / segment.path).parent.mkdir(parents=True, exist_ok=True)
    (folder / segment.path).write_text("rows")
    decide_manifest(folder, EpochManifest("left", epoch, "", 1, (), (OpenFile("", 0, 1, (segment,)),)))


def test_the_doctor_says_what_a_sink_has_left_that_is_not_written_any_more(kept: Kept) -> None:
    state = kept("updating_joins")
    assert diagnose(state).left == ()
    written(state, ("left", 2), ("left", 3))
    open_file(state, 3)

    diagnosis = diagnose(state)

    (left,) = diagnosis.left
    assert (left.name, left.epoch, left.open_files, left.open_rows) == ("copies", 3, 1, 120)
    assert (left.segments, left.bytes, left.undecided, left.unknown) == (1, 4, None, None)
    told = diagnosis_text(diagnosis, explains=True)
    assert told.startswith(f"{state} is whole")
    assert "120 rows of 1 files that it had left open are never published; 1 segments of 4 bytes lie in" in told
    assert diagnosis_text(diagnosis, explains=False) == f"{state} is whole"
    assert diagnosis.to_json()["left"] == [left.to_json()]


def test_an_epoch_of_which_only_the_target_knows_is_said_and_so_is_what_cannot_be_read(kept: Kept) -> None:
    state = kept("updating_joins")
    written(state, ("left", 2))
    open_file(state, 3)
    assert [left.undecided for left in diagnose(state).left] == [3]
    assert "epoch 3 was to be written, and only its target can tell" in str(diagnose(state).left[0])

    (sink_directory(state, "copies") / "manifests" / "000000000003-left.json").write_text("{")

    (left,) = diagnose(state).left
    assert left.unknown is not None
    assert (left.segments, left.undecided) == (1, None)
