"""A savepoint of a state that lacks a version of a store is refused, and one that was taken so is found out."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from engine.checkpoints import savepoints
from engine.checkpoints.doctor import drill
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.manifest import read_manifest, write_manifest
from engine.checkpoints.restore import restore
from engine.checkpoints.whole_state import lacking
from engine.errors import DamagedSavepointError, UnreadableStateError

Clock = Callable[[], datetime]
KEPT = Path(__file__).parents[1] / "kept" / "2026-11"


def remove(store: Path, *endings: str) -> None:
    """Remove the files of a store, as if they were on the disk of an executor."""
    for path in store.rglob("*"):
        if path.is_file() and path.name.endswith(endings):
            path.unlink()


def test_a_savepoint_of_a_state_whose_files_are_elsewhere_is_refused(paths: StatePaths, clock: Clock) -> None:
    remove(paths.checkpoint / "state" / "0" / "0", ".changelog", ".zip", ".crc", ".sst")

    with pytest.raises(
        UnreadableStateError, match="operator 0, partition 0 has no changelog or snapshot of version 10"
    ):
        savepoints.take(paths.root, "sp_1", label=None, clock=clock)

    assert not (paths.savepoints / "sp_1").exists()


def test_a_gap_between_the_newest_version_and_its_snapshot_is_named(paths: StatePaths, clock: Clock) -> None:
    remove(paths.checkpoint / "state" / "0" / "0", "9_00000009-0000.changelog")

    with pytest.raises(UnreadableStateError, match="no changelog or snapshot of version 9"):
        savepoints.take(paths.root, "sp_1", label=None, clock=clock)


def test_a_file_of_another_run_does_not_stand_for_the_version(paths: StatePaths, clock: Clock) -> None:
    store = paths.checkpoint / "state" / "0" / "0"
    (store / "10_0000000a-0000.changelog").rename(store / "10_dead-beef.changelog")

    with pytest.raises(UnreadableStateError, match=r"version 10 \(0000000a-0000\), which epoch 9 needs"):
        savepoints.take(paths.root, "sp_1", label=None, clock=clock)


def test_a_partition_without_any_folder_is_missed(paths: StatePaths, clock: Clock) -> None:
    commit = paths.checkpoint / "commits" / "9"
    content = json.loads(commit.read_text().splitlines()[1])
    content["stateUniqueIds"]["0"].append(["ff-0000"])
    commit.write_text("v2\n" + json.dumps(content))

    with pytest.raises(UnreadableStateError, match="operator 0, partition 1"):
        savepoints.take(paths.root, "sp_1", label=None, clock=clock)


def test_savepoint_without_its_state_fails_verification_restore_and_restore_test(
    paths: StatePaths, clock: Clock, tmp_path: Path
) -> None:
    savepoints.take(paths.root, "sp_1", label=None, clock=clock)
    folder = paths.savepoints / "sp_1"
    manifest = read_manifest(folder)
    kept = tuple(file for file in manifest.files if not file.path.endswith(".changelog"))
    remove(folder, ".changelog", "manifest.json")
    write_manifest(folder, replace(manifest, files=kept))

    with pytest.raises(DamagedSavepointError, match="savepoint sp_1 is damaged: operator 0, partition 0"):
        savepoints.verify(folder)
    with pytest.raises(DamagedSavepointError):
        restore(folder, tmp_path / "other", allow_replay=True)
    with pytest.raises(DamagedSavepointError):
        drill(folder, tmp_path / "scratch", lambda: pytest.fail("nothing is left for Spark to read"))


@pytest.mark.parametrize("archive", sorted(KEPT.glob("*.tar.xz")), ids=lambda path: path.name.split(".")[0])
def test_kept_states_are_whole_until_their_changelogs_are_gone(archive: Path, tmp_path: Path) -> None:
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.glob("**/savepoints/kept")
    epoch, checkpoint = read_manifest(folder).epoch, StatePaths(folder).checkpoint
    assert lacking(checkpoint, epoch) is None

    remove(checkpoint / "state", ".changelog")

    has_state = (checkpoint / "state").is_dir()
    assert (lacking(checkpoint, epoch) is not None) == has_state


def test_each_store_of_a_join_of_spark_is_looked_at(tmp_path: Path) -> None:
    ids = ["aa", "bb"]
    (tmp_path / "commits").mkdir()
    commit = {"nextBatchWatermarkMs": 0, "stateUniqueIds": {"0": [ids]}}
    for epoch in (0, 1):
        (tmp_path / "commits" / str(epoch)).write_text(f"v2\n{json.dumps(commit)}")
    partition = tmp_path / "state" / "0" / "0"
    for store, id_ in zip(("left-keyToNumValues", "right-keyToNumValues"), ids, strict=True):
        (partition / store).mkdir(parents=True)
        for version in (1, 2):
            (partition / store / f"{version}_{id_}.changelog").touch()
    assert lacking(tmp_path, 1) is None

    (partition / "right-keyToNumValues" / "2_bb.changelog").unlink()

    assert "operator 0, partition 0 has no changelog or snapshot of version 2" in str(lacking(tmp_path, 1))
    remove(partition / "right-keyToNumValues", ".changelog")
    assert "operator 0, partition 0" in str(lacking(tmp_path, 1))
