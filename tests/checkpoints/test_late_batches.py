"""What came late in an epoch is told though the run is killed that has committed it, and not where it never came."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.checkpoints.late_batches import LateBatch, forget, keep, stretches, untold
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.lineage import Lineage, write_lineage

SINKS = {"counts": [(7, 8), (20, 23)]}


@pytest.fixture
def paths(tmp_path: Path) -> StatePaths:
    """A state that has come to epoch 8 of a history that left another one at 5."""
    paths = StatePaths(tmp_path)
    write_lineage(paths.lineage, Lineage("b", (("a", 5),)))
    (paths.checkpoint / "commits").mkdir(parents=True)
    (paths.checkpoint / "commits" / "8").write_text("v1")
    return paths


def test_only_batches_of_committed_epochs_of_the_history_are_told(paths: StatePaths) -> None:
    for lineage, epoch in (("a", 4), ("a", 6), ("b", 8), ("b", 9), ("c", 3)):
        keep(paths, LateBatch(lineage, epoch, SINKS))

    assert untold(paths) == [LateBatch("b", 4, SINKS), LateBatch("b", 8, SINKS)]
    assert sorted(file.name for file in paths.late.iterdir()) == ["4", "8", "9"]


def test_reported_late_batch_is_not_reported_again(paths: StatePaths) -> None:
    for epoch in (7, 8):
        keep(paths, LateBatch("b", epoch, SINKS))

    forget(paths, untold(paths)[:1])

    assert [batch.epoch for batch in untold(paths)] == [8]


def test_late_batch_of_another_lineage_is_reported_for_a_reported_epoch(paths: StatePaths) -> None:
    """A run that was replaced hears late that its epoch was taken, which the history of today has too."""
    keep(paths, LateBatch("b", 7, SINKS))
    keep(paths, LateBatch("a", 4, SINKS))

    forget(paths, [LateBatch("a", 7, SINKS), LateBatch("c", 4, SINKS)])
    assert [batch.epoch for batch in untold(paths)] == [4, 7]
    forget(paths, untold(paths))

    assert list(paths.late.iterdir()) == []


def test_a_state_that_was_never_written_has_none(tmp_path: Path) -> None:
    assert untold(StatePaths(tmp_path)) == ()


@given(st.sets(st.integers(0, 60)), st.integers(1, 8))
def test_stretches_hold_all_minutes_and_few_others(minutes: set[int], most: int) -> None:
    found = stretches(minutes, most)

    held = {minute for begin, end in found for minute in range(begin, end)}
    assert held >= minutes
    assert len(found) <= most
    assert all(before[1] < after[0] for before, after in itertools.pairwise(found))
    if len(stretches(minutes)) <= most:
        assert held == minutes
