"""Probe of a declared shared disk: every executor and the driver read a file that the other has written.

    driver      writes probe-5f2c/driver          "5f2c"
    task 3      reads it, and writes probe-5f2c/3
    driver      reads that

Tasks are sent until each known executor has run some. An executor that joins later is not probed. Files of its tasks
would be missing before an epoch is committed, which fails the run as well.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from engine.errors import DiskNotSharedError, NoExecutorsError, message_of

WAIT = timedelta(minutes=3)
"""Longest wait for the executors of a cluster."""
_POLL = 0.2
_TASKS_OF_EACH_CORE = 3
_HINT = "mount one disk at this path on every machine of the cluster, or leave out master to run on this machine"


@dataclass(frozen=True, slots=True)
class Answer:
    """Result of a task: its host, and either the file of the driver that it read and the file that it wrote, or the
    error."""

    host: str
    file: str
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class ExecutorLook:
    """A running executor, and the number of our tasks that it has completed."""

    id: str
    address: str
    tasks: int


def probe_executors(
    spark: SparkSession,
    root: Path,
    *,
    wait: timedelta = WAIT,
    on_alive: Callable[[], None] = lambda: None,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Raise DiskNotSharedError if an executor does not see `root` as the driver does, and NoExecutorsError if none is
    up in time, or one cannot run our tasks."""
    folder = root / f"probe-{secrets.token_hex(8)}"
    folder.mkdir(parents=True)
    try:
        (folder / "driver").write_text(folder.name)
        deadline = clock() + wait.total_seconds()
        while any(look.tasks == 0 for look in _executors(spark)) or not _executors(spark):
            on_alive()
            if clock() >= deadline:
                raise _none_up(spark, wait)
            if _executors(spark):
                _send(spark, folder)
            else:
                time.sleep(_POLL)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def look_at(folder: Path, number: int) -> Answer:
    """Read what the driver has written in `folder`, and write a file there. Runs in a task."""
    host, file = socket.gethostname(), f"{number}-{secrets.token_hex(4)}"
    try:
        if (folder / "driver").read_text() != folder.name:
            return Answer(host, file, "it holds something else")
        (folder / file).write_text(host)
    except OSError as error:
        return Answer(host, file, error.strerror or type(error).__name__)
    return Answer(host, file)


def refuse_other_disks(folder: Path, answers: list[Answer]) -> None:
    """Raise DiskNotSharedError if an executor has another disk at the place of the driver's."""
    for answer in answers:
        if answer.fault is not None:
            raise DiskNotSharedError(
                f"the executor on {answer.host} does not see the file that the driver has written in {folder.parent}: "
                f"{answer.fault}",
                hint=_HINT,
            )
        if not (folder / answer.file).exists():
            raise DiskNotSharedError(
                f"the driver does not see the file that the executor on {answer.host} has written in {folder.parent}",
                hint=_HINT,
            )


def _send(spark: SparkSession, folder: Path) -> None:
    """Have tasks look at the folder: more than all cores can run at the same time."""
    place = os.fspath(folder)
    count = spark.sparkContext.defaultParallelism * _TASKS_OF_EACH_CORE
    try:
        numbers = spark.sparkContext.parallelize(range(count), count)
        answers = numbers.map(lambda number: look_at(Path(place), number)).collect()
    except (PySparkException, Py4JError) as error:
        raise NoExecutorsError(
            f"the executors of {spark.sparkContext.master} cannot run our tasks: {_reason(error)}",
            hint="they need the Python of the driver, with this package, at the same path",
        ) from error
    refuse_other_disks(folder, answers)


def _executors(spark: SparkSession) -> list[ExecutorLook]:
    """Return the executors that are up. Spark counts their tasks in a thread of its own, which is waited for."""
    context = spark.sparkContext._jsc.sc()  # noqa: SLF001 - pyspark does not say which executors there are
    context.listenerBus().waitUntilEmpty()
    found = context.statusStore().executorList(True)
    looks = [found.apply(index) for index in range(found.size())]
    return [ExecutorLook(look.id(), look.hostPort(), look.completedTasks()) for look in looks if look.id() != "driver"]


def _none_up(spark: SparkSession, wait: timedelta) -> NoExecutorsError:
    silent = [look.address for look in _executors(spark) if look.tasks == 0]
    whose = f"the executors on {', '.join(silent)} have run no task" if silent else "no executor is up"
    return NoExecutorsError(
        f"{whose}, of {spark.sparkContext.master}, within {wait.total_seconds():.0f} s",
        hint="see the page and the logs of the cluster: it needs free cores, the memory that was asked for, and a JDK "
        "with the module jdk.incubator.vector; its workers must reach the driver",
    )


def _reason(error: Exception) -> str:
    return message_of(error).splitlines()[0].strip()[:500]
