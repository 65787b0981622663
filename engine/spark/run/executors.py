"""Executors of a cluster: a probe before the first epoch, and a watch that notices when all are lost for good.

A probe of the executors of a cluster, before the first epoch: can they run our tasks?

    driver      probe-5f2c/driver          "5f2c"                                       only with a declared shared disk
    task 3      compares versions and packages, asks the mailbox; reads the file, and writes probe-5f2c/3
    driver      names the first executor that differs, and how

Tasks are sent until each executor that Spark knows has run some. One that comes later is not probed: what its tasks
lack then fails them.

master killed          the run continues with its executors
master started again   it knows neither the run nor its executors, and ends these: Spark waits, without an end
three minutes later    the run ends with `run.no_executors`, and its next start registers with the new master
"""

from __future__ import annotations

import os
import platform
import re
import secrets
import shutil
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import engine
from engine.delivery.mailbox_client import MailboxClient
from engine.delivery.mailbox_protocol import read_address
from engine.errors import DiskNotSharedError, EngineError, ExecutorUnfitError, NoExecutorsError, message_of
from engine.spark.jvm.executor_archives import NO_PYTHON
from engine.spark.jvm.java import java_major
from engine.spark.workers.fork_server import NEEDED
from engine.udf.declared import UdfFile
from engine.udf.requirements import check_requirements

