"""`python -m tests.golden.dying FOLDER EPOCH CASE...`: runs cases, each in its folder there, up to the moment when the
sink has written an epoch and not yet noted it. There they all stand still, and then die with their JVM."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

from engine.connectors.single_file import sink as single_file_sink
from engine.delivery.faults import Point
from engine.spark.jvm.session import open_session
from engine.spark.run.lifecycle import run_in
from engine.spark.run.stop_control import Control
from tests.golden.case import spec


def main(folder: Path, last: int, cases: list[str]) -> None:
    """One case after the other is brought there, all in one session."""
    spark = open_session(app_name="dying", master="local[2]", quick=True, makes_archive=False, log_dir=folder / "logs")
    is_there = threading.Event()

    def stand_still(point: Point, epoch: int | None = None) -> None:
        if point is Point.AFTER_WRITE and epoch == last:
            is_there.set()
            threading.Event().wait()

    setattr(single_file_sink, "reach", stand_still)  # noqa: B010 - only there, where the sink has it from
    for case in cases:
        run = threading.Thread(
            target=run_in, args=[spark, spec(case, folder / case, in_epochs=True), Control()], daemon=True
        )
        run.start()
        while not is_there.wait(0.1):
            assert run.is_alive(), f"{case} did not get there"
        is_there.clear()
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
