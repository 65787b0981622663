"""A standalone cluster of the pyspark package on loopback: one master, one worker, with a disk of its own if asked."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.spark.jvm.start import spark_home

TREE = Path(__file__).parents[2]
_UP = {"Master": r"Starting Spark master at (spark://\S+)", "Worker": r"(Successfully registered) with master"}
_PRIVATE = "mount --make-rprivate / && mount -t tmpfs none {disk} && exec {command}"


def may_mount_privately() -> bool:
    """Whether a process may have mounts that no other one sees."""
    tried = ["unshare", "-m", "true"]
    return (
        shutil.which("unshare") is not None and subprocess.run(tried, capture_output=True, check=False).returncode == 0
    )


@contextmanager
def standalone_cluster(folder: Path, own_disk_at: Path | None = None) -> Iterator[str]:
    """Start a cluster and give its master; its worker sees an empty disk of its own at `own_disk_at`."""
    folder.mkdir(parents=True, exist_ok=True)
    started: list[subprocess.Popen[bytes]] = []
    try:
        ports = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        master = _start(started, folder, "Master", ports)
        limits = ["--cores", "1", "--memory", "2g", "--work-dir", str(folder / "work")]
        _start(started, folder, "Worker", [*ports, *limits, master], own_disk_at)
        yield master
    finally:
        for process in reversed(started):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _start(
    started: list[subprocess.Popen[bytes]], folder: Path, name: str, options: list[str], disk: Path | None = None
) -> str:
    """Start a part of the cluster, and wait until it is up; returns what it says then."""
    log, home = folder / f"{name}.log", spark_home()
    command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name.lower()}.{name}", *options]
    if disk is not None:
        command = [
            "unshare",
            "-m",
            "sh",
            "-c",
            _PRIVATE.format(disk=shlex.quote(str(disk)), command=shlex.join(command)),
        ]
    java = {"SPARK_DAEMON_MEMORY": "256m", "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment = {**os.environ, **java, "PYTHONPATH": str(TREE), "SPARK_WORKER_DIR": str(folder / "work")}
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment, start_new_session=True)
    started.append(process)
    deadline = time.monotonic() + 400  # a busy machine takes minutes
    while time.monotonic() < deadline and process.poll() is None:
        if said := re.search(_UP[name], log.read_text(errors="replace")):
            return said[1]
        time.sleep(0.1)
    raise AssertionError(f"the {name} is not up: {log.read_text(errors='replace')[-2000:]}")
