"""Scripts of an earlier day have the fingerprints that their states have. No Spark is needed to compare them."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from engine.compile import compile_script
from tests.kept.cases import CASES

STATES = sorted(Path(__file__).parent.glob("*/*.tar.xz"))


def fingerprint_of(archive: Path) -> str:
    with tarfile.open(archive) as kept:
        [manifest] = [name for name in kept.getnames() if name.endswith("savepoints/kept/manifest.json")]
        file = kept.extractfile(manifest)
        assert file is not None
        return str(json.load(file)["fingerprint"])


@pytest.mark.parametrize("archive", STATES, ids=lambda archive: f"{archive.parent.name}-{archive.stem.split('.')[0]}")
def test_script_has_the_fingerprint_of_its_kept_state(archive: Path, tmp_path: Path) -> None:
    spec = CASES[archive.name.split(".")[0]].spec("kept", tmp_path)

    assert compile_script(spec.sql, udfs=spec.udfs).fingerprint == fingerprint_of(archive)
