"""`arroyo run`: run a script as one job in this process."""

from __future__ import annotations

import json
import os
import signal
import tempfile
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cli.arguments import (
    add_backfill_arguments,
    add_connections_argument,
    add_into_argument,
    add_udf_argument,
    add_upgrade_arguments,
    backfill_of,
    connections_text,
    read_udf_files,
)
from engine.cli.base import Command, path
from engine.cli.terminal import bold, complain, dim, read_script, say
from engine.errors import ScriptRefused, SettingError, message_of
from engine.values.cluster import MAX_PARALLELISM
from engine.values.declared_settings import Setting
from engine.values.durations import read_duration
from engine.values.run_settings import RUN_SETTINGS, is_run_setting, near_names, read_run_settings
from engine.values.sink_prefix import writing_under
from engine.values.start_positions import StartStep, read_starts

if TYPE_CHECKING:
    from engine.spark.run.run_spec import RunSpec, StateUpgrade
    from engine.spark.run.stop_control import Control
    from engine.spark.run.warm_session import TakeOver
    from engine.values.epoch_report import EpochReport

INTERRUPTED = 130
_EPOCH_INTERVAL = "epoch_interval"


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="Read the script from this file; - is standard input")
    parser.add_argument("--name", metavar="N", help="Name the pipeline (default: the name of the file)")
    parser.add_argument(
        "--parallelism", metavar="P", type=_parallelism, default=1, help="Set the parallelism (default: 1)"
    )
    parser.add_argument(
        "--state-dir",
        metavar="DIR",
        type=_state_place,
        help="Store the state in this directory, or below this prefix of a bucket (s3://bucket/prefix); the same "
        "script resumes from it",
    )
    add_udf_argument(parser)
    add_connections_argument(parser)
    parser.add_argument(
        "--set",
        metavar="key=value",
        action="append",
        default=[],
        help=f"Change a setting of the run; may be repeated. {_describe_settings()}",
    )
    parser.add_argument(
        "--max-epoch-rows", metavar="N", type=_positive, help="Read at most N rows of a table per epoch"
    )
    parser.add_argument(
        "--json-progress", action="store_true", help="Print one JSON object per epoch on standard error"
    )
    parser.add_argument(
        "--start-from",
        metavar="TABLE=POSITION",
        action="append",
        default=[],
        help="Set where a table that was never read starts: earliest, latest, group, "
        'timestamp:2026-01-31T00:00:00Z or offsets:{"0": 12}; may be repeated (default: its own option)',
    )
    add_backfill_arguments(parser)
    add_into_argument(parser)
    parser.add_argument(
        "--stand-ins",
        metavar="DIR",
        type=path,
        help="Test the script: read each table from DIR/in/TABLE.json and write it to DIR/out/TABLE.json (one JSON "
        "object per line) instead of using its connector",
    )
    parser.add_argument("--force", action="store_true", help="Discard the state if it belongs to another script")
    parser.add_argument(
        "--upgrade",
        action="store_true",
        help="Adopt the state of another script; `arroyo plan` shows what is kept",
    )
    add_upgrade_arguments(parser)
    parser.add_argument(
        "--warm",
        action="store_true",
        help="Reuse the JVM of the last run with --warm from this directory, and keep one for the next run (ten "
        "minutes, 1 GiB)",
    )


def _state_place(text: str) -> Path | str:
    """Return the directory of a state, or the URL of its prefix in a bucket."""
    from engine.connectors.files.storage import read_location  # noqa: PLC0415 - `--help` must not pay for it

    try:
        location = read_location(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} {message_of(error)}") from error
    return path(str(location) if text else text) if isinstance(location, Path) else text


def _local_directory(place: Path | str | None, opened: ExitStack) -> Path:
    """Return the directory in which a run works; that of a state in a bucket is made when the state is claimed."""
    if place is None:
        return Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="arroyo-")))
    return Path(place)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a whole number greater than zero")
    return int(text)


