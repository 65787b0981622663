"""`arroyo rehearse`: compare the output of a new script with the running one."""

from __future__ import annotations

import json
import os
import signal
import stat
import tempfile
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cli.arguments import add_compared_arguments, connections_text, read_udf_files
from engine.cli.base import Client, Command, Json, field_of, is_away, path, segment
from engine.cli.remote import (
    FAILED,
    add_connection,
    add_pipeline,
    connect,
    errors_shown,
    facts,
    instant,
    path_of,
    rows_of,
    show,
    table,
    warn,
)
from engine.cli.remote import (
    say as say_remote,
)
from engine.cli.terminal import complain, dim, read_script, say
from engine.cli.terminal import say as tell
from engine.cli.waiting import PATIENCE
from engine.errors import EngineError, RequestError, ScriptRefused, UnreachableError
from engine.values.run_settings import read_run_settings
from engine.values.start_positions import read_starts

if TYPE_CHECKING:
    from engine.spark.run.stop_control import Control

DIFFERENT, INTERRUPTED = 2, 130
_OPEN = ("waiting", "running")
_PAUSE = 0.5
_MOST = 1000
_ELSEWHERE = ("scratch", "parallelism", "connections", "old_udf")
"""Options only for rehearsals on this machine; a control plane takes them from the pipeline."""


@errors_shown
def rehearse_there(args: Namespace) -> int:
    """Let the control plane rehearse a script against the running one of a pipeline, and show the result."""
    if told := [name for name in _ELSEWHERE if getattr(args, name)]:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in told)
        raise RequestError(
            f"{options} cannot be said with --pipeline: its control plane plays the rehearsal",
            hint="leave it out, or rehearse from a savepoint in a directory with --savepoint",
        )
    client, path = connect(args), f"/pipelines/{segment(args.pipeline)}/rehearsals"
    begun = client.send("POST", path, _body(args))
    if args.no_wait:
        show(args, begun, _describe)
        return 0
    rehearsal = segment(field_of(begun if isinstance(begun, dict) else {}, "id"))
    try:
        answer = _until_over(begun, lambda: client.get(f"{path}/{rehearsal}"))
    except KeyboardInterrupt:
        client.send("DELETE", f"{path}/{rehearsal}", None)
        warn("rehearsal.stopped: it is called off")
        return INTERRUPTED
    return _show_outcome(answer, as_json=args.json or args.format == "json")


def _body(args: Namespace) -> dict[str, Json]:
    read_starts(args.start_from, "--start-from")
    settings: dict[str, Json] = {"start_from": "; ".join(args.start_from)} if args.start_from else {}
    if args.memory is not None:
        settings["memory"] = args.memory
    body: dict[str, Json] = {
        "query": read_script(args.file),
        "keep_state": args.keep_state,
        "reset": args.reset,
        "hold_back": args.hold_back,
        "examples": args.rows,
    }
    optional: dict[str, Json] = {
        "udfs": [file.text for file in read_udf_files(args.udf)] or None,
        "settings": settings or None,
        "savepoint_id": args.from_savepoint,
        "limit_micros": None if args.limit is None else int(args.limit * 1_000_000),
    }
    return body | {name: value for name, value in optional.items() if value is not None}


