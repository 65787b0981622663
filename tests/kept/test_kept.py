"""States made by the code of an earlier day go on, and end as if that code had gone on itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.kept.cases import CASES, output_of

HERE = Path(__file__).parent
STATES = sorted(HERE.glob("*/*.tar.xz"))
INPUTS = HERE.parent / "golden" / "inputs"


@pytest.mark.parametrize("verb", ["finish", "restore"])
@pytest.mark.parametrize("state", STATES, ids=lambda path: f"{path.parent.name}-{path.name.partition('.')[0]}")
def test_a_state_of_an_earlier_day_goes_on(state: Path, verb: str, tmp_path: Path) -> None:
    name = state.name.partition(".")[0]
    folder = tmp_path / name
    with tarfile.open(state) as archive:
        archive.extractall(folder, filter="data")
    (folder / "inputs").symlink_to(INPUTS)

    played = subprocess.run(
        [sys.executable, "-m", "tests.kept.play", verb, str(tmp_path), name],
        env=os.environ | {"PYTHONPATH": str(HERE.parents[1])},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )

    assert played.returncode == 0, played.stderr
    assert output_of(folder) == json.loads((folder / "expected.json").read_text())


def test_every_case_is_kept() -> None:
    assert {path.name.partition(".")[0] for path in STATES} == set(CASES)
