"""Entry point of a driver, and of maintenance of a state directory between two runs.

`run ASSIGNMENT` is a driver; `rescale STATE N` and `restore SAVEPOINT STATE` are maintenance. Each holds its pipeline's
lock while it lives, so two of them never work at the same time.
"""

from __future__ import annotations

import faulthandler
import json
import logging
import os
import signal
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import IO, Literal, Protocol

from engine.delivery.disk_errors import has_no_room, is_disk_full
from engine.delivery.faults import reach
from engine.driver.control_plane_client import Home, StopMode, end_group
from engine.driver.run_log import RunListener, RunLog, tell_failure, write_json_lines
from engine.errors import Cause, DiskFullError, DriverCrashedError, EngineError, StateBusyError, cause_of
from engine.jobs.decisions.status import Failure, Goodbye, failure_of
from engine.jobs.fault_points import DriverPoint
from engine.jobs.processes import processes
from engine.jobs.processes.assignment import Assignment
from engine.jobs.processes.left_by_drivers import end_stale_jvms
from engine.jobs.processes.process_usage import is_java
from engine.jobs.processes.runner import NO_ROOM, Holder


def dump_stacks() -> None:
    """Write the stacks of this process to its log, and let the JVM, if it still can, write its own to Spark's."""
    faulthandler.dump_traceback(sys.stderr, all_threads=True)
    if mark := os.environ.get(processes.MARK):
        for pid in processes.marked(mark):
            # any other process would end at that signal
            if is_java(pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGQUIT)


LOG = logging.getLogger(__name__)
_LOCK_PATIENCE = 120.0
"""Seconds to wait for the previous process, which has ended or learns that it is superseded."""


class Work(Protocol):
    """Work of a driver; tests replace it by a fake."""

    def stop(self, mode: StopMode) -> None:
        """Make `run` return soon; safe from any thread, repeatedly."""

    def hold(self, lock: IO[str]) -> None:
        """Receive the lock under which `run` works; another process that works for it may hold it, too."""

    def run(self, assignment: Assignment, listener: RunListener) -> Literal["finished", "stopped"]:
        """Run the query until its input ends or it is stopped; raise EngineError if it fails. It counts as started once
        an epoch is committed or if there is none to commit; it reports liveness all the time."""

    def rescale(self, state: Path, parallelism: int) -> None:
        """Repartition the state for that many tasks."""

    def restore(
        self, savepoint: Path, state: Path, allow_replay: bool, save_as: str | None, is_fork: bool = False
    ) -> None:
        """Restore a savepoint over the state, after saving that under an id if there is one. For another pipeline's
        savepoint, the files of its sinks are left out."""


