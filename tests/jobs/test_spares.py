"""Drivers in reserve, as processes that only say that they are warm, and write down what they are told."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from engine.jobs.decisions.observe import Process
from engine.jobs.decisions.status import Run
from engine.jobs.disk import DataDirectory
from engine.jobs.processes import processes
from engine.jobs.processes.assignment import Assignment
from engine.jobs.processes.runner import LocalRunner
from engine.jobs.processes.spares import LOCK, READY, SpareDrivers, fits
from engine.values.run_settings import read_run_settings
from tests.jobs.builders import T0

ID = "pl_bbbbbbbbbbbbbbbb"
RUN = Run(f"job_{os.getpid():016d}", ID, 1, "h", 1, 1, T0)
WARM = """
import os, pathlib, subprocess, sys
from engine.jobs.processes import processes
folder = pathlib.Path(sys.argv[1])
lock = processes.try_lock(folder / "lock")
(folder / "ready").touch()
line = sys.stdin.readline()
if line:
    (folder / "order").write_text(line)
    subprocess.Popen(["sleep", "60"], start_new_session=True)
    {}
"""
STAYS = "import time; time.sleep(60)"


@dataclass
class Reserve:
    """A control plane's runner with spares, and a clock to turn."""

    root: Path
    now: float = 0.0
    memory: int = 8 * 2**30
    spares: SpareDrivers = field(init=False)
    runner: LocalRunner = field(init=False)

    def __post_init__(self) -> None:
        self.spares = SpareDrivers(DataDirectory(self.root), 0, dict)
        self.of(STAYS)

    def of(self, then: str, count: int = 1) -> None:
        directory = DataDirectory(self.root)
        self.end()
        self.spares = SpareDrivers(
            directory,
            count,
            lambda: {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ},
            [sys.executable, "-c", WARM.format(then)],
            lambda: self.now,
            lambda: self.memory,
        )
        self.runner = LocalRunner(directory, [sys.executable, "-c", "import time; time.sleep(60)"], (), self.spares)

    def end(self) -> None:
        self.spares.close()
        for spare in self.spares._spares:
            processes.kill(processes.marked(spare.mark))
            spare.process.wait()

    def pass_time(self, seconds: float = 100.0) -> None:
        self.now += seconds
        self.spares.keep()

    def assignment(self, **changes: object) -> Assignment:
        return Assignment(
            job_id=RUN.job_id,
            pipeline_id=ID,
            generation=1,
            key="k",
            server_file=self.root / "s",
            lock=DataDirectory(self.root).driver_lock(ID),
            state_dir=self.root / "state",
            name="n",
            query="SELECT '{{ secret:SHOP }}'",
            secrets={"SHOP": "hush"},
        ).model_copy(update=changes)

    def directories(self) -> list[Path]:
        folder = DataDirectory(self.root).spares
        return sorted(folder.iterdir()) if folder.is_dir() else []

    def warm(self) -> Path:
        """The directory of the one spare, once it is warm."""
        self.pass_time()
        (directory,) = self.directories()
        until((directory / READY).exists, True)
        return directory


@pytest.fixture
def reserve(tmp_path: Path) -> Iterator[Reserve]:
    made = Reserve(tmp_path)
    yield made
    made.end()
    for directory in made.directories():
        processes.kill(processes.marked(f"spare/{directory.name}"))
    for child in made.runner._children.values():
        processes.kill_group(child.pid)
        child.wait()


def until(look: Callable[[], object], expected: object) -> None:
    end, pause = time.monotonic() + 120, threading.Event()
    while look() != expected:
        assert time.monotonic() < end, look()
        pause.wait(0.01)


def test_a_run_gets_the_process_in_reserve_and_its_secrets_go_through_no_file(reserve: Reserve) -> None:
    directory = reserve.warm()

    holder = reserve.runner.launch(reserve.assignment())

    until(lambda: (directory / "order").exists() and (directory / "order").read_text().endswith("\n"), True)
    order = json.loads((directory / "order").read_text())
    assert Assignment.read(Path(order["assignment"])).generation == 1
    assert order["log"] == str(DataDirectory(reserve.root).log(ID, 1))
    assert order["environment"]["ARROYO_SECRET_SHOP"] == "hush"
    assert "PATH" not in order["environment"]
    run = replace(RUN, pid=holder.pid, born=holder.born)
    assert reserve.runner.look(run) is Process.ALIVE
    assert b"hush" not in DataDirectory(reserve.root).assignment(ID, 1).read_bytes()


def test_child_processes_of_a_spare_belong_to_its_run(reserve: Reserve) -> None:
    reserve.of("os._exit(0)")
    directory = reserve.warm()
    holder = reserve.runner.launch(reserve.assignment())
    run = replace(RUN, pid=holder.pid, born=holder.born)
    until(lambda: reserve.runner.look(run), Process.ORPHANED)

    later = LocalRunner(DataDirectory(reserve.root))  # another control plane, which has never seen the spare
    assert later.look(run) is Process.ORPHANED
    later.kill(run)

    until(lambda: processes.marked(f"spare/{directory.name}"), [])
    until(lambda: reserve.runner.look(run), Process.GONE)


