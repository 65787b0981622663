"""A host and its drivers, with a Java that only says what is done to it."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.driver import main
from engine.driver.handover import Line
from engine.driver.shared import host, jvm_lease
from engine.driver.shared.host import Host, InJava, Shares, listen
from engine.driver.shared.jvm_lease import (
    JavaWish,
    JvmLease,
    call_host,
    host_directory,
    host_environment,
    host_mark,
    make_private,
)
from engine.errors import (
    Cause,
    DiskFullError,
    DriverCrashedError,
    EngineError,
    JavaStartError,
    JvmDiedError,
    SettingError,
    SharedJavaDiedError,
    cause_of,
)
from engine.jobs.processes import processes
from engine.jobs.processes.left_by_drivers import end_stale_jvms, is_at_work, note_java
from engine.jobs.processes.process_usage import ProcessUsage, together
from engine.spark.jvm import host_java
from engine.spark.jvm.host_java import HostJava, TenantGateway, answer_within
from engine.values.run_settings import read_run_settings

WISH = JavaWish("2g", "local[2]")


@dataclass
class FakeDoor:
    """Closes when the test lets it."""

    name: str
    may_close: threading.Event = field(default_factory=threading.Event)
    can_close: bool = True
    port: int = 1
    secret: str = "s"

    def close(self) -> bool:
        assert self.may_close.wait(30)
        return self.can_close

    def used(self) -> tuple[float, float]:
        return 2.0, 1.0


@dataclass
class FakeJava:
    """Lives until it is killed."""

    doors: dict[str, FakeDoor] = field(default_factory=dict)
    is_alive: bool = True
    pid: int = 4711
    python: str = "python"

    def let_in(self, name: str, log: Path) -> FakeDoor:
        self.doors[name] = FakeDoor(name)
        return self.doors[name]

    def death(self) -> EngineError | None:
        return None if self.is_alive else JvmDiedError("Java was killed by signal 9", hint="look")

    def kill(self) -> None:
        self.is_alive = False

    def close(self) -> None:
        self.is_alive = False


@dataclass
class Serving:
    """A host that serves in a thread."""

    directory: Path
    java: FakeJava = field(default_factory=FakeJava)
    lodgers: list[JvmLease] = field(default_factory=list)
    thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        make_private(self.directory)
        server = Host(self.directory, listen(self.directory), self.java)
        self.thread = threading.Thread(target=server.serve, daemon=True)
        self.thread.start()

    def lodger(self, name: str) -> JvmLease:
        """A driver that has come in, with its pipeline's lock."""
        lock = processes.try_lock(self.lock(name))
        assert lock is not None
        place = JvmLease(self.directory, WISH, {}, name, lock)
        place._line, _ = place._received(self.directory / "log")
        self.lodgers.append(place)
        return place

    def lock(self, name: str) -> Path:
        return self.directory / "runs" / name / "lock"


@pytest.fixture
def serving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serving]:
    monkeypatch.setattr(host, "_LOOK", 0.01)
    monkeypatch.setattr(host, "_LAST_WORDS", 0.2)
    serving = Serving(tmp_path / "hosts" / "one")
    yield serving
    for place in serving.lodgers:
        if place._line is not None:
            place._line.close()
        place.lock.close()
    for door in serving.java.doors.values():
        door.may_close.set()
    serving.java.kill()
    serving.thread.join(30)