def _parallelism(text: str) -> int:
    if (parallelism := _positive(text)) > MAX_PARALLELISM:
        raise ArgumentTypeError(f"{text} tasks are too many: at most {MAX_PARALLELISM:,} run in parallel")
    return parallelism


def _run(arguments: Namespace) -> int:
    from engine.compile import compile_script, warnings_about  # noqa: PLC0415 - `--help` must not pay for the parser
    from engine.connectors.stand_ins import prepare_outputs  # noqa: PLC0415 - nor for this
    from engine.udf.requirements import check_requirements  # noqa: PLC0415 - nor for this

    script = writing_under(read_script(arguments.file), arguments.into)
    udfs, connections = read_udf_files(arguments.udf), connections_text(arguments)
    settings = read_set_arguments(arguments.set)
    interval = read_duration(settings.get(_EPOCH_INTERVAL, "0 seconds"))
    run_settings = replace(
        read_run_settings(without_interval(settings)),
        max_epoch_rows=arguments.max_epoch_rows,
        start_from=read_starts(arguments.start_from, "--start-from"),
        backfill=backfill_of(arguments),
    )
    try:
        check_requirements(udfs)
        program = compile_script(script, udfs=udfs, connections=connections, stand_ins=arguments.stand_ins)
    except ScriptRefused as error:
        complain(error, script)
        return 2
    for warning in warnings_about(script):
        complain(warning, script, is_warning=True)
    if arguments.stand_ins is not None:
        prepare_outputs(program.tables.values(), arguments.stand_ins)
    state_dir = arguments.state_dir
    with ExitStack() as opened:
        from engine.spark.run.run_spec import RunSpec  # noqa: PLC0415 - nothing of Spark is imported for a refused script

        spec = RunSpec(
            name=arguments.name or (Path(arguments.file).stem if arguments.file != "-" else "stdin"),
            sql=script,
            state_dir=_local_directory(state_dir, opened),
            parallelism=arguments.parallelism,
            force=arguments.force,
            upgrade=_upgrade(arguments),
            epoch_interval=interval,
            settings=run_settings,
            udfs=udfs,
            connections=connections,
            stand_ins=arguments.stand_ins,
            keeps_state=state_dir is not None,
        )
        if isinstance(state_dir, str):
            from engine.spark.run.journaled_run import in_bucket  # noqa: PLC0415 - few runs need it

            spec = opened.enter_context(in_bucket(state_dir, program, spec, is_warm=arguments.warm))
        if arguments.warm:
            from engine.cli.scripts.warm import run_warm  # noqa: PLC0415 - few runs need it

            return run_warm(spec, as_json=arguments.json_progress, run_cold=until_end)
        return until_end(spec, as_json=arguments.json_progress)


def _upgrade(arguments: Namespace) -> StateUpgrade | None:
    """Return how the run takes over the state of another script; None if it does not."""
    from engine.spark.run.run_spec import StateUpgrade  # noqa: PLC0415 - as above

    if not arguments.upgrade:
        if arguments.keep_state or arguments.reset or arguments.hold_back or arguments.accept_loss:
            raise SettingError("--keep-state, --reset, --hold-back and --accept-loss belong to --upgrade")
        return None
    if arguments.state_dir is None:
        raise SettingError("--upgrade needs the --state-dir whose state is to be taken over")
    return StateUpgrade(
        tuple(arguments.keep_state),
        tuple(arguments.reset),
        arguments.accept_loss,
        hold_back=tuple(arguments.hold_back),
    )


def _describe_settings() -> str:
    """Return the settings of `--set`, for its help."""
    local = [each for each in _of_run().values() if not each.is_of_cluster]
    texts = [f"{each.name}: {each.about.rstrip('.')} ({each.kind.accepts}; default: {each.default})" for each in local]
    texts.append(f"{_EPOCH_INTERVAL}: The shortest time between two epochs, such as '10 seconds'")
    cluster = ", ".join(each.name for each in _of_run().values() if each.is_of_cluster)
    return f"{'; '.join(texts)}. On a cluster also {cluster}, and spark.* (docs/reference/run-settings.md)"


