"""What a savepoint holds, and that half of one does not exist."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from engine.checkpoints import savepoints, state_files, swap
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.manifest import Origin, read_manifest
from engine.errors import DamagedSavepointError, NothingToSaveError, SavepointError, SavepointNotFoundError
from tests.checkpoints.conftest import commit, plan

Clock = Callable[[], datetime]

DIES_BEFORE_THE_MANIFEST = """
import os, sys
from pathlib import Path
from engine.checkpoints import savepoints
savepoints.take(Path(sys.argv[1]), "sp_1", label=None, clock=lambda: os._exit(9))
"""


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_savepoint_contains_only_the_newest_epoch(paths: StatePaths, clock: Clock) -> None:
    manifest = savepoints.take(paths.root, "sp_1", label="before the move", clock=clock)

    saved = names(paths.savepoints / "sp_1")
    assert (manifest.epoch, manifest.lineage, manifest.parallelism, manifest.fingerprint) == (9, "L1", 2, "f1")
    assert manifest.watermark == 9_000_000
    assert saved == {
        "manifest.json", "pipeline.json", "lineage.json", "watermarks/t/note-0.json", "checkpoint/metadata",
        "checkpoint/offsets/8", "checkpoint/offsets/9", "checkpoint/commits/8", "checkpoint/commits/9",
        "checkpoint/state/0/_metadata/metadata", "checkpoint/state/0/0/SSTs/000008.sst",
        "checkpoint/state/0/0/8_00000008-0000.zip", "checkpoint/state/0/0/9_00000009-0000.changelog",
        "checkpoint/state/0/0/10_0000000a-0000.changelog",
    }  # fmt: skip
    assert {file.path for file in manifest.files} == saved - {"manifest.json"}
    assert savepoints.verify(paths.savepoints / "sp_1") == manifest


def test_files_of_a_killed_run_are_left_out(paths: StatePaths, clock: Clock) -> None:
    store = paths.checkpoint / "state" / "0" / "0"
    (store / "10_dead-beef.changelog").write_text("of a killed run")
    (store / "11_dead-beef.changelog").write_text("of an epoch that was never committed")

    savepoints.take(paths.root, "sp_1", label=None, clock=clock)

    assert not any("dead" in name for name in names(paths.savepoints / "sp_1"))


def test_the_plan_of_the_next_epoch_is_kept_since_it_may_have_been_acted_upon(paths: StatePaths, clock: Clock) -> None:
    plan(paths.checkpoint, 10)

    manifest = savepoints.take(paths.root, "sp_1", label=None, clock=clock)

    assert manifest.epoch == 9
    assert "checkpoint/offsets/10" in {file.path for file in manifest.files}


def test_a_file_that_vanishes_under_our_hands_means_once_more(
    paths: StatePaths, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    first_snapshot = paths.checkpoint / "state" / "0" / "0" / "8_00000008-0000.zip"
    first_snapshot.with_name("SSTs").joinpath("000008.sst").unlink()  # purged, and its epoch with it

    def meanwhile() -> None:
        for epoch in range(10, 13):
            commit(paths.checkpoint, epoch)

    calls = iter(range(1000))

    def link(source: Path, target: Path) -> None:
        if next(calls) == 3:
            meanwhile()
        state_files.link(source, target)

    monkeypatch.setattr("engine.checkpoints.savepoints.link", link)
    manifest = savepoints.take(paths.root, "sp_1", label=None, clock=clock)

    assert manifest.epoch == 12
    assert savepoints.verify(paths.savepoints / "sp_1") == manifest


def test_taking_it_again_under_the_same_id_changes_nothing(paths: StatePaths, clock: Clock) -> None:
    first = savepoints.take(paths.root, "sp_1", label=None, clock=clock)
    commit(paths.checkpoint, 10)

    assert savepoints.take(paths.root, "sp_1", label=None, clock=clock) == first


def test_a_kill_in_the_middle_leaves_none(paths: StatePaths, clock: Clock) -> None:
    killed = subprocess.run([sys.executable, "-c", DIES_BEFORE_THE_MANIFEST, paths.root], check=False)

    assert killed.returncode == 9
    assert savepoints.list_savepoints(paths.root) == []
    with pytest.raises(SavepointNotFoundError):
        savepoints.verify(paths.savepoints / "sp_1")
    assert savepoints.take(paths.root, "sp_1", label=None, clock=clock).epoch == 9


def test_leftovers_of_a_killed_savepoint_are_replaced_by_the_next(paths: StatePaths, clock: Clock) -> None:
    command = [sys.executable, "-c", DIES_BEFORE_THE_MANIFEST, str(paths.root)]
    assert subprocess.run(command, check=False).returncode == 9
    assert [entry.name[:6] for entry in paths.savepoints.iterdir()] == [".sp_1."]

    savepoints.take(paths.root, "sp_1", label=None, clock=clock)

    assert [entry.name for entry in paths.savepoints.iterdir()] == ["sp_1"]


def test_savepoint_survives_the_deletion_of_its_checkpoint(paths: StatePaths, clock: Clock) -> None:
    savepoints.take(paths.root, "sp_1", label=None, clock=clock)
    for file in paths.checkpoint.rglob("*"):
        if file.is_file():
            file.unlink()

    savepoints.verify(paths.savepoints / "sp_1")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 1}', '{"version": 2, "files": [], "parents": []}'])
def test_a_damaged_manifest_is_refused(paths: StatePaths, clock: Clock, text: str) -> None:
    savepoints.take(paths.root, "sp_1", label=None, clock=clock)
    (paths.savepoints / "sp_1" / "manifest.json").write_text(text)

    with pytest.raises(DamagedSavepointError, match="sp_1 is damaged"):
        savepoints.verify(paths.savepoints / "sp_1")


@pytest.mark.parametrize("damage", ["missing", "changed", "cut"])
def test_a_damaged_file_is_refused_by_name(paths: StatePaths, clock: Clock, damage: str) -> None:
    savepoints.take(paths.root, "sp_1", label=None, clock=clock)
    victim = paths.savepoints / "sp_1" / "checkpoint" / "commits" / "9"
    content = victim.read_bytes()
    victim.unlink()
    if damage != "missing":
        victim.write_bytes(content[:-3] + (b"xyz" if damage == "changed" else b""))

    with pytest.raises(DamagedSavepointError, match="checkpoint/commits/9"):
        savepoints.verify(paths.savepoints / "sp_1")


def test_before_the_first_epoch_there_is_nothing_to_save(tmp_path: Path, clock: Clock) -> None:
    with pytest.raises(NothingToSaveError) as refused:
        savepoints.take(tmp_path, "sp_1", label=None, clock=clock)

    assert refused.value.retryable


@pytest.mark.parametrize("name", ["../x", "", "a/b", ".hidden", "x" * 65])
def test_an_id_is_never_a_path(paths: StatePaths, clock: Clock, name: str) -> None:
    with pytest.raises(ValueError, match="not a savepoint id"):
        savepoints.take(paths.root, name, label=None, clock=clock)


def test_savepoint_copies_files_if_links_are_impossible(
    paths: StatePaths, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(source: Path, target: Path) -> None:
        raise PermissionError("not on this disk")

    monkeypatch.setattr(os, "link", no_links)

    savepoints.take(paths.root, "sp_1", label=None, clock=clock)

    assert (paths.savepoints / "sp_1" / "checkpoint" / "metadata").stat().st_nlink == 1


def test_files_that_keep_vanishing_end_in_an_error(paths: StatePaths, clock: Clock) -> None:
    (paths.checkpoint / "metadata").unlink()

    with pytest.raises(SavepointError, match="checkpoint/metadata was missing when it was to be copied, 5 times"):
        savepoints.take(paths.root, "sp_1", label=None, clock=clock)


@pytest.mark.parametrize("moment", range(0, 12, 3))
def test_a_state_that_is_replaced_under_our_hands_is_not_mixed_with_the_next_one(
    paths: StatePaths, clock: Clock, monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    of_old = {file.relative_to(paths.root): file.stat().st_ino for file in paths.checkpoint.rglob("*")}
    calls, keep = iter(range(1000)), state_files.link

    def link(source: Path, target: Path) -> None:
        if next(calls) == moment:
            staging = swap.begin_swap(paths)
            shutil.copytree(paths.checkpoint, staging / "checkpoint")
            (staging / "lineage.json").write_text(paths.lineage.read_text().replace("L1", "L2"))
            swap.commit_swap(paths)
        keep(source, target)

    monkeypatch.setattr("engine.checkpoints.savepoints.link", link)
    monkeypatch.setattr("engine.checkpoints.state_files.link", link)
    manifest = savepoints.take(paths.root, "sp_1", label=None, clock=clock)

    saved = paths.savepoints / "sp_1"
    assert (manifest.epoch, manifest.lineage) == (9, "L2")
    assert not {file for file, inode in of_old.items() if (saved / file).is_file() and _is(saved / file, inode)}


def _is(file: Path, inode: int) -> bool:
    return file.stat().st_ino == inode


def test_a_swap_that_never_ends_is_named(paths: StatePaths, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.checkpoints.savepoints.time.sleep", lambda _: None)
    (paths.root / "incoming").mkdir()

    with pytest.raises(SavepointError, match="was replaced while it was copied, 5 times in a row"):
        savepoints.take(paths.root, "sp_1", label=None, clock=clock)


def test_savepoint_records_script_offsets_operators_and_origin(paths: StatePaths, clock: Clock) -> None:
    about = '{"operatorInfo":{"operatorId":0,"operatorName":"stateStoreSave"}}'
    (paths.checkpoint / "state" / "0" / "_metadata" / "metadata").write_text(f"v1\n{about}")
    offsets = paths.checkpoint / "offsets" / "9"
    offsets.write_text(offsets.read_text().replace('"table": "t"', '"table": "t", "at": {"0": 41}'))
    request = savepoints.Request("sp_1", creator="ann", reason="the new release", versions={"f0": 1, "f1": 2})

    savepoints.take_requested(paths.root, request, clock)

    manifest = read_manifest(paths.savepoints / "sp_1")
    assert (manifest.sql, manifest.offsets, manifest.operators) == ("SELECT 1", {"t": {"0": 41}}, ("stateStoreSave",))
    assert manifest.origin == Origin(2, "ann", "the new release")


def test_savepoint_without_these_records_can_be_read(paths: StatePaths, clock: Clock) -> None:
    savepoints.take(paths.root, "sp_1", label=None, clock=clock)
    file = paths.savepoints / "sp_1" / "manifest.json"
    content = json.loads(file.read_text())
    for name in ("sql", "offsets", "operators", "origin"):
        del content[name]
    file.write_text(json.dumps(content))

    manifest = savepoints.verify(paths.savepoints / "sp_1")

    assert (manifest.sql, manifest.offsets, manifest.operators, manifest.origin) == (None, {}, (), Origin())
