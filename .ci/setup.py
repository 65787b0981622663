"""Sets up the environment of `make`, once, however many ask for it at a time and wherever the last one was interrupted.

`python .ci/setup.py VENV CONSTRAINTS` needs nothing but Python's own library: it runs before anything is installed.
`python .ci/setup.py --is-of VENV` refuses an environment that was made with another Python than the one it runs on.
"""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
NEEDED = (3, 11)


def set_up(venv_path: Path, constraints: Path) -> None:
    """Leave a ready environment, by making one or by waiting for another process that makes it."""
    with (ROOT / f"{venv_path.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _tell(f"another make is setting up {venv_path}: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        ready = venv_path / ".ready"
        if _is_newest(ready, ROOT / "pyproject.toml", ROOT / "engine/__init__.py", constraints):
            return
        _make_venv(venv_path)
        _tell(f"installing into {venv_path} as {constraints} says; this takes some minutes, once")
        pip = [_python_of(venv_path), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--constraint", str(constraints), "--editable", ".[all,dev]"], cwd=ROOT, check=True)
        ready.touch()


def _make_venv(path: Path) -> None:
    """Make a virtual environment; one whose making was interrupted is made anew."""
    if (path / "bin/python").exists() and not _has_pip(path):
        _tell(f"{path} was left half made: making it anew")
        shutil.rmtree(path)
    if not (path / "bin/python").exists():
        venv.create(path, with_pip=True, symlinks=True)


def _has_pip(path: Path) -> bool:
    return (
        subprocess.run([_python_of(path), "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0
    )


def refuse_other_python(path: Path) -> None:
    """Stop where somebody has named a Python and would get another one."""
    here = sys.version_info[:2]
    code = f"import sys; sys.exit(sys.version_info[:2] != {here})"
    if subprocess.run([_python_of(path), "-c", code], check=False).returncode:
        sys.exit(f"{path} was made with another Python than {here[0]}.{here[1]}; `make clean` removes it")


def _python_of(path: Path) -> str:
    return str(path.absolute() / "bin/python")


def _is_newest(path: Path, *others: Path) -> bool:
    return path.exists() and all(path.stat().st_mtime >= other.stat().st_mtime for other in others)


def _tell(line: str) -> None:
    sys.stderr.write(line + "\n")


def main() -> int:
    """Set up what the command line names."""
    if sys.version_info < NEEDED:
        _tell("Python 3.11 or newer is needed; name one with make PYTHON=...")
        return 1
    try:
        if sys.argv[1] == "--is-of":
            refuse_other_python(Path(sys.argv[2]))
        else:
            set_up(Path(sys.argv[1]), Path(sys.argv[2]))
    except subprocess.CalledProcessError as error:
        _tell("the environment is not complete; when what pip says above is mended, call make setup again")
        return error.returncode
    except KeyboardInterrupt:
        _tell("interrupted; make setup goes on from here")
        return 130
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
