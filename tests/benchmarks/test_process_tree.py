from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.process_tree import ProcessTree

BUSY = "import time\nwhile time.process_time() < {seconds}: pass\n"
PARENT = """
import os, signal, sys
signal.signal(signal.SIGCHLD, signal.{children})
for line in sys.stdin:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        exec({busy!r})
        os.write(writing, b"done")
        signal.pause()
    os.close(writing)
    os.read(reading, 4)
    print(child, flush=True)
    sys.stdin.readline()
    os.kill(child, signal.SIGKILL)
    {wait}
    while os.path.exists("/proc/%d" % child): pass
    print("gone", flush=True)
"""


@contextmanager
def parent_of_busy_children(*, waits: bool, seconds: float = 0.2) -> Iterator[subprocess.Popen[str]]:
    """A process that has a child use so much CPU at each line, and ends it at the next."""
    program = PARENT.format(
        children="SIG_DFL" if waits else "SIG_IGN",
        busy=BUSY.format(seconds=seconds),
        wait="os.waitpid(child, 0)" if waits else "",
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def tell(process: subprocess.Popen[str]) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


@pytest.mark.parametrize("waits", [True, False], ids=["waited for", "nobody waits"])
def test_the_cpu_of_children_that_have_ended_counts_once(waits: bool) -> None:
    with parent_of_busy_children(waits=waits) as process:
        tree = ProcessTree(process.pid)
        before = tree.cpu_seconds()
        for _ in range(3):
            assert tell(process).isdigit()
            tree.cpu_seconds()
            assert tell(process) == "gone"
        used = tree.cpu_seconds() - before

    assert 0.55 <= used <= 1.2


def test_a_child_whose_parent_has_ended_is_still_of_the_tree() -> None:
    program = "import os, sys, time\n" + (
        "if os.fork() == 0:\n"
        "    if os.fork() == 0:\n"
        "        sys.stdin.readline()\n"
        f"        exec({BUSY.format(seconds=0.3)!r})\n"
        "        print('busy', flush=True)\n"
        "        time.sleep(60)\n"
        "    print('forked', flush=True)\n"
        "    time.sleep(60)\n"
        "time.sleep(60)\n"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "forked\n"
        tree = ProcessTree(process.pid)
        before = tree.cpu_seconds()
        middle = next(int(text) for text in _children(process.pid))
        orphan = next(int(text) for text in _children(middle))
        os.kill(middle, 9)
        assert tell(process) == "busy"
        used = tree.cpu_seconds() - before
        os.kill(orphan, 9)
        process.kill()

    assert 0.25 <= used <= 0.8


def _children(process: int) -> list[str]:
    return Path(f"/proc/{process}/task/{process}/children").read_text().split()


def test_kinds_of_processes_are_told_apart() -> None:
    with parent_of_busy_children(waits=False) as process:
        tree = ProcessTree(process.pid)
        tell(process)
        by_kind = tree.cpu_by_kind()
        tree.weigh()
        tell(process)

    assert by_kind["root"] < 0.2
    assert sum(seconds for kind, seconds in by_kind.items() if kind != "root") >= 0.19
    assert tree.peak_megabytes > 1
