"""Fault points: places at which a test can kill or pause the process, after each change of what is durable.

An epoch: a range is planned, tasks write segments, then each sink decides, publishes and records, and Spark commits. At
whichever point a run dies, the next run repeats the epoch over the same range, and every sink that has it skips it
(docs/decisions/the-ledger-of-a-sink-decides.md).

A point has no effect unless the environment arms it and also says that this is a test. Other work has fault points of
its own: `engine/checkpoints/swap.py`, `engine/jobs/fault_points.py`.
"""

from __future__ import annotations

import os
import signal
from enum import StrEnum
from pathlib import Path

ARMED = "ARROYO_FAULT"
ALLOWED = "ARROYO_FAULTS_ALLOWED"


class Point(StrEnum):
    """Fault points of an epoch, in their order."""

    AFTER_OFFSETS = "after_offsets"
    """The range is planned, and no sink has been called."""
    WHILE_STAGING = "while_staging"
    """A task has written its segments, and has not reported them."""
    BEFORE_WRITE = "before_write"
    """Fence and ledger permit the sink to write, and it has written nothing."""
    BEFORE_FENCE = "before_fence"
    """The content is decided, and a target with a fence of its own does not know this run."""
    AFTER_FENCE = "after_fence"
    """Older runs are fenced off, and the target's ledger is not read."""
    WHILE_WRITING = "while_writing"
    """A part of the epoch is written, and nothing is decided."""
    BEFORE_DECISION = "before_decision"
    """All of it is written, and nothing is decided."""
    AFTER_DECISION = "after_decision"
    """It is decided, and the response is lost."""
    WHILE_PUBLISHING = "while_publishing"
    """A part of the decided output is visible."""
    AFTER_WRITE = "after_write"
    """All of it is visible, and the sink's own ledger lacks the epoch."""
    AFTER_LEDGER = "after_ledger"
    """The ledger of this sink has the epoch; its scratch files exist, and later sinks have not written."""
    AFTER_SINKS = "after_sinks"
    """All sinks are done, and the epoch is not committed."""
    AFTER_COMMIT = "after_commit"
    """The epoch is committed, and the next one is not planned."""


def reach(point: StrEnum, detail: int | str | None = None) -> None:
    """End the process here if the environment demands it: ARROYO_FAULT=<point>[:<detail>[:stop]] and
    ARROYO_FAULTS_ALLOWED=1, where the detail of a point in an epoch is the epoch's number. With `stop` the process is
    only suspended, until it gets SIGCONT. ARROYO_FAULT=@<file> names a file with such a text, for any process that
    inherits the variable: the first to reach the point removes the file, and no other ends. With `><file>` in the place
    of a point no process ends, and each point that is reached is appended to the file, with its detail."""
    setting = os.environ.get(ARMED)
    if setting is None or os.environ.get(ALLOWED) != "1":
        return
    armed = _read(Path(setting[1:])) if setting.startswith("@") else setting
    if armed.startswith(">"):
        with Path(armed[1:]).open("a") as notes:
            notes.write(f"{point}\n" if detail is None else f"{point}:{detail}\n")
        return
    name, chosen, action = f"{armed}::".split(":", 3)[:3]
    if name != point or chosen not in ("", str(detail)) or not _is_first(setting):
        return
    if action == "stop":
        del os.environ[ARMED]
    os.kill(os.getpid(), signal.SIGSTOP if action == "stop" else signal.SIGKILL)


def _read(file: Path) -> str:
    try:
        return file.read_text().strip()
    except FileNotFoundError:
        return ""


def _is_first(setting: str) -> bool:
    """Whether this process is the first to reach the point that the file names."""
    if not setting.startswith("@"):
        return True
    try:
        Path(setting[1:]).unlink()
    except FileNotFoundError:
        return False
    return True
