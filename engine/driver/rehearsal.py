"""Process of a rehearsal: `python -m engine.driver.rehearsal ORDER`.

It writes its progress next to the request file, and finally the result, or why it failed. A killed process writes no
result. It has a lower priority than drivers: a lower CPU priority, and the kernel kills it first when memory is short.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import sys
import threading
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from engine.changes.row_difference import RehearsalReport, to_json, to_text
from engine.checkpoints.layout import write_json
from engine.checkpoints.savepoints import take_aside
from engine.errors import EngineError
from engine.jobs.decisions.rollback import RehearsalFolder, RehearsalOrder
from engine.jobs.processes import processes
from engine.spark.run.stop_control import Control
from engine.spark.upgrade.rehearsal_plan import RehearsalSpec, plan_rehearsal
from engine.spark.upgrade.rehearse import rehearse_in_new_session
from engine.udf.declared import name_files
from engine.values.run_settings import read_run_settings

LOG = logging.getLogger(__name__)
_NICENESS = 10
_ENDED_SOONER = "500"
"""OOM score adjustment, from -1,000 to 1,000; drivers have 0."""


def main(path: Path) -> int:
    """Run the rehearsal; the exit code is 0 if there is a result, whatever it is."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO)
    order, folder = RehearsalOrder.read(path), RehearsalFolder(path.parent)
    _give_way()
    _end_after(order.limit_seconds)
    try:
        report = _play(order, folder)
        write_json(folder.result, {"report": to_json(report), "text": to_text(report)})
    except EngineError as error:
        LOG.error("%s", error)
        write_json(folder.result, {"code": error.code, "message": error.message, "hint": error.hint})
    finally:
        shutil.rmtree(folder.work, ignore_errors=True)
    return 0


def _play(order: RehearsalOrder, folder: RehearsalFolder) -> RehearsalReport:
    def tell(step: str) -> None:
        LOG.info("%s", step)
        folder.step.write_text(step)

    folder.work.mkdir()
    savepoint = order.savepoint
    if savepoint is None:
        tell("saving the state aside")
        savepoint = folder.work / "savepoint"
        take_aside(order.state_dir, savepoint, lambda: datetime.now(UTC))
    change, settings = order.change, read_run_settings(order.change.settings)
    spec = RehearsalSpec(
        savepoint,
        change.query,
        udfs=name_files(change.udfs),
        old_udfs=name_files(change.old_udfs),
        connections=order.connections,
        keep_state=change.keep_state,
        reset=change.reset,
        hold_back=change.hold_back,
        start_from=settings.start_from,
        examples=change.examples,
    )
    planned = plan_rehearsal(spec)
    return rehearse_in_new_session(planned, folder.work, Control(), tell, memory=settings.memory)


def _give_way() -> None:
    with suppress(OSError):
        os.nice(_NICENESS)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_ENDED_SOONER)


def _end_after(seconds: float) -> None:
    """End this process and all that it has started after a time, even if the control plane is gone."""

    def end() -> None:
        processes.kill(pid for pid in processes.marked(os.environ.get(processes.MARK, "")) if pid != os.getpid())
        os.kill(os.getpid(), signal.SIGKILL)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
