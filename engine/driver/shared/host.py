"""Host process of a shared JVM: `python -m engine.driver.shared.host DIRECTORY MEMORY MASTER QUICK`.

    driver   registers as "job_1/3", with the descriptor of its pipeline's lock
    host     port and secret of a gateway into the JVM
    driver   asks for the JVM's fate, or its usage               at any time
    driver   leaves, or disconnects, for example when killed
    host     stops all work of the driver in the JVM, confirms, and releases the lock

Two processes hold the driver's lock now: the pipeline's next driver waits until both have released it. The host is no
child of a driver, and has an environment of its own, so that it is never killed together with a driver. It ends when it
has had no drivers for a while, or the JVM has ended.

Attribute resource usage in a shared JVM to drivers.

    in 10 s   Java 4 s of CPU, Spark's workers 2 s         task time: a 3 s, b 1 s
    a         its own threads and tasks in Java: 2.5 s     workers 1.5 s
    b         its own threads and tasks in Java: 0.5 s     workers 0.5 s
    both      memory of Java and of the workers, divided by two

Java counts the usage of its threads and tasks. Workers serve tasks of all drivers, so their usage is divided by task
time. The rest of Java, such as garbage collection, is not attributed.
"""

from __future__ import annotations

import logging
import os
import select
import shutil
import socket
import struct
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from py4j.protocol import Py4JError

from engine.delivery.disk_errors import writing
from engine.driver.handover import Line, short_path
from engine.driver.shared.jvm_lease import DRAINED, START, JavaWish
from engine.errors import DriverCrashedError, EngineError
from engine.jobs.processes import processes
from engine.jobs.processes.left_by_drivers import forget_java, note_java
from engine.jobs.processes.process_usage import ProcessRole, ProcessUsage, RunUsage, UsageMeter
from engine.spark.jvm.host_java import HostJava, TenantGateway


@dataclass(frozen=True, slots=True)
class InJava:
    """Usage of one driver in the JVM so far: CPU time of its threads and tasks, and its task time."""

    cpu_seconds: float
    task_seconds: float


@dataclass(slots=True)
class Shares:
    """Divides the total usage between two measurements."""

    _workers_before: float = 0.0
    _tasks_before: dict[str, float] = field(default_factory=dict)
    _workers: dict[str, float] = field(default_factory=dict)

    def look(self, workers_cpu: float, drivers: Mapping[str, InJava]) -> None:
        """Update the shares with the CPU time of all workers so far, and what each current driver has used."""
        ran = {name: max(0.0, used.task_seconds - self._tasks_before.get(name, 0.0)) for name, used in drivers.items()}
        fresh, total = max(0.0, workers_cpu - self._workers_before), sum(ran.values())
        for name, seconds in ran.items():
            share = fresh * seconds / total if total else fresh / len(ran)
            self._workers[name] = self._workers.get(name, 0.0) + share
        self._workers_before = max(workers_cpu, self._workers_before)
        self._tasks_before = {name: used.task_seconds for name, used in drivers.items()}
        self._workers = {name: seconds for name, seconds in self._workers.items() if name in drivers}

    def of(self, name: str, used: InJava, together: RunUsage, count: int) -> dict[ProcessRole, ProcessUsage]:
        """Return the share of one of `count` drivers."""
        memory = {role: usage.memory_bytes // max(count, 1) for role, usage in together.items()}
        return {
            "java": ProcessUsage(used.cpu_seconds, memory.get("java", 0)),
            "workers": ProcessUsage(self._workers.get(name, 0.0), memory.get("workers", 0)),
        }


LOG = logging.getLogger(__name__)
IDLE = 30.0
"""Seconds without drivers after which a host ends; a restarting driver is back sooner."""
_CALLERS = 4096
"""Length of the listen queue while Java starts; the kernel may allow less."""
_LOOK = 0.5
_MEASURED_FOR = 5.0
"""Seconds for which a measurement of all processes is reused: each driver asks for it."""
_LAST_WORDS = 5.0
"""Seconds in which drivers are told why there is no JVM."""


def main(arguments: list[str]) -> int:
    """Be the host that a directory is for."""
    directory, wish = Path(arguments[0]), JavaWish(arguments[1], arguments[2], is_quick=arguments[3] == "quick")
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO)
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    _remove_scratch(directory)
    listener = listen(directory)
    if os.fork():
        os._exit(0)  # let the starter continue: the host accepts connections, and is detached
    os.setsid()
    try:
        java = HostJava.open(directory, memory=wish.memory, master=wish.master, quick=wish.is_quick)
    except EngineError as error:
        LOG.error("%s", error)
        _refuse(listener, error)
        return 3
    LOG.info("Java %d is up", java.pid)
    return Host(directory, listener, java).serve()


