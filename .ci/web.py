"""Builds the page of the control plane: `python .ci/web.py`, or `python .ci/web.py FOLDER` to have it elsewhere.

It needs Node, and of the npm registry what `engine/web/package-lock.json` names. Whoever only uses the page needs
neither: what was built is committed.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

WEB = Path(__file__).parent.parent / "engine" / "web"
TOOLS = WEB / "node_modules"


def build(built: Path) -> None:
    """Check the types, and build into a folder."""
    install()
    subprocess.run(["npx", "--no-install", "tsc", "--noEmit"], cwd=WEB, check=True)
    command = ["npx", "--no-install", "vite", "build", "--logLevel", "warn", "--emptyOutDir", "--outDir", str(built)]
    subprocess.run(command, cwd=WEB, check=True)


def install() -> None:
    """Install what the lock file names, unless it is there; whoever asks at the same time waits."""
    stamp = TOOLS / ".of"
    wanted = hashlib.sha256((WEB / "package-lock.json").read_bytes()).hexdigest()
    with (WEB / ".npmrc").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text() != wanted:
            subprocess.run(["npm", "ci", "--ignore-scripts", "--loglevel", "error"], cwd=WEB, check=True)
            stamp.write_text(wanted)


def main() -> int:
    """Build as the command line says."""
    if any(argument.startswith("-") for argument in sys.argv[1:]):
        sys.stderr.write(f"{__doc__}")
        return 2
    if shutil.which("npm") is None:
        sys.stderr.write("Node is needed, 20.19 or newer\n")
        return 1
    try:
        build(Path(sys.argv[1]).absolute() if sys.argv[1:] else WEB / "built")
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
