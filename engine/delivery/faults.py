"""Named points at which a test may kill or pause the process: every place where what is durable has changed.

The letters are those of the crash table in the reliability notes. Nothing happens at a point unless the environment
arms it, and says besides that it is a test.
"""

from __future__ import annotations

import os
import signal
from enum import StrEnum

ARMED = "ARROYO_FAULT"
ALLOWED = "ARROYO_FAULTS_ALLOWED"


class Point(StrEnum):
    """A place in the life of an epoch, in their order."""

    AFTER_OFFSETS = "after_offsets"
    """b: The range is fixed, and no sink has been asked."""
    WHILE_STAGING = "while_staging"
    """c: A task has written its segments, and nobody knows of them."""
    BEFORE_WRITE = "before_write"
    """c: The fence and the ledger have let the sink in, and it has done nothing."""
    BEFORE_FENCE = "before_fence"
    """c: What is to be written is fixed, and a target that fences has not been told of us."""
    AFTER_FENCE = "after_fence"
    """c: Older runs are fenced off, and the target's ledger is not read."""
    WHILE_WRITING = "while_writing"
    """c: A part of the epoch is written, and nothing is decided."""
    BEFORE_DECISION = "before_decision"
    """c: All of it is written, and nothing is decided."""
    AFTER_DECISION = "after_decision"
    """d: It is decided, and the answer is lost."""
    WHILE_PUBLISHING = "while_publishing"
    """e: A part of what was decided can be seen."""
    AFTER_WRITE = "after_write"
    """e: All of it can be seen, and the sink's own ledger does not say so."""
    AFTER_LEDGER = "after_ledger"
    """f: This sink is done; its scratch files and the sinks after it are not."""
    AFTER_SINKS = "after_sinks"
    """g: All sinks are done, and the epoch is not committed."""
    AFTER_COMMIT = "after_commit"
    """h, and a of the next one: The epoch is committed, and the next has no range yet."""


def reach(point: Point, epoch: int | None = None) -> None:
    """Die here when the environment says so: ARROYO_FAULT=<point>[:<epoch>[:stop]] and ARROYO_FAULTS_ALLOWED=1; with
    `stop` the process only stands still until it is told to go on."""
    armed = os.environ.get(ARMED)
    if armed is None or os.environ.get(ALLOWED) != "1":
        return
    name, _, rest = armed.partition(":")
    number, _, how = rest.partition(":")
    if name == point and number in ("", str(epoch)):
        if how == "stop":
            del os.environ[ARMED]
        os.kill(os.getpid(), signal.SIGSTOP if how == "stop" else signal.SIGKILL)