def listen(directory: Path) -> socket.socket:
    """Return the socket that drivers call. Only who holds the lock of the start may ask for it."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with short_path(directory) as path:
        Path(path).unlink(missing_ok=True)
        listener.bind(path)
    listener.listen(_CALLERS)
    return listener


def _remove_scratch(directory: Path) -> None:
    """Remove what hosts have left that were killed."""
    for path in directory.glob("scratch-*"):
        if processes.born(int(path.name.rpartition("-")[2])) is None:
            shutil.rmtree(path, ignore_errors=True)


def _refuse(listener: socket.socket, error: EngineError) -> None:
    """Tell those who have come meanwhile why there is no Java."""
    end = time.monotonic() + _LAST_WORDS
    while (left := end - time.monotonic()) > 0 and select.select([listener], [], [], left)[0]:
        connection, _ = listener.accept()
        _tell(Line(connection), error)
        connection.close()


def _tell(line: Line, error: EngineError) -> None:
    """Answer a driver that wants to come in with what stands in the way."""
    with suppress(OSError):
        line.say({"code": error.code, "message": error.message, "hint": error.hint})


@dataclass(slots=True)
class Tenant:
    """A driver in the host."""

    name: str
    door: TenantGateway
    lock: int
    """Descriptor of its pipeline's lock."""
    lock_path: Path
    has_left: bool = False


