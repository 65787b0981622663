"""A drill reads all of a savepoint's state, and names what cannot be read, though all digests fit."""

from __future__ import annotations

import hashlib
import tarfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from engine.checkpoints import savepoints
from engine.checkpoints.doctor import DrillReport, drill
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.manifest import SavedFile, read_manifest, write_manifest
from engine.errors import DamagedSavepointError
from tests.kept.test_kept import STATES, name_of

T0 = datetime(2026, 1, 1, tzinfo=UTC)
ROWS = {"windows": 23, "windows_of_windows": 2978, "open_files": 0}


def saved(archive: Path, folder: Path) -> Path:
    """A savepoint of a state of an earlier day."""
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    savepoints.take(folder / "state", "sp_1", label=None, clock=lambda: T0)
    return StatePaths(folder / "state").savepoints / "sp_1"


def no_spark() -> SparkSession:
    raise AssertionError("Spark is not needed")


def archive_of(name: str) -> Path:
    return next(archive for archive in STATES if name_of(archive) == name)


@pytest.mark.parametrize("archive", STATES, ids=name_of)
def test_every_row_of_every_operator_is_read(spark: SparkSession, archive: Path, tmp_path: Path) -> None:
    savepoint = saved(archive, tmp_path)
    manifest = savepoints.verify(savepoint)

    report = drill(savepoint, tmp_path / "scratch", lambda: spark)

    assert report.operators == len(manifest.operators)
    assert report.rows == ROWS.get(name_of(archive), report.rows)
    assert report.rows > 0 or report.operators == 0
    assert savepoints.verify(savepoint) == manifest


def test_rows_that_cannot_be_read_are_damage_although_all_digests_fit(spark: SparkSession, tmp_path: Path) -> None:
    savepoint = saved(archive_of("windows_of_windows"), tmp_path)
    for file in (savepoint / "checkpoint" / "state" / "0").glob("[0-9]*/*.changelog"):
        file.unlink()  # the checkpoint has the same file
        file.write_bytes(b"x" * 50)
    manifest = read_manifest(savepoint)
    files = tuple(
        SavedFile(
            file.path,
            (savepoint / file.path).stat().st_size,
            hashlib.sha256((savepoint / file.path).read_bytes()).hexdigest(),
        )
        for file in manifest.files
    )
    write_manifest(savepoint, replace(manifest, files=files))
    savepoints.verify(savepoint)

    with pytest.raises(DamagedSavepointError, match=r"the state of stateStoreSave \(operator 0, default\) cannot be"):
        drill(savepoint, tmp_path / "scratch", lambda: spark)


def test_a_savepoint_without_state_needs_no_spark(tmp_path: Path) -> None:
    savepoint = saved(archive_of("open_files"), tmp_path)

    assert drill(savepoint, tmp_path / "scratch", no_spark) == DrillReport(0, 0)


def test_a_missing_commit_is_named_before_spark_is_asked(tmp_path: Path) -> None:
    savepoint = saved(archive_of("windows"), tmp_path)
    manifest = read_manifest(savepoint)
    offsets = next(file for file in manifest.files if file.path == f"checkpoint/commits/{manifest.epoch}")
    (savepoint / offsets.path).unlink()
    files = tuple(file for file in manifest.files if file != offsets)
    write_manifest(savepoint, replace(manifest, files=files))

    with pytest.raises(DamagedSavepointError, match="the commit of epoch"):
        drill(savepoint, tmp_path / "scratch", no_spark)
