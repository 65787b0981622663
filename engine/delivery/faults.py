"""Named points at which a test may kill the process."""

from __future__ import annotations

import os
import signal

ARMED = "ARROYO_FAULT"
ALLOWED = "ARROYO_FAULTS_ALLOWED"


def reach(point: str, epoch: int | None = None) -> None:
    """Die here when the environment says so: ARROYO_FAULT=<point>[:<epoch>] and ARROYO_FAULTS_ALLOWED=1."""
    armed = os.environ.get(ARMED)
    if armed is None or os.environ.get(ALLOWED) != "1":
        return
    name, _, number = armed.partition(":")
    if name == point and number in ("", str(epoch)):
        os.kill(os.getpid(), signal.SIGKILL)
