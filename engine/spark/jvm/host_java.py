"""JVM that several drivers share. Each driver has a gateway and a Spark session of its own in it.

The threads of a gateway run all calls of its driver. They carry the driver's session, scheduler pool and job tag (see
`jvm/local_files/arroyo/Tenant.java`).

py4j itself would wait forever for a JVM that hangs.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from engine.errors import JvmDiedError, SharedJavaDiedError, message_of
from engine.spark.jvm import start as java_process
from engine.spark.jvm.session import close_session, gateway_of_session, open_session

_FAIR: Mapping[str, str] = {
    # a pool for each driver, by turns; within a pool the order is Spark's
    "spark.scheduler.mode": "FAIR",
}
END_PATIENCE = timedelta(seconds=60)
"""Time for the unfinished work of a driver to end. A worker that ignores the end of its task is killed after two
seconds."""
_GRACE = timedelta(seconds=10)
"""Extra time. Java keeps to `END_PATIENCE` itself, unless the process is stopped."""
_DOOR_PATIENCE = timedelta(seconds=60)
_LOOK_PATIENCE = timedelta(seconds=3)


@dataclass(frozen=True, slots=True)
class TenantGateway:
    """Gateway of one driver into the shared JVM."""

    port: int
    secret: str = field(repr=False)
    lodger: Any = field(repr=False)
    """Its handle in Java."""

    def close(self) -> bool:
        """End all work of the driver in the JVM; return whether none is left. A JVM that has ended has none."""
        millis = END_PATIENCE // timedelta(milliseconds=1)
        try:
            return answer_within(END_PATIENCE + _GRACE, lambda: bool(self.lodger.close(millis)))
        except (TimeoutError, RuntimeError):  # the latter if no further thread can be started
            return False
        except (Py4JError, OSError):
            return gateway_of_session().death() is not None

    def used(self) -> tuple[float, float]:
        """Return the CPU time of its threads and tasks in the JVM, and how long its tasks ran. Raise TimeoutError."""
        return answer_within(
            _LOOK_PATIENCE, lambda: (float(self.lodger.cpuNanos()) / 1e9, float(self.lodger.taskMillis()) / 1e3)
        )


@dataclass(frozen=True, slots=True)
class HostJava:
    """The session of the host itself, which runs nothing."""

    spark: SparkSession

    @staticmethod
    def open(directory: Path, *, memory: str, master: str, quick: bool) -> HostJava:
        """Start the JVM and Spark."""
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
        """Return the process id."""
        return gateway_of_session().process.pid

    @property
    def is_alive(self) -> bool:
        """Whether the JVM has not ended."""
        return gateway_of_session().is_alive

    @property
    def python(self) -> str:
        """Return the Python executable that the JVM uses."""
        return os.environ["PYSPARK_PYTHON"]

    def death(self) -> JvmDiedError | None:
        """Return why the JVM has died, if its connection is lost; None if it lives."""
        return java_process.death_of(gateway_of_session())

    def let_in(self, name: str, log: Path) -> TenantGateway:
        """Return a gateway for a driver, under a name that was never used before. Spark's log lines about its work go
        to that file. Raise an error if the JVM does not answer."""
        jvm = self.spark.sparkContext._jvm  # noqa: SLF001 - pyspark has no other way to Java
        assert jvm is not None
        secret = secrets.token_hex(32)
        session = self.spark._jsparkSession  # noqa: SLF001 - see above

        def open_door() -> TenantGateway:
            lodger = jvm.arroyo.Tenant.open(session, name, secret, str(log))
            return TenantGateway(int(lodger.port()), secret, lodger)

        try:
            return answer_within(_DOOR_PATIENCE, open_door, too_late=TenantGateway.close)
        except TimeoutError as error:
            raise SharedJavaDiedError(
                f"the JVM that this pipeline would share accepts no pipeline: {message_of(error)}",
                hint=f"process {self.pid} may be stopped, or have too little memory: its log says more",
            ) from error

    def kill(self) -> None:
        """Kill the JVM immediately."""
        process = gateway_of_session().process
        process.kill()
        process.wait()

    def close(self) -> None:
        """Stop the JVM."""
        close_session(self.spark)


T = TypeVar("T")


def answer_within(patience: timedelta, call: Callable[[], T], too_late: Callable[[T], object] = lambda _: None) -> T:
    """Call and return the result; raise TimeoutError if the call takes too long. A thread then stays in the call until
    the JVM answers or ends, and passes a late result to `too_late`."""
    answers, guard = SimpleQueue[tuple[T | None, BaseException | None]](), threading.Lock()
    is_given_up = False

    def obey() -> None:
        answer, failure = None, None
        try:
            answer = call()
        except BaseException as error:  # noqa: BLE001 - it is raised where the answer is waited for
            failure = error
        with guard:
            if not is_given_up:
                answers.put((answer, failure))
                return
        if failure is None:
            too_late(answer)  # type: ignore[arg-type] # there is one

    threading.Thread(target=obey, name="call into Java", daemon=True).start()
    try:
        answer, failure = answers.get(timeout=patience.total_seconds())
    except Empty:
        with guard:
            is_given_up = answers.empty()
        if is_given_up:
            raise TimeoutError(f"Java does not answer for {patience.total_seconds():.0f} s") from None
        answer, failure = answers.get()
    if failure is not None:
        raise failure
    return answer  # type: ignore[return-value] # there is one
