"""What only benchmarks need, installed when it is first asked for: Flink, which wants other versions of nearly all that
the engine has, and the program that looks at Python's stacks."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

FLINK = "apache-flink==2.3.0"
PY_SPY = "py-spy==0.4.1"


def flink_python(cache: Path) -> Path:
    """The Python that has Flink. Says what it does: it installs nearly a gigabyte, once."""
    if shutil.which("java") is None:
        raise SystemExit("Flink needs Java 17 or 21 on the PATH: leave flink out of PEERS, or install one")
    return _installed(cache / "flink", FLINK, "this takes some minutes, once") / "python"


def py_spy(cache: Path) -> Path:
    """The program that looks at Python's stacks from outside."""
    return _installed(cache / "py-spy", PY_SPY, "once") / "py-spy"


def _installed(folder: Path, package: str, remark: str) -> Path:
    """The directory of the programs of an environment with a package."""
    programs, mark = folder / "bin", folder / f"{package}.ready"
    if not mark.exists():
        print(f"installing {package} into {folder.name}; {remark}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run(
            [programs / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", package], check=True
        )
        mark.touch()
    return programs
