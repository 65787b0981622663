"""The wheel that `make wheel` builds has what users need, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from tests.tutorial_blocks import ROOT

EXAMPLES = "airflow_provider_arroyo/example_dags/"


def test_the_wheel_has_the_examples_where_airflow_looks_for_them(tmp_path: Path) -> None:
    command = [sys.executable, ROOT / ".ci" / "wheel.py", tmp_path / "dist"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    [wheel] = (tmp_path / "dist").glob("*.whl")
    files = {info.filename: info for info in zipfile.ZipFile(wheel).infolist()}

    assert f"'{wheel}[engine]'" in printed
    assert "constraints/python3." in printed
    assert {name.partition("/")[0].partition("-")[0] for name in files} == {"engine", "airflow_provider_arroyo"}
    for name in ("hourly_batch_gate.py", "shop_pipelines/orders.sql", ".airflowignore"):
        assert EXAMPLES + name in files
    assert not [name for name in files if name.startswith(f"{EXAMPLES}demo")]
    assert "engine/web/built/index.html" in files
    assert [name for name in files if name.endswith(".jar")]