def until(holds: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(3000):
        if holds():
            return
        pause.wait(0.01)
    raise AssertionError


def test_a_lock_is_let_go_of_when_nothing_is_under_way_any_more(serving: Serving) -> None:
    place = serving.lodger("a")

    assert place._line is not None
    place._line.close()
    place.lock.close()  # as when the process is killed
    assert processes.is_locked(serving.lock("a"))

    serving.java.doors["a"].may_close.set()
    until(lambda: not processes.is_locked(serving.lock("a")))


def test_leaving_tenant_waits_for_its_calls(serving: Serving) -> None:
    place, other = serving.lodger("a"), serving.lodger("b")
    leaving = threading.Thread(target=place.leave)
    leaving.start()

    leaving.join(0.1)
    assert leaving.is_alive()
    serving.java.doors["a"].may_close.set()
    leaving.join(30)

    assert not leaving.is_alive()
    assert other.death() is None


def test_tenant_killed_while_waiting_for_its_gateway_releases_its_lock(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java takes its time to be up: meanwhile a driver that waits for it may be killed."""
    is_opening, may_open = threading.Event(), threading.Event()
    let_in = FakeJava.let_in

    def open_late(java: FakeJava, name: str, log: Path) -> FakeDoor:
        is_opening.set()
        assert may_open.wait(30)
        door = let_in(java, name, log)
        door.may_close.set()
        return door

    monkeypatch.setattr(FakeJava, "let_in", open_late)
    lock = processes.try_lock(serving.lock("a"))
    assert lock is not None
    line = call_host(serving.directory, WISH, {})
    line.say({"lodge": "a", "log": str(serving.directory / "log"), "lock": str(serving.lock("a"))}, (lock.fileno(),))
    assert is_opening.wait(30)
    line.close()
    lock.close()
    assert processes.is_locked(serving.lock("a"))

    may_open.set()

    until(lambda: not processes.is_locked(serving.lock("a")))


def test_a_tenant_that_is_refused_gets_the_reason_as_no_outage(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(java: FakeJava, name: str, log: Path) -> FakeDoor:
        raise TypeError("'JavaPackage' object is not callable")

    monkeypatch.setattr(FakeJava, "let_in", fail)

    lock = processes.try_lock(serving.lock("orders"))
    assert lock is not None
    with lock, pytest.raises(DriverCrashedError, match="JavaPackage") as met:
        JvmLease(serving.directory, WISH, {}, "orders", lock)._received(serving.directory / "log")

    assert cause_of(met.value) is Cause.UNKNOWN


def test_a_tenant_that_is_refused_for_lack_of_room_gets_that_reason(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(lock: Path, pid: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(host, "note_java", fail)

    lock = processes.try_lock(serving.lock("orders"))
    assert lock is not None
    with lock, pytest.raises(DiskFullError, match="No space left"):
        JvmLease(serving.directory, WISH, {}, "orders", lock)._received(serving.directory / "log")

    until(lambda: not processes.is_locked(serving.lock("orders")))


def test_work_that_does_not_end_is_ended_with_the_jvm_and_all_tenants_get_the_reason(serving: Serving) -> None:
    place, other = serving.lodger("a"), serving.lodger("b")
    serving.java.doors["a"].can_close = False
    serving.java.doors["a"].may_close.set()

    place.leave()

    assert not serving.java.is_alive
    death = other.death()
    assert isinstance(death, SharedJavaDiedError)
    assert death.message.endswith("Java was ended, since what a had begun in it did not end")
    assert cause_of(death) is Cause.OUTAGE


def test_whose_host_hangs_up_has_lost_java(serving: Serving) -> None:
    place = serving.lodger("a")
    before = place.is_alive
    assert before

    serving.java.kill()
    death = place.death()
    assert isinstance(death, SharedJavaDiedError)
    assert (death.message, death.hint) == (
        "Java, which this pipeline shares with others, has ended: Java was killed by signal 9",
        "look",
    )
    serving.thread.join(30)
    place._line.connection.shutdown(socket.SHUT_RDWR)  # type: ignore[union-attr] # it has a line
    assert not place.is_alive
    assert isinstance(place.death(), SharedJavaDiedError)


def test_a_driver_that_cannot_call_ends_no_host_that_serves_others(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    ended: list[Path] = []
    monkeypatch.setattr(jvm_lease, "_end_remains", ended.append)
    monkeypatch.setattr(jvm_lease, "_start_host", lambda *_: None)
    monkeypatch.setattr(
        socket, "socket", lambda *_: SimpleNamespace(connect=refuse, close=do_nothing, setblocking=do_nothing)
    )

    with pytest.raises(PermissionError):
        call_host(serving.directory, WISH, {})
    assert not ended


def do_nothing(*_: object) -> None:
    """To a socket that was never open."""


def test_a_host_in_which_nobody_is_ends_and_leaves_no_socket(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    place = serving.lodger("a")
    serving.java.doors["a"].may_close.set()
    monkeypatch.setattr(host, "IDLE", 0.0)
    pause = threading.Event()
    pause.wait(0.1)
    assert serving.thread.is_alive()

    place.leave()
    assert place._line is not None
    place._line.close()
    serving.thread.join(30)

    assert not serving.thread.is_alive()
    assert not (serving.directory / "socket").exists()


def test_two_that_come_at_once_find_one_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    starts = tmp_path / "starts"
    listening = f"""
import os, sys, time
from pathlib import Path
from engine.driver.shared.host import listen
listener = listen(Path(sys.argv[1]))
if os.fork():
    os._exit(0)
with open({str(starts)!r}, "a") as file:
    file.write(f"{{os.getpid()}}\\n")
connections = [listener.accept() for _ in range(2)]
time.sleep(60)
"""
    monkeypatch.setattr(jvm_lease, "HOST_COMMAND", (sys.executable, "-c", listening))
    directory, lines = tmp_path / "hosts" / "one", list[Any]()
    environment = host_environment(os.environ)
    callers = [threading.Thread(target=lambda: lines.append(call_host(directory, WISH, environment))) for _ in range(2)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)

    (pid,) = map(int, starts.read_text().split())
    os.kill(pid, 9)
    for line in lines:
        line.close()
    assert len(lines) == 2


def test_drivers_with_equal_settings_and_environments_share_a_jvm(tmp_path: Path) -> None:
    def directory(wish: JavaWish = WISH, **more: str) -> Path:
        return host_directory(tmp_path, wish, host_environment({"PATH": "/bin", **more}))

    assert directory() == directory(ARROYO_SECRET_KAFKA="x", **{processes.MARK: "job_1/3"})
    assert directory() != directory(AWS_REGION="north")
    assert directory() != directory(replace(WISH, memory="4g"))


def test_hosts_of_two_control_planes_are_told_apart_on_the_machine(tmp_path: Path) -> None:
    """Who comes after a host that was killed ends what has its mark, which must be no other's."""
    environment = host_environment({"PATH": "/bin"})
    one, other = (host_directory(tmp_path / name / "hosts", WISH, environment) for name in ("one", "other"))

    assert host_mark(one) != host_mark(other)


@pytest.mark.parametrize("master", ["spark://host:7077", "yarn", "k8s://host", "local-cluster[1,1,1024]"])
def test_a_master_elsewhere_is_refused_by_name(master: str) -> None:
    assert not read_run_settings({"master": master}).is_shared

    with pytest.raises(SettingError, match=r"isolation = 'shared' is for pipelines that run on this machine"):
        read_run_settings({"isolation": "shared", "master": master})


def test_isolation_is_own_or_shared() -> None:
    assert read_run_settings({"isolation": "shared", "master": "local[4]"}).is_shared
    assert not read_run_settings({"isolation": "own"}).is_shared
    with pytest.raises(SettingError, match="isolation must be own or shared, and is 'mine'"):
        read_run_settings({"isolation": "mine"})


def test_workers_are_divided_by_how_long_tasks_ran_and_memory_by_heads() -> None:
    shares, all_of_it = Shares(), {"java": ProcessUsage(9.0, 1000), "workers": ProcessUsage(3.0, 90)}
    shares.look(1.0, {"a": InJava(0.5, 10.0)})
    shares.look(3.0, {"a": InJava(2.5, 13.0), "b": InJava(0.5, 1.0)})

    usage = shares.of("a", InJava(2.5, 13.0), all_of_it, 2)
    other = shares.of("b", InJava(0.5, 1.0), all_of_it, 2)

    assert usage == {"java": ProcessUsage(2.5, 500), "workers": ProcessUsage(2.5, 45)}
    assert other["workers"] == ProcessUsage(0.5, 45)
    assert together({"driver": ProcessUsage(1.0, 7)}, usage)["java"] == ProcessUsage(2.5, 500)


def test_a_driver_says_what_it_has_of_the_java_that_it_shares(serving: Serving) -> None:
    place = serving.lodger("a")
    place._java = (4711, None)
    serving.lodger("b")

    shared = place.look()

    assert shared is not None
    assert (shared.pid, shared.drivers, shared.usage["java"].cpu_seconds) == (4711, 2, 2.0)


@pytest.fixture
def java() -> Iterator[subprocess.Popen[bytes]]:
    """A process in the place of Java."""
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


def birth(process: subprocess.Popen[bytes]) -> tuple[int, str | None]:
    return process.pid, processes.born(process.pid)


def killed_host(serving: Serving, java: subprocess.Popen[bytes]) -> tuple[JvmLease, socket.socket]:
    """A driver, and the other end of its line, where a process that is killed hangs up before it is gone."""
    place = serving.lodger("a")
    assert place._line is not None
    place._line.close()
    ours, of_host = socket.socketpair()
    place._line, place._java = Line(ours), birth(java)
    return place, of_host


def test_java_of_a_host_that_hangs_up_without_a_word_is_ended_before_the_lock_is_let_go_of(
    serving: Serving, java: subprocess.Popen[bytes]
) -> None:
    place, of_host = killed_host(serving, java)
    of_host.close()

    place.leave()

    assert java.wait(30) == -signal.SIGKILL


def test_java_of_a_host_that_hangs_up_without_a_word_is_ended_at_once(
    serving: Serving, java: subprocess.Popen[bytes]
) -> None:
    place, of_host = killed_host(serving, java)
    assert place._line is not None
    watch = threading.Thread(target=place._watch_host, args=(place._line.connection,))
    watch.start()
    assert java.poll() is None

    of_host.close()

    assert java.wait(30) == -signal.SIGKILL
    watch.join(30)


def test_java_of_a_host_that_has_seen_a_driver_off_and_hangs_up_is_left_alone(
    serving: Serving, java: subprocess.Popen[bytes]
) -> None:
    place = serving.lodger("a")
    place._java = birth(java)
    serving.java.doors["a"].may_close.set()
    assert place._line is not None
    place._line.connection.sendall(b"what no host understands\n")
    until(lambda: not place.is_alive)

    place._watch_host(place._line.connection)
    place.leave()

    assert java.poll() is None


def test_java_of_a_host_that_was_killed_with_its_driver_is_ended_by_who_has_the_lock_next(
    serving: Serving, java: subprocess.Popen[bytes]
) -> None:
    """Whatever that one wants for itself: it may be another host's, or have a Java of its own."""
    serving.java.pid = java.pid
    serving.lodger("a").lock.close()
    assert java.poll() is None

    end_stale_jvms(serving.lock("a"))

    assert java.wait(30) == -signal.SIGKILL


def test_no_work_is_left_once_the_stale_jvm_is_gone(serving: Serving, java: subprocess.Popen[bytes]) -> None:
    """Whoever asks, to copy or to remove what the pipeline has, is no driver and takes no lock."""
    serving.java.pid = java.pid
    lock = serving.lock("a")
    assert not is_at_work(lock)
    serving.lodger("a").lock.close()
    assert is_at_work(lock)
    assert java.poll() is None
    note_java(of_killed := lock.with_name("of_killed"), java.pid)
    of_killed.touch()

    assert not is_at_work(of_killed)

    assert java.wait(30) == -signal.SIGKILL


def test_java_is_left_alone_in_which_nothing_of_the_run_before_is_under_way(
    serving: Serving, java: subprocess.Popen[bytes]
) -> None:
    serving.java.pid = java.pid
    place = serving.lodger("a")
    serving.java.doors["a"].may_close.set()
    place.leave()

    end_stale_jvms(serving.lock("a"))

    assert java.poll() is None


def test_a_driver_ends_what_the_run_before_has_under_way_before_it_works(
    tmp_path: Path, java: subprocess.Popen[bytes]
) -> None:
    note_java(tmp_path / "lock", java.pid)

    main._take_lock(tmp_path / "lock").close()

    assert java.wait(30) == -signal.SIGKILL


def test_a_driver_that_has_hung_up_has_nothing_of_java_any_more(serving: Serving) -> None:
    place = serving.lodger("a")
    assert place._line is not None
    place._line.close()

    assert place.look() is None
    assert not place.is_alive
    assert isinstance(place.death(), SharedJavaDiedError)


def test_all_waiting_tenants_can_call_while_the_jvm_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jvm_lease, "_START_PATIENCE", 5.0)
    directory = tmp_path / "hosts" / "one"
    make_private(directory)
    with listen(directory):
        lines = [call_host(directory, WISH, {}) for _ in range(200)]
        for line in lines:
            line.close()


def test_a_host_that_lets_nobody_in_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "_CALLERS", 0)
    directory = tmp_path / "hosts" / "one"
    make_private(directory)
    with listen(directory):
        first = call_host(directory, WISH, {})
        monkeypatch.setattr(jvm_lease, "_START_PATIENCE", 0.1)

        with pytest.raises(SharedJavaDiedError, match="accepts no pipeline"):
            call_host(directory, WISH, {})
        first.close()