def main(argv: Sequence[str], work: Work) -> int:
    """Run the command of the arguments; return 0, or 3 if it failed."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO)
    # an error of a callback comes back through Spark and is reported with its code; a stop raises, too, and is no error
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    args = _parser().parse_args(argv)
    if args.verb == "run":
        return drive(Assignment.read(args.assignment), work)
    return _maintain(args, work)


def drive(assignment: Assignment, work: Work) -> int:
    """Drive one run, from registration to exit message."""
    home = Home(assignment, work.stop, end_group, dump_stacks)
    try:
        lock = _take_lock_by_name(assignment)
    except (StateBusyError, OSError) as error:
        LOG.error("%s", error)
        home.close(Goodbye("failed", failure_of(_explained(error, assignment.state_dir))))
        return 3
    log = RunLog.of(assignment, home)
    write_json_lines(log)
    reach(DriverPoint.BEFORE_HELLO)
    _on_signals(home, work)
    home.open()
    work.hold(lock)
    goodbye = outcome_of(assignment, work, log)
    reach(DriverPoint.BEFORE_GOODBYE)
    home.close(goodbye)
    lock.close()
    return 0 if goodbye.failure is None else 3


def _take_lock_by_name(assignment: Assignment) -> IO[str]:
    """Take the lock and record its holder, without which this process could not be found again."""
    lock = _take_lock(assignment.lock)
    try:
        Holder(pid=os.getpid(), born=processes.born(os.getpid()) or "", generation=assignment.generation).write(lock)
    except OSError:
        with suppress(OSError):  # what it could not write it tries to write once more
            lock.close()
        raise
    return lock


def outcome_of(assignment: Assignment, work: Work, log: RunLog) -> Goodbye:
    """Run the work, and return its outcome."""
    try:
        outcome = work.run(assignment, log)
        log.end(outcome)
        return Goodbye(outcome)
    except EngineError as error:
        log.look()
        explained = _explained(error, assignment.state_dir)
        tell_failure(explained)
        return Goodbye("failed", failure_of(explained))
    except Exception as error:
        explained = _explained(error, assignment.state_dir)
        if isinstance(error, OSError) and is_disk_full(error):
            tell_failure(explained)
        else:
            LOG.exception("the driver meets an error of its own")
        return Goodbye("failed", failure_of(explained))


def _explained(error: Exception, state: Path) -> EngineError:
    """Return our error for another one. An unexplained error on a full disk is attributed to the disk: it shows in many
    ways, such as a JVM that ends without a message."""
    if isinstance(error, OSError) and is_disk_full(error):
        return DiskFullError(f"{error.filename or 'a disk'} cannot be written: {error.strerror}", hint="free space")
    if isinstance(error, EngineError):
        failure = error
    else:
        failure = DriverCrashedError(f"{type(error).__name__}: {error}", hint="the log shows the details")
    if cause_of(failure) is Cause.UNKNOWN and has_no_room(state):
        return DiskFullError(f"the disk of {state} is full: {failure.message}", hint="free space on the disk")
    return failure


def _maintain(args: Namespace, work: Work) -> int:
    lock = None
    try:
        lock = _take_lock(args.lock)
        reach(DriverPoint.BEFORE_MAINTENANCE)
        if args.verb == "rescale":
            work.rescale(args.state, args.parallelism)
        else:
            work.restore(args.savepoint, args.state, args.allow_replay, args.save_as, args.fork)
        reach(DriverPoint.AFTER_MAINTENANCE)
    except EngineError as error:
        LOG.error("%s", error)
        return _report(args.result, failure_of(_explained(error, args.state)))
    except Exception as error:
        LOG.exception("the driver meets an error of its own")
        return _report(args.result, failure_of(_explained(error, args.state)))
    finally:
        if lock is not None:
            lock.close()
    return 0


def _report(result: Path, failure: Failure) -> int:
    """Record why maintenance has failed; return the exit code."""
    report = {"code": failure.code, "message": failure.message, "hint": failure.hint, "cause": failure.cause.value}
    try:
        result.write_text(json.dumps(report))
    except OSError as error:
        LOG.error("%s cannot be written: %s", result, error.strerror)
        return NO_ROOM if is_disk_full(error) else 3
    return 3


def _take_lock(path: Path) -> IO[str]:
    end = time.monotonic() + _LOCK_PATIENCE
    while (lock := processes.try_lock(path)) is None:
        if time.monotonic() > end:
            raise StateBusyError(
                "another process works on the state of this pipeline and does not end",
                hint=f"see which process holds {path}",
            )
        time.sleep(0.05)
    end_stale_jvms(path)
    return lock


def _on_signals(home: Home, work: Work) -> None:
    """Handle signals: SIGUSR1 makes the driver report to the control plane; SIGTERM and Ctrl-C end it after the current
    epoch."""

    def call(_: int, __: FrameType | None) -> None:
        home.call_now()

    def stop(_: int, __: FrameType | None) -> None:
        work.stop("checkpoint")

    signal.signal(signal.SIGUSR1, call)
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)


def _parser() -> ArgumentParser:
    parser = ArgumentParser("engine.driver.main")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("run").add_argument("assignment", type=Path)
    rescale = verbs.add_parser("rescale")
    rescale.add_argument("state", type=Path)
    rescale.add_argument("parallelism", type=int)
    restore = verbs.add_parser("restore")
    restore.add_argument("savepoint", type=Path)
    restore.add_argument("state", type=Path)
    restore.add_argument("--allow-replay", action="store_true")
    restore.add_argument("--save-as")
    restore.add_argument("--fork", action="store_true")
    for verb in (rescale, restore):
        verb.add_argument("--lock", type=Path, required=True)
        verb.add_argument("--result", type=Path, required=True)
    return parser


if __name__ == "__main__":
    from engine.driver.work import SparkWork

    sys.exit(main(sys.argv[1:], SparkWork()))
