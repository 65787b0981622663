"""Find a host, by the properties that its drivers share.

hosts/3f9a0c51d2e47b86/    for 2 GiB, all processors of the machine, and one environment
  start                    lock while a driver looks for a host, and starts one
  socket                   where it listens
  host.log, spark.log      its logs
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.driver.handover import digest_of_surroundings, is_private
from engine.errors import SharedJavaDiedError
from engine.jobs.processes import processes
from engine.values.secret_references import SECRET_PREFIX

START, LOG = "start", "host.log"
DRAINED: Mapping[str, object] = {"is": "seen off"}
"""The host's final message to a driver: no work of it is left."""


@dataclass(frozen=True, slots=True)
class JavaWish:
    """Properties that all drivers in one JVM share."""

    memory: str
    master: str
    is_quick: bool = False

    @staticmethod
    def of(memory: str, master: str | None, *, is_quick: bool) -> JavaWish:
        """Return the JVM that a pipeline with these settings needs; all run their tasks on all processors."""
        return JavaWish(memory, master or f"local[{len(os.sched_getaffinity(0))}]", is_quick)


def host_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the part of a driver's environment that belongs to no pipeline."""
    return {
        name: text
        for name, text in environ.items()
        if name != processes.MARK and not name.startswith((SECRET_PREFIX, "PYSPARK_"))
    }


def host_directory(hosts: Path, wish: JavaWish, environment: Mapping[str, str]) -> Path:
    """Return the directory of the host for drivers that want this, and have this environment. Its name is the host's
    on the whole machine, where another control plane may have drivers that want the same."""
    text = f"{hosts.resolve()} {wish} {digest_of_surroundings(environment)}"
    return hosts / hashlib.sha256(text.encode()).hexdigest()[:16]


def host_mark(directory: Path) -> str:
    """Return the environment mark of a host and all of its processes."""
    return f"host/{directory.name}"


def make_private(directory: Path) -> None:
    """Have that directory, which nobody but this user can enter."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    directory.mkdir(mode=0o700, exist_ok=True)
    if not is_private(directory):
        raise SharedJavaDiedError(
            f"{directory} can be entered by others", hint="delete it, or make it private with chmod 700"
        )
