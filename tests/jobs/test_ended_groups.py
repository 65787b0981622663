"""A process that ends with all that it has started, while another of its threads still starts more."""

from __future__ import annotations

import secrets
import subprocess
import sys

from engine.jobs.processes import processes

STARTING = """
import subprocess, threading
from engine.driver.control_plane_client import end_group
from engine.jobs.processes import processes
from engine.values.process_endings import starting_process

look, has_looked, has_started = processes.marked, threading.Event(), threading.Event()

def look_while_another_starts(mark):
    pids = look(mark)
    has_looked.set()
    has_started.wait(0.5)
    return pids

processes.marked = look_while_another_starts
with starting_process():
    subprocess.Popen(["sleep", "600"], start_new_session=True)
threading.Thread(target=end_group).start()
has_looked.wait()
with starting_process():
    subprocess.Popen(["sleep", "601"], start_new_session=True)
has_started.set()
"""


def test_no_process_is_left_that_was_started_before_or_meanwhile() -> None:
    mark = f"test/{secrets.token_hex(8)}"
    environment = {processes.MARK: mark, "PATH": "/usr/bin:/bin"}
    subprocess.run([sys.executable, "-c", STARTING], env=environment, start_new_session=True, timeout=60, check=False)
    left = processes.marked(mark)
    processes.kill(left)
    assert left == []
