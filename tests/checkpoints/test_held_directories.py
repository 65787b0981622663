"""Scratch directories go with the processes that have made them, however these end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from engine.checkpoints.layout import scratch_directory, sweep

_DIES = """
import os, sys
from pathlib import Path
from engine.checkpoints.layout import scratch_directory
with scratch_directory(Path(sys.argv[1])) as directory:
    (directory / "rows").write_text("x")
    os.kill(os.getpid(), 9)
"""


def test_a_directory_goes_in_the_end_and_takes_no_other_with_it(tmp_path: Path) -> None:
    with scratch_directory(tmp_path) as first:
        (first / "rows").write_text("x")
        with scratch_directory(tmp_path) as second:
            assert first.is_dir()
            assert second != first
        assert not second.exists()
        assert (first / "rows").read_text() == "x"
    assert list(tmp_path.iterdir()) == []


def test_directory_of_a_killed_process_is_removed_by_the_next(tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", _DIES, str(tmp_path)], check=False)
    assert ended.returncode == -9
    [left] = [path for path in tmp_path.iterdir() if path.is_dir()]

    with scratch_directory(tmp_path):
        assert not left.exists()


def test_a_directory_that_somebody_holds_is_not_swept(tmp_path: Path) -> None:
    with scratch_directory(tmp_path) as held:
        assert sweep(tmp_path) == 0
        assert held.is_dir()
