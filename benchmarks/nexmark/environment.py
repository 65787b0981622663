"""Where a peer's Python is. Flink's is made when it is first asked for, since it wants other versions of nearly all."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

FLINK = "apache-flink==2.3.0"


def flink_python(cache: Path) -> Path:
    """The Python that has Flink. Says what it does: it installs nearly a gigabyte, once."""
    folder = cache / "flink"
    python, mark = folder / "bin" / "python", folder / f"{FLINK}.ready"
    if shutil.which("java") is None:
        raise SystemExit("Flink needs Java 17 or 21 on the PATH: leave flink out of PEERS, or install one")
    if not mark.exists():
        print(f"installing {FLINK} into {folder.name}; this takes some minutes, once", flush=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", FLINK], check=True)
        mark.touch()
    return python
