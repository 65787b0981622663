"""Drivers that are forks of a process which has imported what they need."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engine.jobs.decisions.observe import Process
from engine.jobs.decisions.status import Run
from engine.jobs.disk import DataDirectory
from engine.jobs.processes import forked_drivers, processes
from engine.jobs.processes.forked_drivers import ForkedDriver, ForkedDrivers
from engine.jobs.processes.runner import LocalRunner
from tests.jobs.builders import T0, assigned

SERVER = """
import json, os, socket, sys
from pathlib import Path
from engine.driver.forks import Forks, place_of_mark
from engine.driver.handover import Line
write_mark = place_of_mark()
order = Forks(Line(socket.socket(fileno=int(sys.argv[-1])))).serve()
if order is not None:
    order.become(write_mark)
    print("driven", sys.argv[1:], os.getpgrp() == os.getpid(), flush=True)
    told = json.loads(Path(sys.argv[-1]).read_text())
    if told["waits"]:
        import signal
        signal.pause()
    sys.exit(told["code"])
"""
"""The real server, whose drivers only say that they are there."""


def until(holds: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(3000):
        if holds():
            return
        pause.wait(0.01)
    raise AssertionError


@pytest.fixture
def forks(tmp_path: Path) -> Iterator[ForkedDrivers]:
    drivers = ForkedDrivers(tmp_path / "forks.log", lambda: os.environ, (sys.executable, "-c", SERVER))
    yield drivers
    if drivers._server is not None:
        drivers._server.end()


def forked(forks: ForkedDrivers, folder: Path, name: str, *, code: int = 0, waits: bool = False) -> ForkedDriver:
    assignment = folder / f"{name}.json"
    assignment.write_text(json.dumps({"code": code, "waits": waits}))
    environment = {**os.environ, processes.MARK: mark_of(name), "ARROYO_SECRET_KAFKA": "hidden"}
    driver = forks.fork(assignment, folder / f"{name}.log", environment)
    assert driver is not None, (folder / "forks.log").read_text()
    return driver


def mark_of(name: str) -> str:
    return f"{name}/{os.getpid()}"


def test_a_fork_drives_its_run_writes_to_its_log_and_its_exit_is_reported(forks: ForkedDrivers, tmp_path: Path) -> None:
    driver = forked(forks, tmp_path, "orders", code=3)

    until(lambda: processes.born(driver.pid) is None)

    assert driver.poll() == 3
    assert (tmp_path / "orders.log").read_text() == f"driven ['run', '{tmp_path / 'orders.json'}'] True\n"


def test_forks_are_found_by_marks_of_their_own_and_show_no_secret(forks: ForkedDrivers, tmp_path: Path) -> None:
    orders, clicks = (forked(forks, tmp_path, name, waits=True) for name in ("orders", "clicks"))

    until(lambda: processes.marked(mark_of("orders")) == [orders.pid])
    until(lambda: processes.marked(mark_of("clicks")) == [clicks.pid])
    assert b"hidden" not in Path(f"/proc/{orders.pid}/environ").read_bytes()
    processes.kill_group(orders.pid)

    until(lambda: orders.poll() == -signal.SIGKILL)
    assert clicks.poll() is None
    processes.kill_group(clicks.pid)


def test_drivers_live_on_when_the_control_plane_has_gone(forks: ForkedDrivers, tmp_path: Path) -> None:
    driver = forked(forks, tmp_path, "orders", waits=True)
    assert forks._server is not None

    forks.close()

    assert forks._server.process.wait(30) == 0
    assert processes.born(driver.pid) is not None
    processes.kill_group(driver.pid)


def test_a_fork_that_the_control_plane_does_not_know_of_does_nothing(forks: ForkedDrivers, tmp_path: Path) -> None:
    """Else a run that is started anew would have two drivers of one number."""
    forks._server = forks._start()
    order = {"assignment": str(tmp_path / "orders.json"), "log": str(tmp_path / "orders.log"), "environment": {}}

    pid = forks._server._ask(order)["pid"]
    assert isinstance(pid, int)
    forks.close()

    until(lambda: processes.born(pid) is None)
    assert not (tmp_path / "orders.log").exists()


@pytest.mark.parametrize(("isolation", "is_forked"), [("shared", True), ("own", False)])
def test_the_driver_of_a_run_that_shares_java_is_a_fork(
    forks: ForkedDrivers, tmp_path: Path, isolation: str, is_forked: bool
) -> None:
    runner = LocalRunner(DataDirectory(tmp_path), (sys.executable, "-c", "pass"), forks=forks)
    run = Run(f"job_{os.getpid():016d}", f"pl_{os.getpid():016d}", 1, "h", 1, 1, T0)
    settings = {"isolation": isolation}

    holder = runner.launch(
        assigned(tmp_path, job_id=run.job_id, pipeline_id=run.pipeline_id, generation=1, settings=settings)
    )
    run = replace(run, pid=holder.pid, born=holder.born)
    until(lambda: runner.look(run) is Process.GONE)

    log = DataDirectory(tmp_path).log(run.pipeline_id, 1).read_text()
    assert log.startswith("driven") is is_forked
    # the stand-in finds no code in what it was given
    assert (runner.ending(run) or "").endswith("code 1" if is_forked else "code 0")


def test_driver_starts_as_usual_if_forking_fails_and_forking_is_not_retried(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    now, starts = [0.0], tmp_path / "starts"
    command = (sys.executable, "-c", f"open({str(starts)!r}, 'a').write('x')")
    forks = ForkedDrivers(tmp_path / "forks.log", lambda: os.environ, command, clock=lambda: now[0])

    for now[0] in (0.0, 10.0, 700.0):
        assert forks.fork(tmp_path / "orders.json", tmp_path / "orders.log", {processes.MARK: "job_1/1"}) is None

    assert len(starts.read_text()) == 2
    assert "drivers cannot be forked now" in caplog.text


def test_a_server_that_does_not_answer_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forked_drivers, "_PATIENCE", 0.05)
    command = (sys.executable, "-c", "import signal; signal.pause()")
    forks = ForkedDrivers(tmp_path / "forks.log", lambda: os.environ, command)

    assert forks.fork(tmp_path / "orders.json", tmp_path / "orders.log", {processes.MARK: "job_1/1"}) is None

    assert forks._server is None


def test_a_mark_that_has_no_room_is_never_cut_off(tmp_path: Path) -> None:
    forks = ForkedDrivers(tmp_path / "forks.log", lambda: os.environ, ("never started",))

    assert forks.fork(tmp_path / "a", tmp_path / "b", {processes.MARK: "j" * 201}) is None
    assert not (tmp_path / "forks.log").exists()


@pytest.mark.parametrize("question", ["ending", "fork"])
def test_a_late_answer_of_the_server_is_not_taken_for_another_one(
    forks: ForkedDrivers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    """Else a run would be driven by the fork that was asked for another one."""
    orders = forked(forks, tmp_path, "orders", waits=True)
    server = orders.server
    server.connection.settimeout(0.05)
    server.process.send_signal(signal.SIGSTOP)

    if question == "ending":
        assert orders.poll() is None
    else:
        with pytest.raises(TimeoutError):
            server.fork(tmp_path / "orders.json", tmp_path / "orders.log", os.environ)
    server.process.send_signal(signal.SIGCONT)
    clicks = forked(forks, tmp_path, "clicks", code=5)

    until(lambda: processes.born(clicks.pid) is None)
    assert clicks.poll() == 5
    assert (tmp_path / "clicks.log").read_text().startswith("driven")
    assert server.connection.fileno() == -1
    processes.kill_group(orders.pid)


def test_the_line_to_a_server_that_was_killed_is_closed(forks: ForkedDrivers, tmp_path: Path) -> None:
    orders = forked(forks, tmp_path, "orders")
    until(lambda: processes.born(orders.pid) is None)
    orders.server.process.kill()
    orders.server.process.wait()

    clicks = forked(forks, tmp_path, "clicks")

    assert clicks.server is not orders.server
    assert orders.server.connection.fileno() == -1
    assert orders.poll() is None
    until(lambda: clicks.poll() == 0)


def test_a_fork_that_waits_behind_a_server_that_is_stopped_can_be_ended(forks: ForkedDrivers, tmp_path: Path) -> None:
    """It has no mark of its own yet, by which it could be found."""
    server = forks._server = forks._start()
    order = {"assignment": str(tmp_path / "orders.json"), "log": str(tmp_path / "orders.log"), "environment": {}}
    pid = server._ask(order)["pid"]
    assert isinstance(pid, int)
    server.process.send_signal(signal.SIGSTOP)
    server._say({"go": pid})

    until(lambda: os.getpgid(pid) == pid)
    processes.kill_group(pid)

    until(lambda: processes.born(pid) is None)
