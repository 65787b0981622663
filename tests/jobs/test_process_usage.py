"""What a run uses, read from a /proc that the test writes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.jobs.processes.process_usage import ProcessUsage, UsageMeter

TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


class Proc:
    """A /proc whose processes the test makes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def put(
        self, pid: int, parent: int, seconds: int, *, ended: int = 0, share: int | None = None, program: str = "python"
    ) -> None:
        folder = self.path / str(pid)
        folder.mkdir(exist_ok=True)
        fields = ["S", str(parent), *["0"] * 9, str(seconds * TICK - 1), "1", str(ended * TICK), "0", *["0"] * 6, "10"]
        (folder / "stat").write_text(f"{pid} (a) b (c)) {' '.join(fields)} 0 0")
        (folder / "exe").unlink(missing_ok=True)
        (folder / "exe").symlink_to(f"/usr/bin/{program}")
        if share is not None:
            (folder / "smaps_rollup").write_text(f"55d0-7ffc ---p 0 00:00 0 [rollup]\nRss:  900 kB\nPss:  {share} kB\n")

    def end(self, pid: int) -> None:
        for file in (self.path / str(pid)).iterdir():
            file.unlink()
        (self.path / str(pid)).rmdir()


@pytest.fixture
def proc(tmp_path: Path) -> Proc:
    return Proc(tmp_path)


def test_driver_java_and_workers_are_told_apart(proc: Proc) -> None:
    proc.put(1, 0, 500)
    proc.put(200, 1, 12, share=90)
    proc.put(201, 200, 80, share=700, program="java")
    proc.put(202, 201, 1, share=20)
    proc.put(203, 202, 30, share=40)
    proc.put(300, 1, 77, share=1000)
    (proc.path / "meminfo").write_text("not a process")

    usage = UsageMeter(200, proc.path).measure()

    assert usage == {
        "driver": ProcessUsage(12.0, 90 * 1024),
        "java": ProcessUsage(80.0, 700 * 1024),
        "workers": ProcessUsage(31.0, 60 * 1024),
    }


def test_a_process_whose_name_is_cut_off_in_the_middle_of_a_letter_disturbs_nobody(proc: Proc) -> None:
    proc.put(200, 1, 5, share=1)
    proc.put(300, 1, 77)
    stat = proc.path / "300" / "stat"
    stat.write_bytes(stat.read_bytes().replace(b"(a)", "(überwachung-ü".encode()[:-1] + b")"))

    assert UsageMeter(200, proc.path).measure() == {"driver": ProcessUsage(5.0, 1024)}


def test_workers_that_have_ended_count_and_time_never_goes_back(proc: Proc) -> None:
    meter = UsageMeter(200, proc.path)
    proc.put(200, 1, 5, share=1)
    proc.put(201, 200, 10, share=1, program="java")
    proc.put(202, 201, 1, share=1)
    proc.put(203, 202, 30, share=1)
    assert meter.measure()["workers"].cpu_seconds == 31.0

    proc.end(203)
    proc.put(202, 201, 1, ended=33, share=1)
    assert meter.measure()["workers"] == ProcessUsage(34.0, 1024)

    proc.put(202, 201, 1, share=1)  # waited for by nobody
    assert meter.measure()["workers"].cpu_seconds == 34.0

    proc.end(202)
    proc.put(201, 200, 10, ended=40, share=1, program="java")
    usage = meter.measure()
    assert usage["java"].cpu_seconds == 10.0
    assert "workers" not in usage, "memory of processes that are not there is not known"


def test_without_shares_resident_pages_count(proc: Proc) -> None:
    proc.put(200, 1, 5)

    assert UsageMeter(200, proc.path).measure() == {"driver": ProcessUsage(5.0, 10 * PAGE)}


def test_a_machine_without_proc_says_nothing(tmp_path: Path) -> None:
    assert UsageMeter(200, tmp_path / "none").measure() == {}


def test_this_process_and_its_children_are_measured() -> None:
    program = "sum(range(3_000_000)); print(); input()"
    child = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    with child.stdin, child.stdout:
        child.stdout.readline()
        usage = UsageMeter(child.pid).measure()["driver"]
        child.stdin.write(b"\n")
    child.wait()

    assert 0 < usage.cpu_seconds < 60
    assert usage.memory_bytes > 1_000_000
