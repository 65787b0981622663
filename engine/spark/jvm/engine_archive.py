"""The engine as one archive, which Spark unpacks on each executor of a cluster.

    arroyo/bin/python            starts the Python of the executor; the driver has a program of the same relative path
    arroyo/engine/...            this package, without the web UI and the sources of Java classes

The archive depends on nothing but these files, so all runs of one version share one in the directory of caches.
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

FOLDER = "arroyo"
"""The directory into which Spark unpacks the archive, relative to where an executor runs."""
LAUNCHER = "bin/python"
PYTHON_VARIABLE = "ARROYO_EXECUTOR_PYTHON"
NO_PYTHON = "arroyo: there is no Python at"
"""What the launcher says, with the path and the host, which Spark passes on."""

_PACKAGE = Path(__file__).parents[2]
_LEFT_OUT = {"__pycache__", "web"}
_SUFFIXES = {".py", ".jar", ".json", ".properties", ".sql", ".txt"}
_WHEN = (1980, 1, 1, 0, 0, 0)
_LAUNCH = f"""#!/bin/sh
# Spark starts this as Python on executors: a path that is relative here may lie in an archive beside this one.
python=${{{PYTHON_VARIABLE}:-python3}}
case $python in
  /*) ;;
  */*) python=$PWD/$python ;;
esac
if ! command -v "$python" >/dev/null 2>&1; then
  echo "{NO_PYTHON} $python on $(hostname)" >&2
  exit 1
fi
exec "$python" "$@"
"""


def engine_archive(cache: Path, package: Path = _PACKAGE) -> Path:
    """Return the archive of this engine; create it if it is not in the cache."""
    files = [(f"{package.name}/{path.relative_to(package)}", path.read_bytes()) for path in _files(package)]
    digest = hashlib.sha256(_LAUNCH.encode())
    for name, content in files:
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    archive = cache / "engine" / f"engine-{digest.hexdigest()[:16]}.zip"
    if not archive.exists():
        archive.parent.mkdir(parents=True, exist_ok=True)
        written = archive.with_name(f".{archive.name}.{os.getpid()}")
        written.write_bytes(_zip(files))
        written.replace(archive)
    return archive


def _files(package: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(package):
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT)
        yield from (Path(folder, name) for name in sorted(names) if Path(name).suffix in _SUFFIXES)


def _zip(files: list[tuple[str, bytes]]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        archive.writestr(_entry(LAUNCHER, 0o755), _LAUNCH)
        for name, content in files:
            archive.writestr(_entry(name, 0o644), content)
    return made.getvalue()


def _entry(name: str, mode: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _WHEN)
    entry.create_system = 3  # Unix: only then are the permissions kept
    entry.external_attr = (0o100000 | mode) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry
