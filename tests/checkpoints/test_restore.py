"""Going back to a savepoint, and putting states in each other's place."""

import hashlib
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from engine.checkpoints import savepoints, spark_log, swap
from engine.checkpoints.layout import StatePaths, read_json, write_json
from engine.checkpoints.lineage import Lineage, read_lineage, write_lineage
from engine.checkpoints.manifest import SavedFile, read_manifest, write_manifest
from engine.checkpoints.restore import restore
from engine.errors import DamagedSavepointError, ReplayError
from tests.checkpoints.conftest import commit

Clock = Callable[[], datetime]


@pytest.fixture
def saved(paths: StatePaths, clock: Clock) -> Path:
    """A savepoint at epoch 9."""
    savepoints.take(paths.root, "sp_1", label=None, clock=clock)
    return paths.savepoints / "sp_1"


def test_the_state_is_that_of_the_savepoint_in_a_new_history(paths: StatePaths, saved: Path) -> None:
    restore(saved, paths.root, allow_replay=False, new_lineage=lambda: "L2")

    assert spark_log.newest_commit(paths.checkpoint) == 9
    assert not (paths.checkpoint / "commits" / "7").exists()
    assert read_lineage(paths.lineage) == Lineage("L2", (("L1", 9),))
    savepoints.verify(saved)


def test_a_state_that_has_gone_on_is_only_rewound_when_that_is_said(paths: StatePaths, saved: Path) -> None:
    commit(paths.checkpoint, 10)

    with pytest.raises(ReplayError, match="has committed 1 epoch since savepoint"):
        restore(saved, paths.root, allow_replay=False)
    assert spark_log.newest_commit(paths.checkpoint) == 10

    restore(saved, paths.root, allow_replay=True)
    assert spark_log.newest_commit(paths.checkpoint) == 9


def test_restoring_twice_is_a_replay_and_remembers_both_histories(paths: StatePaths, saved: Path, clock: Clock) -> None:
    restore(saved, paths.root, allow_replay=False, new_lineage=lambda: "L2")
    commit(paths.checkpoint, 10)
    savepoints.take(paths.root, "sp_2", label=None, clock=clock)

    with pytest.raises(ReplayError, match="another history"):
        restore(saved, paths.root, allow_replay=False)
    restore(paths.savepoints / "sp_2", paths.root, allow_replay=False, new_lineage=lambda: "L3")

    assert read_lineage(paths.lineage) == Lineage("L3", (("L2", 10), ("L1", 9)))


def test_restoring_once_more_before_anything_is_committed_repeats_nothing(paths: StatePaths, saved: Path) -> None:
    restore(saved, paths.root, allow_replay=False, new_lineage=lambda: "L2")

    restore(saved, paths.root, allow_replay=False, new_lineage=lambda: "L3")

    assert read_lineage(paths.lineage) == Lineage("L3", (("L1", 9),))
    assert spark_log.newest_commit(paths.checkpoint) == 9


def test_restore_after_a_take_over_without_commits_repeats_nothing(paths: StatePaths, saved: Path) -> None:
    restore(saved, paths.root, allow_replay=False, new_lineage=lambda: "L2")
    write_json(paths.pipeline, {**(read_json(paths.pipeline) or {}), "fingerprint": "of another query"})

    restore(saved, paths.root, allow_replay=False, save_as="sp_3", new_lineage=lambda: "L3")

    assert read_lineage(paths.lineage) == Lineage("L3", (("L1", 9),))
    assert (paths.savepoints / "sp_3").exists(), "what it had become is not the savepoint's"


def test_sinks_keep_what_they_know(paths: StatePaths, saved: Path) -> None:
    (paths.sinks / "out").mkdir(parents=True)
    (paths.sinks / "out" / "ledger.json").write_text("[]")

    restore(saved, paths.root, allow_replay=False)

    assert (paths.sinks / "out" / "ledger.json").exists()


def test_savepoint_can_be_restored_to_an_empty_location(tmp_path: Path, saved: Path) -> None:
    fresh = StatePaths(tmp_path / "fresh")
    fresh.root.mkdir()

    restore(saved, fresh.root, allow_replay=False)

    assert spark_log.newest_commit(fresh.checkpoint) == 9
    assert fresh.pipeline.exists()


def test_a_damaged_savepoint_leaves_the_state_as_it_is(paths: StatePaths, saved: Path) -> None:
    (saved / "checkpoint" / "metadata").unlink()

    with pytest.raises(DamagedSavepointError):
        restore(saved, paths.root, allow_replay=True)

    assert (paths.checkpoint / "commits" / "7").exists()
    assert not (paths.root / "incoming").exists()


