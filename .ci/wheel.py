"""Builds the wheel of this clone: `python .ci/wheel.py [FOLDER]`, by default into `dist/`.

It needs nothing but Python's own library, as `.ci/setup.py` does: where this Python has no pip, that of an environment
which is thrown away serves.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = "airflow_provider_arroyo"
FILES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE")


def build_wheel(folder: Path) -> Path:
    """Build into a folder and return the path of the wheel. What an earlier build has left behind is not in it."""
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        shutil.copytree(ROOT, place / "clone", ignore=_ignore, symlinks=True)
        pip = [_python_with_pip(place / "venv"), "-m", "pip", "--disable-pip-version-check", "wheel"]
        options = ["--quiet", "--no-deps", "--wheel-dir", str(place / "wheels")]
        subprocess.run([*pip, *options, str(place / "clone")], check=True)
        [built] = (place / "wheels").glob(f"{PACKAGE}-*.whl")
        folder.mkdir(parents=True, exist_ok=True)
        for older in folder.glob(f"{PACKAGE}-*.whl"):
            older.unlink()
        return Path(shutil.copy(built, folder))


def _python_with_pip(scratch: Path) -> str:
    if importlib.util.find_spec("pip") is not None:
        return sys.executable
    venv.create(scratch, with_pip=True, symlinks=True)
    return str(scratch / "bin/python")


def _ignore(folder: str, names: list[str]) -> set[str]:
    """Name what no wheel needs: environments, caches, tests, and what earlier builds have left."""
    if Path(folder) == ROOT:
        return set(names) - {PACKAGE, "dags_examples", "engine", *FILES}
    return {name for name in names if name in ("__pycache__", "node_modules")}


def constraints() -> Path:
    """Return the versions that were tried with this Python, or those of the newest that was tried."""
    exact = ROOT / f"constraints/python{sys.version_info.major}.{sys.version_info.minor}.txt"
    return exact if exact.exists() else max((ROOT / "constraints").glob("python*.txt"))


def main() -> int:
    """Build, and say how the wheel is installed."""
    if any(argument.startswith("-") for argument in sys.argv[1:]):
        sys.stderr.write(f"{__doc__}")
        return 2
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist"
    try:
        wheel = build_wheel(folder.absolute())
    except subprocess.CalledProcessError as error:
        sys.stderr.write("the wheel was not built; when what pip says above is mended, call make wheel again\n")
        return error.returncode
    sys.stdout.write(f"built {wheel}\ninstall it into a virtual environment:\n")
    sys.stdout.write(f"  pip install --constraint {constraints()} '{wheel}[engine]'\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
