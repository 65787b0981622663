"""`arroyo rehearse`: what would this script write in the place of the one that runs?"""

from __future__ import annotations

import json
import os
import signal
import stat
import tempfile
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cli.arguments.compared import add_compared_arguments
from engine.cli.arguments.connection_file import connections_text
from engine.cli.arguments.udf_files import read_udf_files
from engine.cli.base import Command, path
from engine.cli.remote import add_connection
from engine.cli.terminal import complain, dim, read_script, say
from engine.cli.upgrades.rehearsals import DIFFERENT, INTERRUPTED, rehearse_there
from engine.errors import EngineError, RequestError, ScriptRefused
from engine.jobs.decisions.spec import read_run_settings
from engine.values.start_positions import read_starts

if TYPE_CHECKING:
    from engine.spark.run.stop_control import Control

_EXAMPLES = 10
_MEMORY = "2g"
_THERE = ("from_savepoint", "limit", "no_wait")
"""What only a control plane is told."""


def _arguments(parser: ArgumentParser) -> None:
    add_compared_arguments(parser, "Run the rehearsal on the control plane, against the current query of this pipeline")
    parser.add_argument(
        "--parallelism",
        metavar="P",
        type=_positive,
        default=None,
        help="Set the parallelism (default: that of the state)",
    )
    memory = f"Set the JVM heap (default: {_MEMORY}, or that of the pipeline)"
    parser.add_argument("--memory", metavar="M", help=memory)
    parser.add_argument(
        "--scratch",
        metavar="DIR",
        type=path,
        help="Store temporary copies of the state and the rows in this directory (default: the system's)",
    )
    parser.add_argument(
        "--rows",
        metavar="N",
        type=_whole,
        default=_EXAMPLES,
        help=f"Show this many differing rows per sink (default: {_EXAMPLES})",
    )
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="Show the report in this form (default: text)"
    )
    savepoint = "Start from this savepoint, with --pipeline (default: the newest epoch)"
    parser.add_argument("--from-savepoint", metavar="ID", help=savepoint)
    limit = "End after this many seconds, with --pipeline (default: the setting rehearsal.limit)"
    parser.add_argument("--limit", metavar="SECONDS", type=_positive, help=limit)
    no_wait = "Return at once, with --pipeline; `arroyo rehearsals` shows the result"
    parser.add_argument("--no-wait", action="store_true", help=no_wait)
    add_connection(parser)


def _whole(text: str) -> int:
    if not text.isdigit():
        raise ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def _positive(text: str) -> int:
    if (number := _whole(text)) < 1:
        raise ArgumentTypeError(f"{text!r} is not a whole number greater than zero")
    return number


def _run(arguments: Namespace) -> int:
    if arguments.pipeline is not None:
        return rehearse_there(arguments)
    if told := [name for name in _THERE if getattr(arguments, name)]:
        raise RequestError(
            f"--{told[0].replace('_', '-')} is for a control plane", hint="name a pipeline of it with --pipeline"
        )
    return _rehearse_here(arguments)


def _rehearse_here(arguments: Namespace) -> int:
    from engine.changes.row_difference import to_json, to_text  # noqa: PLC0415 - `--help` must not pay for the parser
    from engine.checkpoints.held_directories import scratch_directory  # noqa: PLC0415
    from engine.checkpoints.running_query import query_of_state  # noqa: PLC0415
    from engine.checkpoints.savepoints import take_aside  # noqa: PLC0415
    from engine.spark.run.stop_control import Control  # noqa: PLC0415
    from engine.spark.upgrade.rehearsal_plan import RehearsalSpec, plan_rehearsal  # noqa: PLC0415
    from engine.spark.upgrade.rehearse import rehearse_in_new_session  # noqa: PLC0415
    from engine.values.instants import now  # noqa: PLC0415

    script, udfs, connections = read_script(arguments.file), read_udf_files(arguments.udf), connections_text(arguments)
    old_udfs = read_udf_files(arguments.old_udf)
    memory = arguments.memory or _MEMORY
    read_run_settings({"memory": memory})
    starts = read_starts(arguments.start_from, "--start-from")
    state = arguments.state_dir
    if state is not None:
        query_of_state(state)
    with ExitStack() as opened:
        scratch = opened.enter_context(scratch_directory(arguments.scratch or _usual_scratch()))
        savepoint = arguments.savepoint
        if state is not None:
            savepoint = scratch / "savepoint"
            take_aside(state, savepoint, now)
        spec = RehearsalSpec(
            savepoint,
            script,
            udfs=udfs,
            old_udfs=old_udfs,
            connections=connections,
            keep_state=tuple(arguments.keep_state),
            reset=tuple(arguments.reset),
            hold_back=tuple(arguments.hold_back),
            start_from=starts,
            tasks=arguments.parallelism,
            examples=arguments.rows,
        )
        try:
            planned = plan_rehearsal(spec)
        except ScriptRefused as error:
            complain(error, script)
            return DIFFERENT
        control = opened.enter_context(_stopped_by_signals(Control()))
        try:
            report = rehearse_in_new_session(planned, scratch, control, lambda step: say(dim(step)), memory=memory)
        except EngineError:
            if control.mode is None:
                raise
            return INTERRUPTED
    as_json = arguments.json or arguments.format == "json"
    shown = json.dumps(to_json(report), indent=2) + "\n" if as_json else to_text(report)
    print(shown, end="")  # noqa: T201 - the command's answer
    return DIFFERENT if report.differs else 0


def _usual_scratch() -> Path:
    """A directory of this user's, in one that is everybody's: nobody else may have made it beforehand."""
    directory = Path(tempfile.gettempdir()) / f"arroyo-rehearsals-{os.getuid()}"
    directory.mkdir(mode=0o700, exist_ok=True)
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise RequestError(f"{directory} is not a directory of yours", hint="name another one with --scratch")
    return directory


@contextmanager
def _stopped_by_signals(control: Control) -> Iterator[Control]:
    """The first Ctrl-C ends the rehearsal, and removes what it has written."""

    def stop(_number: int, _frame: object) -> None:
        control.stop("immediate")

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield control
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _upgrade_arguments(parser: ArgumentParser) -> None:
    _arguments(parser)
    parser.add_argument("--rehearse", action="store_true", help="Rehearse the upgrade, as `arroyo rehearse` does")


def _upgrade(arguments: Namespace) -> int:
    if not arguments.rehearse:
        raise RequestError(
            "arroyo upgrade only rehearses",
            hint="add --rehearse; `arroyo deploy` upgrades a pipeline, and `arroyo run --upgrade` a state directory",
        )
    return _run(arguments)


REHEARSE = Command(_arguments, _run)
UPGRADE = Command(_upgrade_arguments, _upgrade)
