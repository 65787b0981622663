"""Whether work comes on, told from stand-ins for /proc."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from engine.jobs.processes.rehearsal_processes import Liveness, effort_of

LIMIT = timedelta(seconds=300)


def put(proc: Path, pid: int, parent: int, ticks: int, read: int = 0, written: int = 0) -> None:
    """A process with this CPU time, and so many bytes read and written."""
    folder = proc / str(pid)
    folder.mkdir(parents=True, exist_ok=True)
    fields = ["S", str(parent), "0", "0", "0", "0", "0", "0", "0", "0", "0", str(ticks), "0", *["0"] * 30]
    (folder / "stat").write_text(f"{pid} (a name) {' '.join(fields)}")
    (folder / "io").write_text(f"rchar: {read}\nwchar: {written}\nsyscr: 9000000\n")


def test_the_effort_is_that_of_a_process_and_all_that_it_has_started(tmp_path: Path) -> None:
    second = os.sysconf("SC_CLK_TCK")
    put(tmp_path, 10, 1, second, 5)
    put(tmp_path, 11, 10, second, 0, 7)
    put(tmp_path, 12, 11, second)
    put(tmp_path, 13, 1, second, 1000)

    effort = effort_of(10, tmp_path)

    assert (effort.cpu_seconds, effort.transferred) == (3.0, 12)


def test_work_comes_on_by_computing_and_by_reading_and_writing(tmp_path: Path) -> None:
    now, second = [0.0], os.sysconf("SC_CLK_TCK")
    put(tmp_path, 10, 1, 0)
    liveness = Liveness(10, LIMIT, clock=lambda: now[0], proc=tmp_path)

    def still_after(seconds: float, ticks: int, written: int) -> float:
        now[0] = seconds
        put(tmp_path, 10, 1, ticks, 0, written)
        return liveness.stillness().total_seconds()

    assert still_after(100, 0, 0) == 100
    assert still_after(101, 4 * second, 0) == 0, "it has computed"
    assert still_after(300, 5 * second, 1000) == 199, "a JVM without work takes a little, too"
    assert still_after(301, 5 * second, 2_000_000) == 0, "it has written"
    assert still_after(302, second, 0) == 0, "of its processes some have ended"
    assert still_after(900, second, 0) == 598


def test_work_that_always_progresses_reaches_its_limit_nevertheless(tmp_path: Path) -> None:
    now, second = [50.0], os.sysconf("SC_CLK_TCK")
    put(tmp_path, 10, 1, 0)
    liveness = Liveness(10, LIMIT, clock=lambda: now[0], proc=tmp_path)
    for minute in range(1, 61):
        now[0] += 60
        put(tmp_path, 10, 1, minute * 60 * second)
        assert liveness.stillness() == timedelta(0)

    assert liveness.age() == timedelta(hours=1)


def test_a_machine_that_cannot_be_asked_takes_work_for_alive(tmp_path: Path) -> None:
    now = [0.0]
    liveness = Liveness(10, LIMIT, clock=lambda: now[0], proc=tmp_path / "nowhere")
    now[0] = 1e6

    assert liveness.stillness() == timedelta(0)
