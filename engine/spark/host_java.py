"""Java of a host, in which each of several drivers has a door and a session of its own.

What a driver does there is done by threads that its door has started: they have its session, the pool of its tasks and
the tag of its jobs from that (see `jvm/local_files/arroyo/Lodger.java`).
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from engine.errors import JvmDiedError
from engine.spark.jvm import start as java_process
from engine.spark.session import close_session, gateway_of_session, open_session

_FAIR: Mapping[str, str] = {
    # a pool for each driver, by turns; within a pool the order is Spark's
    "spark.scheduler.mode": "FAIR",
}
END_PATIENCE = timedelta(seconds=60)
"""For what a driver has left to end. A worker that does not heed its task is ended after two seconds."""


@dataclass(frozen=True, slots=True)
class Door:
    """Where one driver comes in."""

    port: int
    secret: str = field(repr=False)
    lodger: Any = field(repr=False)
    """Its handle in Java."""

    def close(self) -> bool:
        """End all that the driver has under way; whether nothing of it is there any more. A Java that has ended has
        nothing."""
        try:
            return bool(self.lodger.close(END_PATIENCE // timedelta(milliseconds=1)))
        except (Py4JError, OSError):
            return gateway_of_session().death() is not None

    def cpu_seconds(self) -> float:
        """What its threads and tasks have used in Java."""
        return float(self.lodger.cpuNanos()) / 1e9

    def task_seconds(self) -> float:
        """How long its tasks ran."""
        return float(self.lodger.taskMillis()) / 1e3


@dataclass(frozen=True, slots=True)
class HostJava:
    """The session of the host itself, which runs nothing."""

    spark: SparkSession

    @staticmethod
    def open(directory: Path, *, memory: str, master: str, quick: bool) -> HostJava:
        """Start Java and Spark."""
        spark = open_session(
            app_name="host",
            log_dir=directory,
            master=master,
            memory=memory,
            quick=quick,
            extra_conf=_FAIR,
            is_shared=True,
        )
        return HostJava(spark)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return gateway_of_session().process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return gateway_of_session().is_alive

    @property
    def python(self) -> str:
        """What it takes for Python."""
        return os.environ["PYSPARK_PYTHON"]

    def death(self) -> JvmDiedError | None:
        """What has become of it, when its connection is lost; None when it lives."""
        return java_process.death_of(gateway_of_session())

    def let_in(self, name: str, log: Path) -> Door:
        """A door for a driver, under a name that no other has or had. What Spark says of its work goes to that file."""
        jvm = self.spark.sparkContext._jvm  # noqa: SLF001 - pyspark has no other way to Java
        assert jvm is not None
        secret = secrets.token_hex(32)
        lodger = jvm.arroyo.Lodger.open(self.spark._jsparkSession, name, secret, str(log))  # noqa: SLF001 - see above
        return Door(int(lodger.port()), secret, lodger)

    def kill(self) -> None:
        """End it at once."""
        process = gateway_of_session().process
        process.kill()
        process.wait()

    def close(self) -> None:
        """End it."""
        close_session(self.spark)