@dataclass
class StoppedLodger:
    """What a driver has in a Java that does not answer, until it goes on."""

    goes_on: threading.Event = field(default_factory=threading.Event)
    closed: threading.Event = field(default_factory=threading.Event)

    def close(self, millis: int) -> bool:
        assert self.goes_on.wait(30)
        self.closed.set()
        return True

    def port(self) -> int:
        assert self.goes_on.wait(30)
        return 1


def test_a_java_that_does_not_answer_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_java, "END_PATIENCE", timedelta(0))
    monkeypatch.setattr(host_java, "_GRACE", timedelta(milliseconds=50))
    lodger = StoppedLodger()

    has_closed = TenantGateway(1, "s", lodger).close()

    assert not has_closed
    lodger.goes_on.set()


def test_work_that_cannot_be_stopped_for_lack_of_threads_has_not_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the host would say that it has, and keep the lock of the pipeline for ever."""

    def fail(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail)

    assert not TenantGateway(1, "s", StoppedLodger()).close()


def test_tenant_of_a_hanging_jvm_gets_an_error_and_no_gateway_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_java, "_DOOR_PATIENCE", timedelta(milliseconds=50))
    monkeypatch.setattr(HostJava, "pid", 4711)
    lodger = StoppedLodger()
    java = SimpleNamespace(arroyo=SimpleNamespace(Tenant=SimpleNamespace(open=lambda *_: lodger)))
    session: Any = SimpleNamespace(sparkContext=SimpleNamespace(_jvm=java), _jsparkSession=None)

    with pytest.raises(SharedJavaDiedError, match="Java does not answer"):
        HostJava(session).let_in("a", tmp_path / "log")
    lodger.goes_on.set()

    assert lodger.closed.wait(30)


def test_an_error_of_a_call_into_the_jvm_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        answer_within(timedelta(seconds=30), lambda: 1 // 0)


def test_the_successor_of_a_killed_host_ends_its_leftovers(tmp_path: Path) -> None:
    directory = tmp_path / "hosts" / uuid.uuid4().hex  # its name is the mark, which must be nobody else's here
    environment = {**os.environ, processes.MARK: host_mark(directory)}
    remains = subprocess.Popen(["sleep", "600"], env=environment)
    until(lambda: processes.marked(host_mark(directory)) == [remains.pid])

    jvm_lease._end_remains(directory)

    assert remains.wait(30) == -signal.SIGKILL


def test_an_error_of_the_start_is_what_the_host_has_met() -> None:
    error = jvm_lease._error_of({"code": JavaStartError.code, "message": "no memory", "hint": None})

    assert isinstance(error, JavaStartError)
    assert error.message == "no memory"