@pytest.mark.parametrize(
    "changes",
    [
        {"parallelism": 2},
        {"settings": read_run_settings({"memory": "4g"})},
        {"settings": read_run_settings({"quick": "true"})},
        {"settings": read_run_settings({"isolation": "shared"})},
    ],
)
def test_a_run_of_another_kind_gets_a_process_of_its_own(reserve: Reserve, changes: dict[str, object]) -> None:
    directory = reserve.warm()

    reserve.runner.launch(reserve.assignment(**changes))

    assert not DataDirectory(reserve.root).mark(ID, 1).exists()
    assert not (directory / "order").exists()


@pytest.mark.parametrize(
    "settings",
    [
        {"max_epoch_rows": "5"},
        {"fuse": "on"},
        {"fuse": "off"},
        {"linger": "1 second"},
        {"count_state": "on"},
        {"by_pane": "on"},
    ],
)
def test_setting_that_does_not_affect_the_session_may_change(reserve: Reserve, settings: dict[str, str]) -> None:
    assert fits(reserve.assignment(settings=read_run_settings(settings)))


def test_a_spare_that_has_died_meanwhile_is_none(reserve: Reserve) -> None:
    directory = reserve.warm()
    processes.kill(processes.marked(f"spare/{directory.name}"))
    until(lambda: reserve.spares._spares[0].is_alive, False)

    holder = reserve.runner.launch(reserve.assignment())

    assert not DataDirectory(reserve.root).mark(ID, 1).exists()
    assert reserve.runner.look(replace(RUN, pid=holder.pid, born=holder.born)) is Process.ALIVE


def test_spare_that_is_still_warming_up_is_used(reserve: Reserve) -> None:
    reserve.pass_time()

    reserve.runner.launch(reserve.assignment())

    (directory,) = reserve.directories()
    until((directory / "order").exists, True)


def test_the_next_one_comes_when_nothing_was_started_for_a_while(reserve: Reserve) -> None:
    reserve.warm()
    reserve.runner.launch(reserve.assignment())

    reserve.pass_time(30)
    assert len(reserve.directories()) == 1
    reserve.pass_time(40)
    assert len(reserve.directories()) == 2


def test_no_spare_is_started_if_memory_is_short(reserve: Reserve) -> None:
    reserve.memory = 2**30

    reserve.pass_time()
    reserve.pass_time()

    assert reserve.directories() == []


def test_they_go_when_memory_becomes_short(reserve: Reserve) -> None:
    directory = reserve.warm()
    reserve.memory = 2**28

    reserve.pass_time(1)

    assert not processes.is_locked(directory / LOCK)
    reserve.memory = 8 * 2**30
    reserve.pass_time(100)
    assert len(reserve.directories()) == 1
    reserve.pass_time(700)
    assert len(reserve.directories()) == 2


def test_several_are_started_one_after_the_other(reserve: Reserve) -> None:
    reserve.of(STAYS, count=2)
    reserve.warm()

    reserve.pass_time(1)

    assert len(reserve.directories()) == 2
    reserve.pass_time(1)
    assert len(reserve.directories()) == 2


def test_spare_that_exits_is_not_replaced_immediately(reserve: Reserve, caplog: pytest.LogCaptureFixture) -> None:
    directory = reserve.warm()
    (directory / "spare.log").write_text("no Java here\n")
    processes.kill(processes.marked(f"spare/{directory.name}"))
    until(lambda: reserve.spares._spares[0].is_alive, False)

    reserve.pass_time(100)

    assert "no Java here" in caplog.text
    assert len(reserve.directories()) == 1
    reserve.pass_time(700)
    assert len(reserve.directories()) == 2


def test_spares_end_with_their_control_plane_and_what_they_leave_goes(reserve: Reserve) -> None:
    directory = reserve.warm()

    reserve.spares.close()

    until(lambda: processes.is_locked(directory / LOCK), False)
    os.utime(directory, (1, 1))
    reserve.of(STAYS, count=0)
    reserve.pass_time()
    assert reserve.directories() == []


def test_spare_of_a_killed_control_plane_exits(reserve: Reserve, tmp_path: Path) -> None:
    script = (
        "import os, pathlib, sys; from engine.jobs.processes.spares import SpareDrivers; "
        "from engine.jobs.disk import DataDirectory; "
        "spares = SpareDrivers(DataDirectory(pathlib.Path(sys.argv[1])), 1, lambda: dict(os.environ), "
        "[sys.executable, '-c', sys.argv[2]], lambda: 100.0, lambda: 2**40); "
        "spares._quiet_since = 0; spares.keep(); os.kill(os.getpid(), 9)"
    )
    pid = os.spawnv(os.P_NOWAIT, sys.executable, [sys.executable, "-c", script, str(tmp_path), WARM.format(STAYS)])
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL

    (directory,) = reserve.directories()

    until(lambda: processes.marked(f"spare/{directory.name}"), [])
