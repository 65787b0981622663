"""Tests of one group are played by one process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.system


def test_all_tests_of_a_group_run_in_one_process() -> None:
    files = ("tests/test_durations.py", "tests/test_lag_texts.py", "tests/test_process_endings.py")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "SLICE"))}

    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "--numprocesses=2", "--dist=loadgroup", *files],
        cwd=Path(__file__).parents[1],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )

    played = [line.split(maxsplit=1) for line in ended.stdout.splitlines() if "PASSED" in line]
    processes = {file: {worker for worker, test in played if f" {file}::" in test} for file in files}
    assert {file: len(workers) for file, workers in processes.items()} == dict.fromkeys(files, 1), ended.stdout
