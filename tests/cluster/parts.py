"""A standalone cluster of the pyspark package on loopback, whose workers share neither disk nor code with the driver.

    this machine        master                  /tmp, the repository, its .venv
    worker-1            127.0.0.2               its own /tmp, no repository, /mnt/python
    worker-2            127.0.0.3               the same

Each worker is in namespaces of its own: mounts, host name and processes. All of a worker ends with its first process.
`/mnt/python` has the packages of `.venv` without ours. What a worker writes (`/mnt/work`) is `folder/worker-N` here.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from engine.spark.jvm.class_archive import cache_dir
from engine.spark.jvm.java import find_java
from engine.spark.jvm.start import spark_home

TREE = Path(__file__).parents[2]
PYTHON = "/mnt/python/bin/python"
"""The Python of the executors, as they name it."""
_SITE = "/mnt/site"
_JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
_MASTER_UP = re.compile(r"Starting Spark master at (spark://\S+)")
_WORKER_UP = re.compile(r"(Successfully registered) with master")
_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
_SECONDS = 400
"""A busy machine takes minutes to start a JVM."""


def namespaces() -> list[str] | None:
    """Return the command that runs another one in namespaces of its own; None if this user may not have any."""
    for more in ([], ["--map-root-user"]):
        command = ["unshare", *more, "-m", "-u", "-p", "--fork", "--kill-child", "--mount-proc"]
        if (
            shutil.which("unshare")
            and subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0
        ):
            return command
    return None


@dataclass(slots=True)
class Part:
    """A process of the cluster, and its log."""

    process: subprocess.Popen[bytes]
    log: Path

    def kill(self) -> None:
        """Kill it with all that it has started."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@dataclass(slots=True)
class Worker(Part):
    """A worker. `folder` is where its executors write their logs."""

    address: str
    folder: Path

    def executors(self) -> list[int]:
        """Return the processes of its executors, as this machine numbers them."""
        return [pid for pid, line in _processes() if _EXECUTOR in line and self.address in line]

    def logs(self) -> str:
        """Return what its executors have said."""
        return "\n".join(path.read_text(errors="replace") for path in sorted(self.folder.glob("app-*/*/std*")))


@dataclass(slots=True)
class Cluster:
    """A cluster that is up."""

    folder: Path
    master: Part
    url: str
    workers: list[Worker] = field(default_factory=list)
    begun_workers: int = 0

    @property
    def settings(self) -> Mapping[str, str]:
        """Return the run settings of a pipeline here; more than these only where a test is about them."""
        return {"master": self.url, "executor_python": PYTHON, "executor_memory": "512m"}

    def start_worker(self, java: Path | None = None) -> Worker:
        """Start one more worker, and wait until the master knows it."""
        self.begun_workers += 1
        number = self.begun_workers
        address, work = f"127.0.0.{number + 1}", self.folder / f"worker-{number}"
        work.mkdir()
        ports = ["--host", address, "--port", "0", "--webui-port", "0"]
        limits = ["--cores", "2", "--memory", "2g", "--work-dir", "/mnt/work"]
        java = java or find_java(os.environ).path
        # Java may be one of the packages
        in_namespace = str(java.resolve()).replace(sysconfig.get_path("purelib"), _SITE)
        command = [*_java(in_namespace, f"{_SITE}/pyspark"), "org.apache.spark.deploy.worker.Worker"]
        script = "\n".join(_private(work, number, address, [*command, *ports, *limits, self.url]))
        alone = namespaces()
        assert alone is not None, "this user may have no namespaces of its own"
        environment = _environment(in_namespace, f"{_SITE}/pyspark", address)
        part = _start([*alone, "sh", "-euc", script], self.folder / f"worker-{number}.log", environment)
        worker = Worker(part.process, part.log, address, work)
        self.workers.append(worker)
        _wait(worker, _WORKER_UP)
        return worker

    def restart_master(self) -> None:
        """Kill the master, and start another one at its address. It knows nothing; workers find it by themselves."""
        self.master.kill()
        log = self.folder / f"master-{time.monotonic_ns()}.log"
        port = self.url.rpartition(":")[2]
        self.master = _start_master(str(find_java(os.environ).path), str(spark_home()), log, port)
        _wait(self.master, _MASTER_UP)

    def executors(self) -> list[int]:
        """Return the processes of all executors."""
        return [pid for worker in self.workers for pid in worker.executors()]


