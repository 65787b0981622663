"""Broken scripts are refused and never break the compiler; `make fuzz-parser` tries many more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.corpus import mutations


@pytest.mark.timeout(300)
def test_a_broken_script_is_refused_and_never_breaks_the_compiler() -> None:
    assert mutations.broken(600, 2) == []


def test_a_compiler_that_breaks_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(text: str) -> None:
        raise KeyError(len(text))

    monkeypatch.setattr(mutations, "compile_script", breaks)

    assert [fault.split(":")[0] for fault in mutations.broken(20, 2)] == ["KeyError"]


def test_many_are_tried_in_a_process_that_has_a_limit_of_memory() -> None:
    process = subprocess.run(
        [sys.executable, "-m", "tests.corpus.mutations", "50", "--seed", "3"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout.startswith("50 scripts from seed 3 in ")
