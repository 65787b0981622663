"""Savepoints in a bucket."""

from __future__ import annotations

import hashlib
import logging
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine.checkpoints import savepoints
from engine.checkpoints.manifest import SavedFile, SavepointManifest, read_manifest, write_manifest
from engine.checkpoints.places import Bucket, Directory, Place, open_place
from engine.checkpoints.relocate import export_savepoint, import_savepoint
from engine.errors import DamagedSavepointError, PlaceError, SavepointNotFoundError
from tests.cluster.stores import PASSWORD, USER
from tests.s3.store import Store

T0 = datetime(2026, 1, 1, tzinfo=UTC)
PARTS = {
    "checkpoint/commits/7": b'v1\n{"nextBatchWatermarkMs": 0}',
    "checkpoint/metadata": b"{}",
    "checkpoint/state/0/0/SSTs/8.sst": b"x" * 9_000_000,
    "lineage.json": b"{}\n",
}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    folder = tmp_path / "sp_1"
    for name, content in PARTS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    files = tuple(SavedFile(name, len(text), hashlib.sha256(text).hexdigest()) for name, text in PARTS.items())
    write_manifest(folder, SavepointManifest("sp_1", None, 7, None, "one", (), 2, "f1", T0, files))
    return folder


@pytest.fixture
def place(store: Store, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", USER)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", PASSWORD)
    return open_place(f"s3::{store.endpoint}/{store.bucket}/out/sp_1")


def test_a_savepoint_goes_to_a_bucket_and_comes_back(
    saved: Path, place: Place, store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "engine")

    export_savepoint(saved, place)
    export_savepoint(saved, place)
    manifest = import_savepoint(place, tmp_path / "state", "sp_2", lambda *_: None, "imported")

    assert sorted(store.keys()) == sorted([f"sp_1/{name}" for name in (*PARTS, "manifest.json")])
    assert savepoints.verify(tmp_path / "state" / "savepoints" / "sp_2") == manifest
    assert manifest.files == read_manifest(saved).files
    assert "hidden" not in caplog.text


def test_files_of_an_earlier_export_are_copied_by_the_server(
    saved: Path, place: Place, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_savepoint(saved, place)
    store.client.put_object(Bucket=store.bucket, Key="out/sp_1/lineage.json", Body=b"{}")
    later = open_place(f"s3::{store.endpoint}/{store.bucket}/out/sp_2")
    sent: list[str] = []
    put = Bucket.put
    monkeypatch.setattr(Bucket, "put", lambda self, source, file: (sent.append(file.path), put(self, source, file)))

    done = export_savepoint(saved, later, base=place)

    assert (done.shared, sent) == (3, ["lineage.json"])
    for key in [key for key in store.keys() if key.startswith("sp_1/")]:  # noqa: SIM118 - a method of the store
        store.client.delete_object(Bucket=store.bucket, Key=f"out/{key}")
    assert import_savepoint(later, tmp_path / "state", "sp_3", lambda *_: None, "imported").files == done.manifest.files


def test_exports_to_different_kinds_of_location_share_no_files(saved: Path, place: Place, tmp_path: Path) -> None:
    base = Directory(tmp_path / "here")
    export_savepoint(saved, base)

    assert export_savepoint(saved, place, base=base).shared == 0
    assert export_savepoint(saved, Directory(tmp_path / "there"), base=place).shared == 0


def test_savepoint_changed_in_the_bucket_is_not_imported(
    saved: Path, place: Place, store: Store, tmp_path: Path
) -> None:
    export_savepoint(saved, place)
    store.client.put_object(Bucket=store.bucket, Key="out/sp_1/lineage.json", Body=b"[]")

    with pytest.raises(DamagedSavepointError, match=r"lineage\.json has changed"):
        import_savepoint(place, tmp_path / "state", "sp_2", lambda *_: None, "imported")
    store.client.delete_object(Bucket=store.bucket, Key="out/sp_1/lineage.json")
    with pytest.raises(DamagedSavepointError, match=r"lineage\.json is missing"):
        import_savepoint(place, tmp_path / "state", "sp_2", lambda *_: None, "imported")

    assert list((tmp_path / "state" / "savepoints").iterdir()) == []


def test_a_prefix_without_a_manifest_holds_nothing(place: Place, tmp_path: Path) -> None:
    with pytest.raises(SavepointNotFoundError):
        import_savepoint(place, tmp_path / "state", "sp_2", lambda *_: None, "imported")


def test_a_bucket_that_is_not_there_is_named(saved: Path, store: Store, place: Place) -> None:
    other = open_place(f"s3::{store.endpoint}/no-such-bucket/x")

    with pytest.raises(PlaceError, match="no-such-bucket/x cannot be used") as refused:
        export_savepoint(saved, other)

    assert "hidden" not in str(refused.value)
