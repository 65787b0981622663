"""States that were made by earlier versions, and so by real runs, unpacked once."""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

KEPT = Path(__file__).parents[1] / "kept" / "2026-11"
Kept = Callable[[str], Path]


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all of them."""
    root = tmp_path_factory.mktemp("states")
    for archive in KEPT.glob("*.tar.xz"):
        with tarfile.open(archive) as packed:
            packed.extractall(root / archive.name.partition(".")[0], filter="data")
    return root


@pytest.fixture
def kept(unpacked: Path, tmp_path: Path) -> Kept:
    """A copy of the state of a case that a test may damage."""

    def copy(case: str) -> Path:
        return Path(shutil.copytree(unpacked / case / "state", tmp_path / case))

    return copy
