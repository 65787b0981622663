"""A savepoint is behind the state that is there, or of a way that was left since."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import pytest

from engine.checkpoints import savepoints
from engine.checkpoints.claim import StatefulQuery, claim
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.lineage import Lineage, read_lineage, write_lineage
from engine.checkpoints.lineage_divergence import is_behind, refuse_gap, written_history
from engine.checkpoints.manifest import SavepointManifest, read_manifest
from engine.checkpoints.restore import restore
from engine.delivery.epoch import Epoch
from engine.delivery.ledger import LedgerEntry, WriteAfter, decide
from engine.errors import PipelineBusyError, SavepointGapError
from tests.checkpoints.conftest import commit

Clock = Callable[[], datetime]
A, B, C = Lineage("a"), Lineage("b", (("a", 4),)), Lineage("c", (("a", 4),))


@pytest.fixture
def saved(paths: StatePaths, clock: Clock) -> SavepointManifest:
    """A savepoint of the state as it is, at epoch 9 of L1."""
    savepoints.take(paths.root, "sp_1", label=None, clock=clock)
    return read_manifest(paths.savepoints / "sp_1")


@pytest.mark.parametrize(
    ("history", "saved_of", "epoch", "behind"),
    [
        (A, A, 7, True),
        (C, C, 6, True),
        (C, A, 4, True),
        (C, A, 3, True),
        (C, A, 5, False),
        (C, B, 8, False),
        (C, B, 4, True),  # b had begun nothing yet
        (C, Lineage("x"), 2, False),
        (Lineage("d", (("c", 6), ("a", 4))), C, 6, True),
        (Lineage("d", (("c", 6), ("a", 4))), C, 7, False),
        (Lineage("d", (("c", 6), ("a", 4))), A, 4, True),
    ],
)
def test_savepoint_is_behind_if_the_current_lineage_has_all_its_epochs(
    saved: SavepointManifest, history: Lineage, saved_of: Lineage, epoch: int, behind: bool
) -> None:
    manifest = replace(saved, lineage=saved_of.id, parents=saved_of.parents, epoch=epoch)

    assert is_behind(manifest, history) is behind


def test_continuing_an_abandoned_lineage_retracts_the_current_one_and_leaves_a_gap() -> None:
    """Why it is refused: the sink has taken back b's epochs 5 to 8 and takes back c's, and 9 is the next."""
    ledger = [LedgerEntry("a", number, "", 1) for number in range(5)]
    ledger += [LedgerEntry("c", number, "", 2) for number in range(5, 9)]
    gone_on = Epoch(9, "d", 3, "", (("b", 8), ("a", 4)))

    assert decide(ledger, gone_on, ever_committed=True) == WriteAfter(ledger[4], is_rewind=True)


def begin_run(paths: StatePaths) -> None:
    claim(paths, StatefulQuery("clicks", "SELECT 1", "f1", 2)).release()


def left(paths: StatePaths, saved: SavepointManifest) -> SavepointManifest:
    """A savepoint of a history that is left for one which has gone on from `saved`."""
    restore(paths.savepoints / saved.id, paths.root, allow_replay=True, new_lineage=lambda: "L2")
    begin_run(paths)
    return replace(saved, id="sp_2", lineage="gone", parents=(("L1", 9),), epoch=12)


def test_sinks_that_take_rows_back_are_named_with_the_epochs_that_would_be_missing(
    paths: StatePaths, saved: SavepointManifest
) -> None:
    gone = left(paths, saved)
    commit(paths.checkpoint, 10)

    with pytest.raises(SavepointGapError, match=r"counts, sums take back .* epochs 10 to 12") as refused:
        refuse_gap(paths, gone, lambda: ("counts", "sums"))

    assert "epoch 9 or before" in str(refused.value.hint)
    refuse_gap(paths, saved, lambda: ("counts",))
    refuse_gap(paths, gone, lambda: ())


def test_a_history_that_has_nothing_in_common_is_said_to_be_unknown(
    paths: StatePaths, saved: SavepointManifest
) -> None:
    with pytest.raises(SavepointGapError, match="no known common epoch"):
        refuse_gap(paths, replace(saved, lineage="x"), lambda: ("counts",))


def test_lineage_without_a_run_retracts_nothing(paths: StatePaths, saved: SavepointManifest) -> None:
    commit(paths.checkpoint, 10)
    newer = replace(saved, epoch=10)
    restore(paths.savepoints / "sp_1", paths.root, allow_replay=True, new_lineage=lambda: "L2")
    assert written_history(paths) == Lineage("L1")
    restore(paths.savepoints / "sp_1", paths.root, allow_replay=True, new_lineage=lambda: "L3")

    refuse_gap(paths, newer, lambda: ("counts",))
    begin_run(paths)

    with pytest.raises(SavepointGapError):
        refuse_gap(paths, newer, lambda: ("counts",))


def test_progress_of_a_replaced_state_is_forgotten(paths: StatePaths, saved: SavepointManifest) -> None:
    names = iter(("L2", "L3", "L4", "L5"))
    for _ in range(4):
        restore(paths.savepoints / "sp_1", paths.root, allow_replay=True, new_lineage=lambda: next(names))

    assert written_history(paths) == read_lineage(paths.lineage) == Lineage("L5", (("L1", 9),))


def test_a_state_that_cannot_be_read_may_be_replaced_and_one_in_a_swap_is_waited_for(
    paths: StatePaths, saved: SavepointManifest
) -> None:
    paths.lineage.unlink()
    refuse_gap(paths, replace(saved, lineage="x"), lambda: ("counts",))
    (paths.root / "incoming").mkdir()

    with pytest.raises(PipelineBusyError):
        refuse_gap(paths, saved, lambda: ("counts",))


def test_a_state_that_has_committed_nothing_has_nothing_to_take_back(
    paths: StatePaths, saved: SavepointManifest
) -> None:
    for path in (paths.checkpoint / "commits").iterdir():
        path.unlink()
    write_lineage(paths.lineage, Lineage("fresh"))

    refuse_gap(paths, saved, lambda: ("counts",))
