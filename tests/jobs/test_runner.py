"""Processes for real, but short ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from engine.errors import Cause
from engine.jobs.decisions.observe import MaintenanceTask, Process, Repartition, RestoreSavepoint
from engine.jobs.decisions.spec import Restore
from engine.jobs.decisions.status import Failure, Run
from engine.jobs.disk import DataDirectory
from engine.jobs.processes import processes
from engine.jobs.processes.runner import NO_ROOM, LocalRunner
from tests.jobs.builders import T0, assigned

ID = f"pl_{os.getpid():016d}"
RUN = Run(f"job_{os.getpid():016d}", ID, 1, "h", 1, 1, T0)
"""Named for this process: whoever kills a run kills all that carry its name, those of another play of tests too."""
HOLDS = """
import pathlib, sys
from engine.jobs.processes import processes
from engine.jobs.decisions.observe import Repartition
from engine.jobs.processes.assignment import Assignment
from engine.jobs.processes.runner import Holder
import os, time
own = Assignment.read(pathlib.Path(sys.argv[2]))
while (lock := processes.try_lock(own.lock)) is None:  # whoever looks whether it is held holds it for a moment
    time.sleep(0.01)
Holder(pid=os.getpid(), born=processes.born(os.getpid()), generation=own.generation).write(lock)
{}
time.sleep(60)
"""
LEAVES = "import subprocess, os; subprocess.Popen(['sleep', '60']); os._exit(0)"


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[[str], tuple[LocalRunner, Run]]]:
    children: list[subprocess.Popen[bytes]] = []

    def start(then: str = "") -> tuple[LocalRunner, Run]:
        runner = LocalRunner(DataDirectory(tmp_path), [sys.executable, "-c", HOLDS.format(then)])
        lock = DataDirectory(tmp_path).driver_lock(ID)
        holder = runner.launch(assigned(tmp_path, job_id=RUN.job_id, pipeline_id=ID, generation=1, lock=lock))
        children.extend(runner._children.values())
        return runner, replace(RUN, pid=holder.pid, born=holder.born)

    yield start
    for child in children:
        processes.kill_group(child.pid)
        child.wait()


def test_a_run_that_was_killed_says_by_which_signal(started: Callable[[str], tuple[LocalRunner, Run]]) -> None:
    runner, run = started("")
    assert run.pid is not None
    assert runner.ending(run) is None

    os.kill(run.pid, signal.SIGKILL)
    until(lambda: runner.look(run), Process.GONE)

    assert "signal 9" in (runner.ending(run) or "")
    assert runner.ending(replace(run, generation=2)) is None


def test_a_run_that_leaves_says_with_which_code(started: Callable[[str], tuple[LocalRunner, Run]]) -> None:
    runner, run = started("os._exit(7)")

    until(lambda: runner.look(run), Process.GONE)

    assert runner.ending(run) == "ended with exit code 7"


def until(look: Callable[[], object], expected: object) -> None:
    end, pause = time.monotonic() + 120, threading.Event()
    while look() != expected:
        assert time.monotonic() < end, look()
        pause.wait(0.01)


def test_a_process_is_alive_until_it_is_killed(started: Callable[[], tuple[LocalRunner, Run]]) -> None:
    runner, run = started()
    assert runner.look(run) is Process.ALIVE

    runner.kill(run)

    until(lambda: runner.look(run), Process.GONE)


def test_another_runner_finds_the_process_that_holds_the_lock(
    started: Callable[[], tuple[LocalRunner, Run]], tmp_path: Path
) -> None:
    _, run = started()
    second_runner = LocalRunner(DataDirectory(tmp_path))

    until(lambda: (holder := second_runner.find(RUN)) and holder.pid, run.pid)

    assert second_runner.look(run) is Process.ALIVE
    assert second_runner.find(replace(RUN, generation=2)) is None


def test_child_processes_of_a_dead_driver_are_found_and_killed(
    started: Callable[[str], tuple[LocalRunner, Run]],
) -> None:
    runner, run = started(LEAVES)
    until(lambda: runner.look(run), Process.ORPHANED)

    runner.kill(run)

    until(lambda: runner.look(run), Process.GONE)


def test_a_session_of_its_own_hides_nothing(started: Callable[[str], tuple[LocalRunner, Run]]) -> None:
    runner, run = started(LEAVES.replace("'60']", "'60'], start_new_session=True"))
    until(lambda: runner.look(run), Process.ORPHANED)

    runner.kill(run)

    until(lambda: runner.look(run), Process.GONE)


def test_a_later_process_with_the_same_pid_is_not_ours(started: Callable[[], tuple[LocalRunner, Run]]) -> None:
    runner, run = started()
    earlier = replace(run, born="long ago")

    assert runner.look(earlier) is Process.GONE
    runner.kill(earlier)
    runner.poke(earlier)
    assert runner.look(run) is Process.ALIVE


def test_a_corpse_is_not_alive() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""], start_new_session=True)
    until(lambda: processes.born(child.pid), None)

    assert processes.group_is_empty(child.pid)
    child.wait()


def test_a_process_whose_name_is_no_text_is_a_process_like_others() -> None:
    program = "open('/proc/self/comm', 'wb').write(b'caf' + bytes([0xc3])); print(flush=True); input()"
    child = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    assert child.stdin is not None
    assert child.stdout is not None
    with child.stdin, child.stdout:
        child.stdout.readline()
        assert processes.born(child.pid)
        assert not processes.group_is_empty(child.pid)
        child.stdin.write(b"\n")
    child.wait()


@pytest.mark.parametrize(
    ("code", "state", "failure"),
    [
        ("", "done", None),
        (
            "raise SystemExit(3)",
            "failed",
            Failure("run.died", "rescale ended with exit code 3", "its log shows its last words"),
        ),
        (
            'open(sys.argv[-1], \'w\').write(\'{"code": "state.x", "message": "m"}\'); raise SystemExit(3)',
            "failed",
            Failure("state.x", "m"),
        ),
        (
            f"raise SystemExit({NO_ROOM})",
            "failed",
            Failure(
                "data.disk_full",
                "{runs} cannot be written: No space left on device",
                "free space on the disk; nothing is lost",
                Cause.OUTAGE,
            ),
        ),
    ],
)
def test_maintenance_is_judged_by_its_exit(tmp_path: Path, code: str, state: str, failure: Failure | None) -> None:
    runner = LocalRunner(DataDirectory(tmp_path), [sys.executable, "-c", f"import sys; {code}"])
    runner.begin_maintenance(ID, Repartition(2))

    until(lambda: (work := runner.maintenance(ID)) and work.state, state)

    work = runner.maintenance(ID)
    assert work is not None
    runs = str(DataDirectory(tmp_path).runs(ID))
    assert work.failure == (failure and replace(failure, message=failure.message.format(runs=runs)))
    runner.end_maintenance(ID)
    assert runner.maintenance(ID) is None


@pytest.mark.parametrize(
    ("task", "size"), [(Repartition(2), 1000), (RestoreSavepoint(Restore("sp_0000000000000000", 1)), 234)]
)
def test_work_says_how_much_it_has_to_read(tmp_path: Path, task: MaintenanceTask, size: int) -> None:
    directory = DataDirectory(tmp_path)
    for folder, content in (("checkpoint", 1000), ("savepoints/sp_0000000000000000", 234)):
        (directory.state(ID) / folder).mkdir(parents=True)
        (directory.state(ID) / folder / "file").write_bytes(b" " * content)
    runner = LocalRunner(directory, [sys.executable, "-c", "import time; time.sleep(60)"])
    runner.begin_maintenance(ID, task)

    work = runner.maintenance(ID)

    assert work is not None
    assert work.size == size
    assert work.age > timedelta(0)
    runner.kill_maintenance(ID, Failure("run.x", "enough"))
    until(lambda: (work := runner.maintenance(ID)) and work.state, "failed")


HANGS = """
import os, pathlib, signal, subprocess, sys
child = subprocess.Popen(["sleep", "60"], start_new_session=True)
pathlib.Path(sys.argv[-1]).with_name("child").write_text(str(child.pid))
os.kill(os.getpid(), signal.SIGSTOP)
"""


def hanging_work(folder: Path) -> tuple[LocalRunner, int]:
    """Work that has stopped itself, and what it has started, which is in a session of its own."""
    runner = LocalRunner(DataDirectory(folder), [sys.executable, "-c", HANGS])
    runner.begin_maintenance(ID, Repartition(2))
    child = DataDirectory(folder).runs(ID) / "child"
    until(lambda: child.exists() and child.read_text() != "", True)
    work = runner._work[ID].process.pid
    until(lambda: processes.stat_fields(Path(f"/proc/{work}"))[0], "T")
    return runner, int(child.read_text())


def test_work_that_hangs_is_ended_with_all_that_it_has_started(tmp_path: Path) -> None:
    runner, child = hanging_work(tmp_path)
    assert (running := runner.maintenance(ID)) is not None
    assert running.state == "running"
    reason = Failure("run.maintenance_stuck", "it hangs")

    runner.kill_maintenance(ID, reason)
    until(lambda: (work := runner.maintenance(ID)) and work.state, "failed")

    assert (work := runner.maintenance(ID)) is not None
    assert work.failure == reason
    until(lambda: processes.born(child), None)  # ended, but init may not have heard of it


def test_work_is_over_when_nothing_lives_any_more_that_it_has_started(tmp_path: Path) -> None:
    code = "import subprocess; subprocess.Popen(['sleep', '60'], start_new_session=True)"
    runner = LocalRunner(DataDirectory(tmp_path), [sys.executable, "-c", code])
    runner.begin_maintenance(ID, Repartition(2))
    until(lambda: (work := runner.maintenance(ID)) and work.state, "done")

    assert processes.marked(f"maintenance/{ID}") == []


@pytest.mark.parametrize("next_is", ["work", "run"])
def test_work_of_an_earlier_control_plane_that_hangs_is_ended_before_anything_follows(
    tmp_path: Path, next_is: str
) -> None:
    before, child = hanging_work(tmp_path)
    after = LocalRunner(DataDirectory(tmp_path), [sys.executable, "-c", ""])

    if next_is == "work":
        after.begin_maintenance(ID, Repartition(2))
    else:
        after.launch(assigned(tmp_path, job_id=RUN.job_id, pipeline_id=ID, generation=1))

    until(before._work[ID].process.poll, -signal.SIGKILL)
    until(lambda: processes.born(child), None)
    for process in (*after._children.values(), *(work.process for work in after._work.values())):
        process.wait()


def test_an_assignment_is_for_its_owners_eyes(started: Callable[[], tuple[LocalRunner, Run]], tmp_path: Path) -> None:
    started()

    assert DataDirectory(tmp_path).assignment(ID, 1).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "wrong", ["", "pl_", "pl_short", "pl_../../../../etc", "job_aaaaaaaaaaaaaaaa", "pl_aaaaaaaaaaaaaaa/"]
)
def test_only_ids_of_our_own_become_paths(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(ValueError, match="is not a pipeline id"):
        DataDirectory(tmp_path).state(wrong)
