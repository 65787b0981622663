"""Running a function in a process that has used nothing yet.

Whoever forks drivers has to be such a one: a fork of a process that has used a Delta table or a client of Kafka, as
the tests of those have, takes over what their libraries hold there without the threads behind it. The one refuses to
work, the other dies when it is collected.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import traceback
from collections.abc import Callable
from functools import cache
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import TypeVarTuple, Unpack

from tests.chaos.targets import TARGETS

Arguments = TypeVarTuple("Arguments")

PATIENCE = 600.0
"""Seconds after which it hangs."""


def apart(log: Path, work: Callable[[Unpack[Arguments]], None], *arguments: *Arguments) -> None:
    """Do the work there; fails with what it prints, which goes to the log, when it raises something or dies."""
    process = _fresh().Process(target=_work, args=(log, work, arguments))
    process.start()
    process.join(PATIENCE)
    is_hanging = process.is_alive()
    process.kill()
    process.join()
    output = log.read_text()[-4000:] if log.exists() else "nothing was said"
    assert not is_hanging, f"hangs: {output}"
    assert process.exitcode == 0, f"ended with {process.exitcode}: {output}"


@cache
def _fresh() -> ForkServerContext:
    """What forks a process that has imported all, and used nothing of it."""
    context = multiprocessing.get_context("forkserver")
    modules = {module for kind in TARGETS.values() for module in kind.modules}
    context.set_forkserver_preload([__name__, "tests.chaos.points", "pandas", *modules])
    return context


def _work(log: Path, work: Callable[[Unpack[Arguments]], None], arguments: tuple[*Arguments]) -> None:
    output = os.open(log, os.O_CREAT | os.O_WRONLY)
    os.dup2(output, 1)
    os.dup2(output, 2)
    try:
        work(*arguments)
    except BaseException:  # noqa: BLE001 - whatever it was, it is told
        traceback.print_exc()
        sys.exit(1)
