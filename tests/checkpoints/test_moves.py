"""Savepoints go elsewhere and come back wholly or not at all, whatever is at the other end."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from engine.checkpoints import savepoints
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.manifest import SavedFile, SavepointManifest, parse_manifest, read_manifest, write_manifest
from engine.checkpoints.places import Directory, open_place
from engine.checkpoints.relocate import export_savepoint, import_savepoint
from engine.checkpoints.swap import MovePoint
from engine.delivery.faults import ALLOWED, ARMED
from engine.errors import DamagedSavepointError, DiskFullError, PlaceError, SavepointNotFoundError

Clock = Callable[[], datetime]


@pytest.fixture
def saved(paths: StatePaths, clock: Clock) -> Path:
    savepoints.take(paths.root, "sp_1", label="before", clock=clock)
    return paths.savepoints / "sp_1"


@pytest.fixture
def place(tmp_path: Path) -> Directory:
    return Directory(tmp_path / "elsewhere" / "sp_1")


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _version_of(folder: Path, manifest: SavepointManifest) -> int:
    assert all((folder / file.path).exists() for file in manifest.files)
    return 3


def bring(place: Directory, state: Path) -> SavepointManifest:
    return import_savepoint(place, state, "sp_2", _version_of, f"imported from {place}")


def test_a_savepoint_comes_back_as_it_went(saved: Path, place: Directory, tmp_path: Path) -> None:
    original = export_savepoint(saved, place).manifest
    assert files_in(place.root) == files_in(saved)

    manifest = bring(place, tmp_path / "other")

    folder = tmp_path / "other" / "savepoints" / "sp_2"
    assert savepoints.verify(folder) == manifest
    assert (manifest.id, manifest.label, manifest.files) == ("sp_2", "before", original.files)
    assert (manifest.origin.version, manifest.origin.reason) == (3, f"imported from {place}")
    assert manifest.created_at == original.created_at
    assert [entry.name for entry in folder.parent.iterdir()] == ["sp_2"]


def test_existing_export_is_unchanged(saved: Path, place: Directory) -> None:
    export_savepoint(saved, place)
    times = {path: path.stat().st_mtime_ns for path in place.root.rglob("*")}

    export_savepoint(saved, place)

    assert {path: path.stat().st_mtime_ns for path in place.root.rglob("*")} == times


def test_a_place_of_another_savepoint_is_refused(
    saved: Path, place: Directory, paths: StatePaths, clock: Clock
) -> None:
    export_savepoint(saved, place)
    savepoints.take(paths.root, "sp_9", label=None, clock=clock)
    before = files_in(place.root)

    with pytest.raises(PlaceError, match="holds another savepoint"):
        export_savepoint(paths.savepoints / "sp_9", place)

    assert files_in(place.root) == before


@pytest.fixture
def later(saved: Path, paths: StatePaths, clock: Clock) -> Path:
    savepoints.take(paths.root, "sp_9", label="later", clock=clock)
    return paths.savepoints / "sp_9"


def test_files_of_an_earlier_export_are_linked(saved: Path, later: Path, place: Directory, tmp_path: Path) -> None:
    export_savepoint(saved, place)
    next_place = Directory(tmp_path / "elsewhere" / "sp_9")

    done = export_savepoint(later, next_place, base=place)

    there = {file.sha256 for file in read_manifest(saved).files}
    same = [file for file in done.manifest.files if file.sha256 in there]
    assert done.shared == len(same) > 3
    assert all((next_place.root / file.path).stat().st_nlink > 1 for file in same)
    assert files_in(next_place.root) == files_in(later)
    shutil.rmtree(place.root)
    assert bring(next_place, tmp_path / "other").label == "later"


@pytest.mark.parametrize("fault", ["gone", "changed"])
def test_damaged_files_of_an_earlier_export_are_sent_again(
    saved: Path, later: Path, place: Directory, tmp_path: Path, fault: str
) -> None:
    export_savepoint(saved, place)
    if fault == "gone":
        (place.root / "checkpoint" / "metadata").unlink()
    else:
        (place.root / "checkpoint" / "metadata").write_text("other")
    next_place = Directory(tmp_path / "elsewhere" / "sp_9")

    export_savepoint(later, next_place, base=place)

    assert files_in(next_place.root) == files_in(later)


def test_an_export_that_was_cut_short_is_not_written_into(
    saved: Path, later: Path, place: Directory, tmp_path: Path
) -> None:
    export_savepoint(saved, place)
    next_place = Directory(tmp_path / "elsewhere" / "sp_9")
    export_savepoint(later, next_place, base=place)
    (next_place.root / "manifest.json").unlink()
    for path in (path for path in next_place.root.rglob("*") if path.is_file()):
        path.chmod(0o644)
    before = {path: path.stat().st_ino for path in place.root.rglob("*") if path.is_file()}

    export_savepoint(later, next_place)

    assert {path: path.stat().st_ino for path in place.root.rglob("*") if path.is_file()} == before
    assert all(path.stat().st_nlink == 1 for path in before)


def test_a_base_without_a_savepoint_is_refused(saved: Path, place: Directory, tmp_path: Path) -> None:
    with pytest.raises(SavepointNotFoundError, match="there is no savepoint at"):
        export_savepoint(saved, place, base=Directory(tmp_path / "nothing"))

    assert not place.root.exists()


def test_a_disk_that_gives_no_second_names_gets_copies(
    saved: Path, later: Path, place: Directory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    export_savepoint(saved, place)
    monkeypatch.setattr(os, "link", refuse)
    next_place = Directory(tmp_path / "elsewhere" / "sp_9")

    assert export_savepoint(later, next_place, base=place).shared == 0

    assert files_in(next_place.root) == files_in(later)


def test_a_damaged_savepoint_is_not_exported_and_leaves_nothing(saved: Path, place: Directory) -> None:
    (saved / "checkpoint" / "metadata").unlink()
    (saved / "checkpoint" / "metadata").write_text("other")

    with pytest.raises(DamagedSavepointError, match="checkpoint/metadata has changed"):
        export_savepoint(saved, place)

    assert not place.root.exists()


def test_a_full_disk_is_said_and_not_kept_full(saved: Path, place: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    put, count = Directory.put, iter(range(100))

    def fail(self: Directory, source: Path, file: SavedFile) -> None:
        put(self, source, file)
        if next(count) == 3:
            raise DiskFullError("no room")

    monkeypatch.setattr(Directory, "put", fail)

    with pytest.raises(DiskFullError):
        export_savepoint(saved, place)

    assert not place.root.exists()


def test_a_write_on_a_full_disk_is_the_error_of_the_place(
    saved: Path, place: Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DiskFullError, match="No space left on device"):
        place.put(saved / "pipeline.json", next(f for f in read_manifest(saved).files if f.path == "pipeline.json"))


def test_an_import_without_room_fetches_nothing(
    saved: Path, place: Directory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_savepoint(saved, place)
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result((4096, 4096, 10, 0, 0, 9, 9, 9, 0, 255)))

    with pytest.raises(DiskFullError, match="has no room"):
        bring(place, tmp_path / "other")

    assert list((tmp_path / "other" / "savepoints").iterdir()) == []


@pytest.mark.parametrize("fault", ["gone", "short", "long", "other"])
def test_savepoint_changed_after_it_was_taken_is_not_imported(
    saved: Path, place: Directory, tmp_path: Path, fault: str
) -> None:
    export_savepoint(saved, place)
    file = place.root / "checkpoint" / "offsets" / "9"
    content = file.read_bytes()
    match fault:
        case "gone":
            file.unlink()
        case "short":
            file.write_bytes(content[:-1])
        case "long":
            file.write_bytes(content + b"x" * 10_000_000)
        case _:
            file.write_bytes(bytes([content[0] ^ 1]) + content[1:])

    with pytest.raises(DamagedSavepointError, match=r"checkpoint/offsets/9 (is missing|has changed)"):
        bring(place, tmp_path / "other")

    assert list((tmp_path / "other" / "savepoints").iterdir()) == []


def test_half_of_an_export_is_no_savepoint(saved: Path, place: Directory, tmp_path: Path) -> None:
    export_savepoint(saved, place)
    (place.root / "manifest.json").unlink()

    with pytest.raises(SavepointNotFoundError, match="there is no savepoint at"):
        bring(place, tmp_path / "other")

    export_savepoint(saved, place)
    bring(place, tmp_path / "other")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00",
        b"[]",
        b"null",
        b'{"hello": "world"}',
        b'{"version": 99}',
        b"[" * 100_000,
        b'{"version": 1, "id": "sp_1", "files": 7, "parents": []}',
    ],
    ids=range(8),
)
def test_a_foreign_manifest_is_refused(place: Directory, tmp_path: Path, content: bytes) -> None:
    place.root.mkdir(parents=True)
    (place.root / "manifest.json").write_bytes(content)

    with pytest.raises(DamagedSavepointError):
        bring(place, tmp_path / "other")

    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/cron.d/x",
        "/etc/passwd",
        "checkpoint/../../x",
        "checkpoint/./x",
        "checkpoint//x",
        "",
        ".",
        "a\0b",
        "generation",
        "owner.json",
        "lock",
        "sinks/counts/ledger.json",
        "savepoints/sp_1/manifest.json",
        "manifest.json",
        ".hidden/x",
    ],
)
def test_a_manifest_names_no_file_outside_of_a_savepoint(saved: Path, name: str, tmp_path: Path) -> None:
    manifest = read_manifest(saved)
    hostile = SavedFile(name, 1, hashlib.sha256(b"x").hexdigest())
    write_manifest(saved, replace(manifest, files=(*manifest.files, hostile)))

    with pytest.raises(DamagedSavepointError, match="makes no sense"):
        bring(Directory(saved), tmp_path / "other")
    with pytest.raises(DamagedSavepointError, match="makes no sense"):
        read_manifest(saved)


@pytest.mark.parametrize("size", [-1, "7", None, 1.5])
def test_a_size_that_is_none_is_refused(saved: Path, size: Any) -> None:
    content = json.loads((saved / "manifest.json").read_text())
    content["files"][0]["bytes"] = size

    with pytest.raises(DamagedSavepointError):
        parse_manifest(saved, json.dumps(content).encode())


@pytest.mark.parametrize(
    "text",
    ["", "/tmp/x", "relative", "file://relative", "http://host/x", "s3://", "s3://bucket", "gs://bucket/x", "file:x"],
)
def test_invalid_location_is_refused(text: str) -> None:
    with pytest.raises(PlaceError):
        open_place(text)


def test_keys_in_a_place_are_refused_and_not_repeated() -> None:
    for text in ("s3::https://key:hidden@host/bucket/x", "s3://key:hidden@bucket/x"):
        with pytest.raises(PlaceError) as refused:
            open_place(text)
        assert "hidden" not in str(refused.value)


MOVE = """
import sys
from pathlib import Path
from engine.checkpoints.relocate import export_savepoint, import_savepoint
from engine.checkpoints.places import Directory
saved, place, state = map(Path, sys.argv[1:])
export_savepoint(saved, Directory(place))
import_savepoint(Directory(place), state, "sp_2", lambda *_: None, "imported")
"""


@pytest.mark.parametrize("point", list(MovePoint), ids=str)
def test_a_move_that_is_killed_is_whole_or_not_there(
    saved: Path, place: Directory, tmp_path: Path, point: MovePoint
) -> None:
    state = tmp_path / "other"
    command = [sys.executable, "-c", MOVE, str(saved), str(place.root), str(state)]
    died = subprocess.run(command, env={**os.environ, ARMED: point.value, ALLOWED: "1"}, check=False)
    assert died.returncode == -signal.SIGKILL

    assert (place.root / "manifest.json").exists() == (point is not MovePoint.WHILE_EXPORTING)
    listed = [manifest.id for manifest in savepoints.list_savepoints(state)]
    assert listed == (["sp_2"] if point is MovePoint.AFTER_IMPORT else [])

    export_savepoint(saved, place)
    if not listed:
        bring(place, state)
    assert savepoints.verify(state / "savepoints" / "sp_2").files == read_manifest(saved).files