@contextmanager
def running(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """Start a cluster. In the end nothing of it is left but logs."""
    folder.mkdir(parents=True, exist_ok=True)
    java, home = str(find_java(os.environ).path), str(spark_home())
    master = _start_master(java, home, folder / "master.log", "0")
    cluster = Cluster(folder, master, "")
    try:
        cluster.url = _wait(master, _MASTER_UP)
        for _ in range(workers):
            cluster.start_worker()
        yield cluster
    finally:
        for part in (*cluster.workers, cluster.master):
            part.kill()


def _start_master(java: str, home: str, log: Path, port: str) -> Part:
    command = [*_java(java, home), "org.apache.spark.deploy.master.Master"]
    ports = ["--host", "127.0.0.1", "--port", port, "--webui-port", "0"]
    return _start([*command, *ports], log, _environment(java, home, "127.0.0.1"))


def _private(work: Path, number: int, address: str, command: list[str]) -> Iterator[str]:
    """Yield the lines of the shell that hide this machine from a worker, and become it."""
    packages, base = sysconfig.get_path("purelib"), Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"
    yield "mount --make-rprivate /"
    yield f"hostname worker-{number}"
    yield "mount -t tmpfs none /mnt"
    yield "mkdir -p /mnt/site /mnt/work /mnt/home /mnt/python/bin"
    yield f"mount --bind {shlex.quote(str(work))} /mnt/work"
    yield f"mount --bind {shlex.quote(packages)} {_SITE}"
    # ours is installed by a link to the repository: neither is there
    for path in (*Path(packages).glob("__editable__*arroyo*"), *Path(packages).glob("engine*.pth")):
        yield f"mount --bind /dev/null {_SITE}/{shlex.quote(path.name)}"
    for path in Path(packages).glob("*arroyo*.dist-info"):
        yield f"mount -t tmpfs none {_SITE}/{shlex.quote(path.name)}"
    library = f"/mnt/python/lib/python3.{sys.version_info.minor}"
    yield f"mkdir -p {library} && ln -s {_SITE} {library}/site-packages"
    yield f"ln -s {shlex.quote(str(base))} {PYTHON}"
    settings = f"home = {base.parent}\ninclude-system-site-packages = false\n"
    yield f"printf %s {shlex.quote(settings)} > /mnt/python/pyvenv.cfg"
    yield f"printf '127.0.0.1 localhost\\n{address} worker-{number}\\n' > /mnt/hosts"
    yield "mount --bind /mnt/hosts /etc/hosts"
    for hidden in _hidden():
        yield f"mount -t tmpfs none {shlex.quote(str(hidden))}"
    yield f"cd /mnt/work && exec {shlex.join(command)}"


def _hidden() -> Iterable[Path]:
    """Return what a worker does not see: temporary files, the repository, our packages, our caches."""
    found = [Path(tempfile.gettempdir()), TREE, Path(sys.prefix).resolve(), cache_dir(os.environ)]
    return sorted({path.resolve() for path in found if path.is_dir()}, reverse=True)


def _java(java: str, home: str) -> list[str]:
    return [java, *_JVM, "-cp", f"{home}/jars/*"]


def _environment(java: str, home: str, address: str) -> dict[str, str]:
    """The environment of a machine that knows nothing of the driver's."""
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "HOME": "/mnt/home",
        "JAVA_HOME": str(Path(java).resolve().parents[1]),
        "SPARK_HOME": home,
        "SPARK_LOCAL_IP": address,
        "SPARK_SCALA_VERSION": "2.13",
    }


def _start(command: list[str], log: Path, environment: Mapping[str, str]) -> Part:
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment, start_new_session=True
        )
    return Part(process, log)


def _wait(part: Part, sign: re.Pattern[str]) -> str:
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline and part.process.poll() is None:
        if said := sign.search(part.log.read_text(errors="replace")):
            return said[1]
        time.sleep(0.1)
    part.kill()
    raise AssertionError(f"{part.log.stem} is not up: {part.log.read_text(errors='replace')[-2000:]}")


def _processes() -> Iterator[tuple[int, str]]:
    """Yield the processes of this machine, with their command lines."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            yield int(folder.name), (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue  # it has just ended