@dataclass(slots=True)
class Host:
    """Admits drivers, and stops the work of a driver that has left."""

    directory: Path
    listener: socket.socket
    java: HostJava
    _tenants: dict[str, Tenant] = field(default_factory=dict)
    _coming: int = 0
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _empty_since: float = field(default_factory=time.monotonic)
    _meter: UsageMeter = field(default_factory=UsageMeter)
    _shares: Shares = field(default_factory=Shares)
    _measuring: threading.Lock = field(default_factory=threading.Lock)
    _used: Mapping[str, InJava] = field(default_factory=dict)
    """Usage of each driver in the JVM at the last measurement."""
    _measured: RunUsage = field(default_factory=dict)
    _measured_at: float = 0.0
    _verdict: str | None = None
    """Reason why the JVM was ended."""

    def serve(self) -> int:
        """Serve until no driver is left, or the JVM has ended; return the exit code."""
        while self.java.is_alive:
            if select.select([self.listener], [], [], _LOOK)[0]:
                self._accept()
            elif self._is_needless() and self._hang_up():
                LOG.info("no pipeline uses the shared JVM: the host ends")
                self.java.close()
                return 0
        LOG.error("Java has ended: %s", self._verdict or self.java.death())
        # those who are here ask what has become of Java; those who come start another host
        self.listener.close()
        end = time.monotonic() + _LAST_WORDS
        while self._tenants and time.monotonic() < end:
            time.sleep(_LOOK / 5)
        self.java.close()
        return 3

    def _accept(self) -> None:
        connection, _ = self.listener.accept()
        peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        if struct.unpack("3i", peer)[1] != os.geteuid():
            connection.close()
            return
        with self._guard:
            self._coming += 1
        threading.Thread(target=self._attend, args=(Line(connection),), daemon=True).start()

    def _attend(self, line: Line) -> None:
        """Serve one driver until it has gone."""
        tenant = None
        try:
            tenant = self._let_in(line)
            if tenant is not None:
                self._welcome(line, tenant)
            while tenant is not None and (request := line.hear()) is not None:
                line.say({**self._answer(tenant, str(request.get("ask"))), "number": request.get("number")})
        except (OSError, ValueError) as error:
            LOG.warning("the line to %s breaks: %s", "a driver" if tenant is None else tenant.name, error)
        except Py4JError as error:
            LOG.warning("Java does not answer for %s: %s", "a driver" if tenant is None else tenant.name, error)
        except EngineError as error:
            LOG.error("%s", error)
            if tenant is None:
                _tell(line, error)
        except Exception as error:
            LOG.exception("the host meets an error of its own")
            if tenant is None:  # hung up on without a word, it would take that for an outage, and come again for ever
                hint = f"the log of the host is in {self.directory}"
                _tell(line, DriverCrashedError(f"{type(error).__name__}: {error}", hint=hint))
        finally:
            try:
                if tenant is not None:
                    self._see_off(tenant)
                    with suppress(OSError):
                        line.say(DRAINED)
            finally:
                with self._guard:
                    self._coming -= 1
                    self._empty_since = time.monotonic()
                line.close()

    def _let_in(self, line: Line) -> Tenant | None:
        request, descriptors = line.hear_with_outputs()
        if request is None or len(descriptors) != 1:
            for descriptor in descriptors:
                os.close(descriptor)
            return None
        try:
            name, log, lock = str(request["lodge"]), Path(str(request["log"])), Path(str(request["lock"]))
            with writing(lock.parent):  # hung up on without a word, it would take that for an outage, too
                note_java(lock, self.java.pid)
            try:
                tenant = Tenant(name, self.java.let_in(name, log), descriptors[0], lock)
            except BaseException:
                forget_java(lock)
                raise
        except BaseException:
            os.close(descriptors[0])
            raise
        with self._guard:
            self._tenants[tenant.name] = tenant
        LOG.info("%s comes", tenant.name)
        return tenant

    def _welcome(self, line: Line, tenant: Tenant) -> None:
        """Tell a driver where its door is; it may have been killed while it waited for that."""
        door = tenant.door
        pids = {"host": os.getpid(), "java": self.java.pid}
        line.say({**pids, "port": door.port, "secret": door.secret, "python": self.java.python})

    def _answer(self, tenant: Tenant, question: str) -> dict[str, object]:
        match question:
            case "java":
                death = self.java.death()
                if self._verdict is not None:
                    return {"died": self._verdict}
                return {} if death is None else {"died": death.message, "hint": death.hint}
            case "usage" if not tenant.has_left:
                with suppress(Py4JError, OSError):  # another one may just leave
                    return self._usage(tenant)
            case "leave":
                self._see_off(tenant)
        return {}

    def _usage(self, asking: Tenant) -> dict[str, object]:
        """Return the resources that a driver has used here, as far as they are known."""
        if not self._measuring.acquire(timeout=_LOOK):  # a tenant that leaves does not wait for a suspended JVM
            return {}
        try:
            if asking.name not in self._used or time.monotonic() - self._measured_at > _MEASURED_FOR:
                self._look()
            usage = self._shares.of(asking.name, self._used[asking.name], self._measured, len(self._used))
            return {"drivers": len(self._used), "usage": {role: asdict(part) for role, part in usage.items()}}
        finally:
            self._measuring.release()

    def _look(self) -> None:
        """See what all have used who are here."""
        with self._guard:
            tenants = [tenant for tenant in self._tenants.values() if not tenant.has_left]
        self._used = {tenant.name: InJava(*tenant.door.used()) for tenant in tenants}
        self._measured, self._measured_at = self._meter.measure(), time.monotonic()
        workers = self._measured.get("workers")
        self._shares.look(0.0 if workers is None else workers.cpu_seconds, self._used)

    def _see_off(self, tenant: Tenant) -> None:
        """End what it has under way, then let go of its lock. What does not end in time is ended with Java: nothing of
        it may meet the next run of its pipeline."""
        if tenant.has_left:
            return
        tenant.has_left = True
        begin = time.monotonic()
        if self.java.is_alive and not tenant.door.close():
            LOG.error("what %s has begun does not end: Java is ended", tenant.name)
            self._verdict = f"Java was ended, since what {tenant.name} had begun in it did not end"
            self.java.kill()
        with self._guard:
            del self._tenants[tenant.name]
        with suppress(OSError):
            forget_java(tenant.lock_path)
        os.close(tenant.lock)
        LOG.info("%s has gone, in %.1f s", tenant.name, time.monotonic() - begin)

    def _is_needless(self) -> bool:
        with self._guard:
            return not self._coming and time.monotonic() - self._empty_since > IDLE

    def _hang_up(self) -> bool:
        """Whether nobody calls any more: who is about to holds the lock of the start."""
        lock = processes.try_lock(self.directory / START)
        if lock is None:
            return False
        with lock:
            if select.select([self.listener], [], [], 0)[0]:
                return False
            with short_path(self.directory) as path:
                Path(path).unlink(missing_ok=True)
            self.listener.close()
            return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
