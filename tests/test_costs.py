"""What the tests cost is counted with everything that they start."""

from __future__ import annotations

import subprocess
import sys

from tests.costs import cpu_seconds

BUSY = """
import sys, time
while time.process_time() < 0.5:
    pass
print("done", flush=True)
sys.stdin.read()
"""


def test_cpu_of_a_child_process_counts_during_and_after_its_life() -> None:
    before = cpu_seconds()
    with subprocess.Popen([sys.executable, "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as busy:
        assert busy.stdout is not None
        busy.stdout.readline()

        while_it_lives = cpu_seconds() - before

    # the kernel counts whole ticks
    assert (while_it_lives >= 0.4, cpu_seconds() - before >= while_it_lives) == (True, True)