@pytest.mark.parametrize("survived", range(7))
def test_a_kill_at_any_point_gives_the_old_state_or_the_new_one_whole(
    paths: StatePaths, saved: Path, survived: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    renames = iter(range(100))
    original = Path.rename

    def rename(self: Path, target: Path) -> Path:
        if next(renames) == survived:
            raise Killed
        return original(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", rename)
        with pytest.raises(Killed):
            restore(saved, paths.root, allow_replay=False, new_lineage=lambda: "L2")

    swap.finish_swap(paths)

    history = read_lineage(paths.lineage).id
    assert history == ("L1" if survived == 0 else "L2")
    assert (paths.checkpoint / "commits" / "7").exists() == (history == "L1")
    assert (paths.watermarks / "t" / "note-0.json").exists()
    assert not (paths.root / "incoming").exists()


def test_only_the_last_replaced_states_are_kept(paths: StatePaths, saved: Path) -> None:
    for _ in range(4):
        restore(saved, paths.root, allow_replay=True)

    assert sorted(entry.name for entry in (paths.root / "replaced").iterdir()) == ["000003", "000004"]


def test_the_state_that_is_there_can_be_saved_before_another_takes_its_place(paths: StatePaths, saved: Path) -> None:
    commit(paths.checkpoint, 10)

    restore(saved, paths.root, allow_replay=True, save_as="sp_before")
    restore(saved, paths.root, allow_replay=True, save_as="sp_before")

    assert savepoints.verify(paths.savepoints / "sp_before").epoch == 10
    assert spark_log.newest_commit(paths.checkpoint) == 9


def test_a_restore_that_was_cut_short_does_not_save_what_it_has_put_there(paths: StatePaths, saved: Path) -> None:
    restore(saved, paths.root, allow_replay=True)

    restore(saved, paths.root, allow_replay=True, save_as="sp_before")

    assert not (paths.savepoints / "sp_before").exists()


def test_a_state_that_cannot_be_read_is_replaced_without_being_saved(paths: StatePaths, saved: Path) -> None:
    paths.lineage.unlink()  # the savepoint has the same file
    paths.lineage.write_text("{")

    restore(saved, paths.root, allow_replay=True, save_as="sp_before")

    assert not (paths.savepoints / "sp_before").exists()
    assert read_lineage(paths.lineage).parents == (("L1", 9),)


@pytest.mark.parametrize(
    ("current", "saved", "epoch", "left_at"),
    [
        (Lineage("a"), Lineage("a"), 7, 7),
        (Lineage("b", (("a", 9),)), Lineage("a"), 7, 7),
        (Lineage("c", (("a", 4),)), Lineage("b", (("a", 9),)), 20, 4),
        (Lineage("c", (("b", 9), ("a", 4))), Lineage("b", (("a", 4),)), 20, 9),
        (Lineage("x"), Lineage("a"), 7, None),
    ],
)
def test_two_histories_know_the_last_epoch_that_they_have_in_common(
    current: Lineage, saved: Lineage, epoch: int, left_at: int | None
) -> None:
    assert current.left_at(saved, epoch) == left_at


def test_a_fork_has_nothing_of_what_the_sinks_of_the_savepoint_had_left_open(
    paths: StatePaths, clock: Clock, tmp_path: Path
) -> None:
    saved = paths.savepoints / "sp_1"
    savepoints.take(paths.root, "sp_1", label=None, clock=clock)
    manifest = read_manifest(saved)
    (saved / "open_files" / "out").mkdir(parents=True)
    (saved / "open_files" / "out" / "0").write_text("rows")
    file = SavedFile("open_files/out/0", 4, hashlib.sha256(b"rows").hexdigest())
    write_manifest(saved, replace(manifest, files=(*manifest.files, file)))

    restore(saved, tmp_path / "fork", allow_replay=False, is_fork=True)
    restore(saved, tmp_path / "twin", allow_replay=False)

    assert not (tmp_path / "fork" / "open_files").exists()
    assert (tmp_path / "twin" / "open_files" / "out" / "0").exists()


def test_a_state_of_another_pipeline_goes_on_with_the_sinks_of_the_one_in_whose_place_it_is_put(
    paths: StatePaths, saved: Path, clock: Clock, tmp_path: Path
) -> None:
    other = StatePaths(tmp_path / "other")
    shutil.copytree(paths.root, other.root)
    write_lineage(other.lineage, Lineage("P1", (("P0", 3),)))
    for epoch in range(10, 21):
        commit(other.checkpoint, epoch)

    for _ in range(2):  # killed before anybody had heard of it, it is done again
        restore(saved, other.root, allow_replay=True, save_as="before", is_fork=True, new_lineage=lambda: "N")
        assert read_lineage(other.lineage) == Lineage("N", (("L1", 9), ("P1", 20), ("P0", 3)))
    assert spark_log.newest_commit(other.checkpoint) == 9
    assert read_manifest(other.savepoints / "before").epoch == 20


def test_a_fork_with_no_state_of_its_own_has_the_history_of_its_savepoint_alone(saved: Path, tmp_path: Path) -> None:
    restore(saved, tmp_path / "fork", allow_replay=True, is_fork=True, new_lineage=lambda: "N")

    assert read_lineage(StatePaths(tmp_path / "fork").lineage) == Lineage("N", (("L1", 9),))
