"""Dump the stacks of all threads of a stuck driver, and of its JVM."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
from contextlib import suppress

from engine.jobs.processes import processes
from engine.jobs.processes.process_usage import is_java


def dump_stacks() -> None:
    """Write the stacks of this process to its log, and have the JVM, if it still can, write its own to Spark's."""
    faulthandler.dump_traceback(sys.stderr, all_threads=True)
    if mark := os.environ.get(processes.MARK):
        for pid in processes.marked(mark):
            # any other process would end at that signal
            if is_java(pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGQUIT)
