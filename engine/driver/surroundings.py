"""Digest of a process's environment, as far as its work could depend on it.

A spare may do the work of another run only if both would have started the same processes: the same program, in the same
directory, with the same environment and limits.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import site
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import engine

_OF_THE_TERMINAL = frozenset({"_", "OLDPWD", "SHLVL", "COLUMNS", "LINES"})
"""Variables that differ between commands of one shell, and do not affect a run."""
_NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
_LIMITS = sorted(name for name in dir(resource) if name.startswith("RLIMIT_"))


def digest_of_surroundings(environ: Mapping[str, str]) -> str:
    """Equal for two processes of this user in whose place either could run."""
    content = [
        sorted((name, text) for name, text in environ.items() if name not in _OF_THE_TERMINAL),
        [os.getcwd(), sys.executable, list(sys.version_info), *sorted(_programs(environ))],  # noqa: PTH109 - as the kernel says
        [os.getresuid(), os.getresgid(), sorted(os.getgroups()), _umask(), os.nice(0), sorted(os.sched_getaffinity(0))],
        [resource.getrlimit(getattr(resource, name)) for name in _LIMITS],
        [*_namespaces(), *_control_groups()],
    ]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _programs(environ: Mapping[str, str]) -> Iterator[str]:
    """The files of the engine, and the directories of installed packages, which change with what is in them."""
    root = Path(engine.__file__).parent
    named = [entry for entry in environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    packages = {*named, sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), site.getusersitepackages()}
    for path in (*root.rglob("*.py"), *map(Path, packages)):
        with suppress(OSError):
            stat = path.stat()
            yield f"{path} {stat.st_size} {stat.st_mtime_ns}"


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _namespaces() -> Iterator[str]:
    for name in _NAMESPACES:
        with suppress(OSError):
            yield str(Path(f"/proc/self/ns/{name}").readlink())


def _control_groups() -> Iterator[str]:
    with suppress(OSError):
        yield Path("/proc/self/cgroup").read_text()