def _of_run() -> Mapping[str, Setting]:
    return {name: declared for name, declared in RUN_SETTINGS.items() if declared.run_flag is None}


def read_set_arguments(texts: Sequence[str]) -> dict[str, str]:
    """Return the settings that `--set KEY=VALUE` arguments of a run name. Raise SettingError for unknown ones."""
    settings: dict[str, str] = {}
    known = {**_of_run(), _EPOCH_INTERVAL: None}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator:
            raise SettingError(f"--set {text!r} is not of the form key=value")
        if name in RUN_SETTINGS and name not in known:
            raise SettingError(f"{name!r} is not set by --set", hint=f"use {RUN_SETTINGS[name].run_flag}")
        if name not in known and not is_run_setting(name):
            raise SettingError(f"{name!r} is not a setting of a run", hint=near_names(name, known))
        settings[name] = value
    return settings


def without_interval(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings without the epoch interval, which only runs have."""
    return {name: text for name, text in settings.items() if name != _EPOCH_INTERVAL}


def until_end(spec: RunSpec, *, as_json: bool, warm: TakeOver | None = None) -> int:
    """Run until the end, with progress on the terminal; return the exit code."""
    from engine.spark.run.lifecycle import run  # noqa: PLC0415 - see `_run`
    from engine.spark.run.stop_control import Control  # noqa: PLC0415 - see `_run`

    control = Control()
    _answer_signals(control)
    show = _show_json if as_json else _show
    if not as_json:
        say(f"{bold(spec.name)}: starting with parallelism {spec.parallelism}")

    def show_step(step: StartStep | None) -> None:
        if step is StartStep.FIRST_EPOCH and not as_json:
            say(dim("running; Ctrl-C stops it"))

    outcome = run(spec, control, show, on_sign=show_step, warm=warm)
    if not as_json:
        say("finished: the input has ended" if outcome == "finished" else "stopped: the same command goes on from here")
    return 0 if outcome == "finished" else INTERRUPTED


def _answer_signals(control: Control) -> None:
    """Handle Ctrl-C: the first one stops after the current epoch, the second immediately, the third exits."""

    def stop(_number: int, _frame: object) -> None:
        if control.mode == "immediate":
            os._exit(INTERRUPTED)
        control.stop("checkpoint" if control.mode is None else "immediate")

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)


def _show(report: EpochReport) -> None:
    watermark = (
        "none yet" if report.watermark is None else "end" if report.is_last else f"{report.watermark:%Y-%m-%d %H:%M:%S}"
    )
    waiting = "" if report.rows_waiting is None else f"  waiting {report.rows_waiting}"
    late = f"  late {report.late_rows}" if report.late_rows else ""
    dropped = f"  dropped {report.dropped_in_epoch}" if report.dropped_in_epoch else ""
    say(
        f"epoch {report.epoch:>5}  in {report.rows_in:>8}  out {report.rows_out:>8}  "
        f"{report.rows_per_second:>9.0f} rows/s  watermark {watermark}{waiting}{late}{dropped}"
    )


def _show_json(report: EpochReport) -> None:
    say(json.dumps(dict(_plain(name, value) for name, value in asdict(report).items())))


def _plain(name: str, value: object) -> tuple[str, object]:
    """Return a figure in plain values: instants in ISO form, lengths in seconds."""
    match value:
        case timedelta():
            return f"{name}_seconds", value.total_seconds()
        case datetime():
            return name, value.isoformat()
        case dict():
            return name, dict(_plain(key, inner) for key, inner in value.items())
        case float():
            return name, round(value, 1)
    return name, value


RUN = Command(_arguments, _run)