WAIT = timedelta(minutes=3)
"""Longest wait for the executors of a cluster."""
_POLL = 0.2
_TASKS_OF_EACH_CORE = 3
_OLDEST_ARROW = 18
_DISK_HINT = "mount one disk at this path on every machine of the cluster, or leave out shared_disk"
_PYTHON_HINT = (
    "set executor_python to a Python of this version on the executors, or ship one with executor_archive, which "
    "`arroyo package` makes"
)
_REACH_HINT = (
    "set driver_host to an address of this machine that executors reach, and driver_port and block_manager_port to "
    "ports that are open between them"
)
_EXECUTOR = re.compile(r"\(([^\s()]+) executor (\d+)\)")
_MISSING = re.compile(rf"{NO_PYTHON} (\S+) on (\S+)")
_ENDED = re.compile(r"Error from python worker:\n(.*?)\nPYTHONPATH was:", re.DOTALL)
"""What Spark says of a Python that ends before it listens, with its standard error."""
_VERSIONS = re.compile(r"PYTHON_VERSION_MISMATCH.*?(\d+\.\d+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Answer:
    """Result of a task on its executor. Each fault describes a problem; None means no problem."""

    host: str
    engine: str
    python: str
    java: int | None
    """None if the Java of the executor cannot be found from a task."""
    package_fault: str | None = None
    mailbox_fault: str | None = None
    file: str | None = None
    """The file that it has written on the shared disk."""
    disk_fault: str | None = None


@dataclass(frozen=True, slots=True)
class ExecutorLook:
    """A running executor, and the number of our tasks that it has completed."""

    id: str
    address: str
    tasks: int


def probe_executors(
    spark: SparkSession,
    shared: Path | None,
    udfs: Sequence[UdfFile] = (),
    *,
    wait: timedelta = WAIT,
    on_alive: Callable[[], None] = lambda: None,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Raise ExecutorUnfitError if an executor cannot run our tasks, DiskNotSharedError if it does not see the directory
    `shared` as the driver does, and NoExecutorsError if none is up in time. What `on_alive` raises ends the probe."""
    folder = None if shared is None else shared / f"probe-{secrets.token_hex(8)}"
    if folder is not None:
        folder.mkdir(parents=True)
    try:
        if folder is not None:
            (folder / "driver").write_text(folder.name)
        deadline = clock() + wait.total_seconds()
        while not (looks := _executors(spark)) or any(look.tasks == 0 for look in looks):
            on_alive()
            if clock() >= deadline:
                raise _none_up(spark, wait)
            if looks:
                _send(spark, folder, udfs)
            else:
                time.sleep(_POLL)
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def look_around(folder: Path | None, udfs: Sequence[UdfFile], number: int) -> Answer:
    """Return what a task finds on its executor: versions, packages, files. Runs in a task."""
    file = None if folder is None else f"{number}-{secrets.token_hex(4)}"
    return Answer(
        host=socket.gethostname(),
        engine=engine.__version__,
        python=platform.python_version(),
        java=_java(),
        package_fault=_package_fault(udfs),
        mailbox_fault=_mailbox_fault(),
        file=file,
        disk_fault=None if folder is None or file is None else _disk_fault(folder, file),
    )


def refuse_unfit(answers: Sequence[Answer]) -> None:
    """Raise ExecutorUnfitError for the first executor that cannot run our tasks."""
    for answer in answers:
        if answer.engine != engine.__version__:
            raise ExecutorUnfitError(
                f"the executor on {answer.host} has version {answer.engine} of this package, and the driver "
                f"{engine.__version__}",
                hint="remove the package from the executors: the driver ships its own",
            )
        if _minor(answer.python) != _minor(platform.python_version()):
            raise _other_python(answer.host, _minor(answer.python))
        if answer.package_fault is not None:
            raise ExecutorUnfitError(
                f"the Python of the executor on {answer.host} cannot run the pipeline: {answer.package_fault}",
                hint="install the package there, or ship a Python with executor_archive, which `arroyo package` makes",
            )
        if answer.mailbox_fault is not None:
            raise ExecutorUnfitError(
                f"the executor on {answer.host} cannot hand files to the driver: {answer.mailbox_fault}",
                hint="set driver_host to an address of this machine that executors reach, and mailbox_port to a port "
                "that is open between them",
            )


def refuse_other_disks(folder: Path, answers: Sequence[Answer]) -> None:
    """Raise DiskNotSharedError if an executor has another disk at the path of the driver's."""
    for answer in answers:
        if answer.disk_fault is not None:
            raise DiskNotSharedError(
                f"the executor on {answer.host} does not see the file that the driver has written in {folder.parent}: "
                f"{answer.disk_fault}",
                hint=_DISK_HINT,
            )
        if answer.file is not None and not (folder / answer.file).exists():
            raise DiskNotSharedError(
                f"the driver does not see the file that the executor on {answer.host} has written in {folder.parent}",
                hint=_DISK_HINT,
            )


def explain_failed_probe(text: str, master: str) -> EngineError:
    """Return the error that explains a failed probe. `text` is Spark's message about its tasks."""
    where = _EXECUTOR.search(text)
    host = where[1] if where else "unknown"
    if missing := _MISSING.search(text):
        return ExecutorUnfitError(
            f"the executor on {host} ({missing[2]}) has no Python at {missing[1]}", hint=_PYTHON_HINT
        )
    if ended := _ENDED.search(text):
        last = ended[1].strip().splitlines()[-1].strip()[:500]
        return ExecutorUnfitError(
            f"the Python of the executor on {host} ends as soon as it is started: {last}",
            hint="the standard error of the executor, in its directory on the worker, has more",
        )
    if "reading the port number" in text:
        return ExecutorUnfitError(
            f"the Python of the executor on {host} ends as soon as it is started",
            hint="the standard error of the executor, in its directory on the worker, has the reason",
        )
    if versions := _VERSIONS.search(text):
        return _other_python(host, versions[1])
    if "Cannot run program" in text:
        return ExecutorUnfitError(
            f"the executor on {host} cannot start its Python: {_first_line(text)}",
            hint="Spark unpacks the launcher below the directory of the worker: programs must be allowed to run there",
        )
    return NoExecutorsError(
        f"the executors of {master} cannot run our tasks: {_first_line(text)}",
        hint="the log of the executor, in its directory on the worker, has more",
    )


def _other_python(host: str, found: str) -> ExecutorUnfitError:
    return ExecutorUnfitError(
        f"the executor on {host} has Python {found}, and the driver {_minor(platform.python_version())}",
        hint=_PYTHON_HINT,
    )


def _minor(text: str) -> str:
    return ".".join(text.split(".")[:2])


def _package_fault(udfs: Sequence[UdfFile]) -> str | None:
    """Return which package of ours or of the user's functions is missing on the executor, or too old."""
    try:
        for module in NEEDED:
            import_module(module)
        if int(version("pyarrow").split(".")[0]) < _OLDEST_ARROW:
            return f"pyarrow is {version('pyarrow')}, and must be {_OLDEST_ARROW} or newer"
        check_requirements(udfs)
    except ImportError as error:
        return f"the package {error.name or message_of(error)} is missing"
    except EngineError as error:
        return message_of(error)
    return None


def _mailbox_fault() -> str | None:
    """Return why a task cannot send files to the driver, if it has to."""
    address = read_address(os.environ)
    if address is None:
        return None
    client = MailboxClient(address)
    try:
        client.reach()
    except EngineError as error:
        return message_of(error)
    finally:
        client.close()
    return None


def _disk_fault(folder: Path, file: str) -> str | None:
    try:
        if (folder / "driver").read_text() != folder.name:
            return "it holds something else"
        (folder / file).write_text(file)
    except OSError as error:
        return error.strerror or type(error).__name__
    return None


def _java() -> int | None:
    """Return the version of the Java that has started this worker: an ancestor of its process."""
    process = os.getpid()
    for _ in range(4):
        try:
            program = Path(f"/proc/{process}/exe").readlink()
            if program.name == "java":
                return java_major(program)
            process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            return None
    return None


def _send(spark: SparkSession, folder: Path | None, udfs: Sequence[UdfFile]) -> None:
    """Run the probe in more tasks than all cores can run at the same time."""
    count = spark.sparkContext.defaultParallelism * _TASKS_OF_EACH_CORE
    files = tuple(udfs)
    try:
        numbers = spark.sparkContext.parallelize(range(count), count)
        answers = numbers.map(lambda number: look_around(folder, files, number)).collect()
    except (PySparkException, Py4JError) as error:
        reason = error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else message_of(error)
        raise explain_failed_probe(str(reason), str(spark.sparkContext.master)) from error
    refuse_unfit(answers)
    if folder is not None:
        refuse_other_disks(folder, answers)


def _executors(spark: SparkSession) -> list[ExecutorLook]:
    """Return the executors that are up. Spark counts their tasks in another thread, which this waits for."""
    try:
        context = spark.sparkContext._jsc.sc()  # noqa: SLF001 - pyspark does not say which executors there are
        if context.isStopped():
            raise NoExecutorsError(
                "the cluster has removed the application: its executors ended as soon as they were started. They look "
                f"for the driver at {_driver_of(spark)}",
                hint=f"{_REACH_HINT}; the logs of the executors, in the directories of the workers, have the reason",
            )
        context.listenerBus().waitUntilEmpty()
        found = context.statusStore().executorList(True)
        looks = [found.apply(index) for index in range(found.size())]
    except Py4JError as error:
        raise NoExecutorsError(f"the cluster has removed the application: {_first_line(message_of(error))}") from error
    return [ExecutorLook(look.id(), look.hostPort(), look.completedTasks()) for look in looks if look.id() != "driver"]


def _none_up(spark: SparkSession, wait: timedelta) -> NoExecutorsError:
    silent = [look.address for look in _executors(spark) if look.tasks == 0]
    whose = f"the executors on {', '.join(silent)} have run no task" if silent else "no executor is up"
    return NoExecutorsError(
        f"{whose}, of {spark.sparkContext.master}, within {wait.total_seconds():.0f} s",
        hint="see the page and the logs of the cluster: it needs free cores, the memory that was asked for and Java "
        f"17 or newer. Executors look for the driver at {_driver_of(spark)}; if they do not reach it, {_REACH_HINT}",
    )


def _driver_of(spark: SparkSession) -> str:
    """Return the address of the driver, as its executors have it."""
    conf = spark.sparkContext.getConf()
    return f"{conf.get('spark.driver.host')}:{conf.get('spark.driver.port')}"


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0].strip()[:500] if text.strip() else "no reason was given"


PATIENCE = timedelta(minutes=3)
"""Longest time that a run may be without any executor. A cluster that starts another one needs less."""
_EVERY = timedelta(seconds=5)


@dataclass(slots=True)
class ExecutorWatch:
    """Looks every few seconds whether there is an executor."""

    count: Callable[[], int]
    master: str
    patience: timedelta = PATIENCE
    clock: Callable[[], float] = time.monotonic
    _looked_at: float = field(default=float("-inf"), init=False)
    _alone_since: float | None = field(default=None, init=False)

    def look(self) -> None:
        """Raise NoExecutorsError if there has been no executor for too long."""
        now = self.clock()
        if now - self._looked_at < _EVERY.total_seconds():
            return
        self._looked_at = now
        if self.count() > 0:
            self._alone_since = None
            return
        self._alone_since = now if self._alone_since is None else self._alone_since
        if now - self._alone_since >= self.patience.total_seconds():
            raise NoExecutorsError(
                f"all executors of {self.master} have been gone for {self.patience.total_seconds():.0f} s",
                hint="nothing is lost: the next start asks the master for executors again; see the page and the logs "
                "of the cluster",
            )


def count_executors(spark: SparkSession) -> int:
    """Return how many executors are up, as far as Spark's driver knows. A JVM that does not answer is another error,
    which its next call shows: until then it counts as one."""
    try:
        # the driver is in the list, too
        return int(spark.sparkContext._jsc.sc().statusStore().executorList(True).size()) - 1  # noqa: SLF001 - see above
    except Py4JError:
        return 1
