"""A sink that only a history has written which was left is named before anything stops."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from engine.api.plan_upgrade import check_sinks, plan_upgrade
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.lineage import Lineage, read_lineage
from engine.delivery.ledger import LedgerEntry
from engine.errors import LeftSinkError
from engine.jobs.spec import Upgrade
from engine.spark.targets import sink_directory
from tests.inspection.conftest import Kept
from tests.inspection.test_starts_in_plans import MORE, SQL

NEW = SQL + MORE


def written(state: Path, *entries: tuple[str, int]) -> None:
    """The ledger that the new sink, copies, has."""
    folder = sink_directory(state, "copies") / "ledger"
    folder.mkdir(parents=True)
    ledger = [asdict(LedgerEntry(lineage, epoch, "", 1)) for lineage, epoch in entries]
    (folder / "000000000001.json").write_text(json.dumps(ledger))


def test_it_is_named_with_the_way_out(kept: Kept) -> None:
    state = kept("updating_joins")
    written(state, ("left", 2), ("left", 3))

    with pytest.raises(LeftSinkError, match="copies was written by a version that was rolled back") as refused:
        plan_upgrade(state, NEW, (), Upgrade())

    assert "another name and another place" in str(refused.value.hint)
    assert plan_upgrade(state, SQL, (), Upgrade()) is not None


def test_one_that_the_history_has_written_once_goes_on(kept: Kept) -> None:
    state = kept("updating_joins")
    written(state, (read_lineage(StatePaths(state).lineage).id, 0), ("left", 1))

    assert plan_upgrade(state, NEW, (), Upgrade()) is not None


def test_what_is_brought_back_is_asked_for_the_history_that_it_begins_from(kept: Kept) -> None:
    state = kept("updating_joins")
    written(state, ("left", 2))
    known = read_lineage(StatePaths(state).lineage)

    check_sinks(state, NEW, (), (Lineage("left", ((known.id, 1),)), 2))
    with pytest.raises(LeftSinkError, match="copies"):
        check_sinks(state, NEW, (), (known, 1))
