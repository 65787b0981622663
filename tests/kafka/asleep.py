"""A run of the pipeline in a process of its own, which stands still at a fault point until it is woken."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.delivery.faults import Point
from tests.kafka.sink_pipeline import EPOCHS


@contextmanager
def started(address: str, topic: str, root: Path, fault: str, until: int = EPOCHS) -> Iterator[subprocess.Popen[str]]:
    """The pipeline in a process of its own, armed."""
    arguments = [address, topic, str(root), str(until)]
    command = [sys.executable, "-m", "tests.kafka.sink_pipeline", *arguments]
    environment = os.environ | {"ARROYO_FAULT": fault, "ARROYO_FAULTS_ALLOWED": "1"}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def paused(
    address: str, topic: str, root: Path, point: Point, epoch: int, until: int = EPOCHS
) -> Iterator[subprocess.Popen[str]]:
    """A process that stands still at a point of an epoch."""
    with started(address, topic, root, f"{point}:{epoch}:stop", until=until) as process:
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), process.communicate()[1]
        yield process


def woken(process: subprocess.Popen[str]) -> str:
    """Let it go on to its end; what it has complained about."""
    process.send_signal(signal.SIGCONT)
    return process.communicate(timeout=600)[1]


def replaced(root: Path, generation: int = 2) -> None:
    """Say that a newer run has taken over."""
    (root / "state" / "generation").write_text(str(generation))