def _until_over(
    begun: Json,
    look: Callable[[], Json],
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> Mapping[str, Json]:
    """Return the rehearsal once it has ended; print its progress meanwhile."""
    answer, answered, told = begun, clock(), None
    while True:
        if not isinstance(answer, dict):
            raise UnreachableError("what answers is no control plane", hint="name the address of one with --url")
        if field_of(answer, "state") not in _OPEN:
            return answer
        if (at := answer.get("step") or answer["state"]) != told:
            tell(dim(f"{answer['id']}: {at}"))
            told = at
        pause(_PAUSE)
        try:
            answer = look()
        except EngineError as error:
            if not is_away(error) or clock() - answered > PATIENCE:
                raise
        else:
            answered = clock()


def _show_outcome(answer: Mapping[str, Json], *, as_json: bool) -> int:
    """Print the report, or why there is none."""
    report, failure = answer.get("report"), answer.get("failure")
    if isinstance(report, dict):
        say_remote(json.dumps(report, indent=2) if as_json else str(answer.get("text")).rstrip("\n"))
        return DIFFERENT if answer.get("differs") else 0
    if isinstance(failure, dict):
        hint = f"\n  hint: {failure['hint']}" if failure.get("hint") else ""
        warn(f"{failure.get('code')}: {failure.get('message')}{hint}")
    return FAILED


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_pipeline(parser)
    parser.add_argument("rehearsal", nargs="?", help="Show this rehearsal and its findings (default: list all)")
    parser.add_argument("--stop", action="store_true", help="Cancel this rehearsal")


@errors_shown
def run(args: Namespace) -> int:
    """Print the rehearsals of a pipeline, newest first, or one of them."""
    client = connect(args)
    if args.rehearsal is None:
        if args.stop:
            raise RequestError("no rehearsal to stop is named", hint="name it, as the list does")
        return _list(args, client)
    path = path_of(args, "rehearsals", args.rehearsal)
    answer = client.send("DELETE", path, None) if args.stop else client.get(path)
    show(args, answer, _describe)
    return 0


def _list(args: Namespace, client: Client) -> int:
    answer = client.get(path_of(args, "rehearsals"), {"limit": _MOST})
    if args.json:
        say_remote(json.dumps(answer, indent=2))
        return 0
    rows = [
        (
            row.get("id"),
            row.get("step") or row.get("state"),
            row.get("version"),
            _found(row),
            instant(row.get("created_at")),
            instant(row.get("ended_at")),
            row.get("creator"),
        )
        for row in rows_of(answer)
    ]
    say_remote(table(("ID", "STATE", "VERSION", "FOUND", "CREATED", "ENDED", "BY"), rows))
    return 0


def _found(row: Mapping[str, Json]) -> str | None:
    if isinstance(failure := row.get("failure"), dict):
        return str(failure.get("code"))
    differs = row.get("differs")
    return None if differs is None else "rows differ" if differs else "no row differs"


def _describe(answer: Mapping[str, Json]) -> str:
    failure = answer.get("failure")
    shown = [
        ("id", field_of(answer, "id")),
        ("state", field_of(answer, "state")),
        ("step", answer.get("step")),
        ("version", answer.get("version")),
        ("savepoint", answer.get("savepoint_id")),
        ("created", instant(answer.get("created_at"))),
        ("started", instant(answer.get("started_at"))),
        ("ended", instant(answer.get("ended_at"))),
        ("by", answer.get("creator")),
        ("failure", f"{failure.get('code')}: {failure.get('message')}" if isinstance(failure, dict) else None),
        ("hint", failure.get("hint") if isinstance(failure, dict) else None),
    ]
    text = answer.get("text")
    return facts(shown) + (f"\n\n{text}".rstrip("\n") if text else "")


REHEARSALS = Command(add_arguments, run)


_EXAMPLES = 10
_MEMORY = "2g"
_THERE = ("from_savepoint", "limit", "no_wait")
"""Options only for rehearsals on a control plane."""


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
    from engine.checkpoints.layout import scratch_directory  # noqa: PLC0415
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
    """Return a directory of this user in a shared one, refusing one that another user has created."""
    directory = Path(tempfile.gettempdir()) / f"arroyo-rehearsals-{os.getuid()}"
    directory.mkdir(mode=0o700, exist_ok=True)
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise RequestError(f"{directory} is not a directory of yours", hint="name another one with --scratch")
    return directory


@contextmanager
def _stopped_by_signals(control: Control) -> Iterator[Control]:
    """End the rehearsal at the first Ctrl-C, and remove what it has written."""

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
