"""Rows that tasks stage for the driver, when they cannot."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from engine.connectors.base import Epoch
from engine.connectors.staged import ArrowSegment
from engine.errors import DiskFullError, UnwritableTargetError

SCHEMA = pa.schema([("n", pa.int64())])
ROWS = pa.RecordBatch.from_pydict({"n": [1, 2]}, schema=SCHEMA)
EPOCH = Epoch(1, "l", 1, "")


def segment(directory: Path) -> ArrowSegment:
    open_segment = ArrowSegment(directory, EPOCH, 0, SCHEMA)
    open_segment.write(ROWS)
    return open_segment


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_segment = segment(tmp_path)
    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(DiskFullError, match=f"{tmp_path} cannot be written: No space left on device"):
        open_segment.close(sync=True)


def _remove(folder: Path) -> None:
    shutil.rmtree(folder)


def _block(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("a file in the way")


@pytest.mark.parametrize("happens", [_remove, _block])
def test_a_directory_that_a_successor_has_tidied_up_is_named(happens: Callable[[Path], None], tmp_path: Path) -> None:
    open_segment = segment(tmp_path / "sink")
    happens(tmp_path / "sink")

    with pytest.raises(UnwritableTargetError, match="cannot be written"):
        open_segment.close(sync=True)


def test_a_place_that_is_no_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "sink").write_text("")

    with pytest.raises(UnwritableTargetError, match="Not a directory"):
        segment(tmp_path / "sink")
