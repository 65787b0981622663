"""Arguments that several verbs share."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cli.base import Json, path
from engine.cli.terminal import read_script
from engine.errors import BackfillError
from engine.values.durations import read_duration
from engine.values.start_positions import Backfill, read_backfill

if TYPE_CHECKING:
    from engine.udf.declared import UdfFile


def add_compared_arguments(parser: ArgumentParser, pipeline: str) -> None:
    """Add the arguments; `pipeline` is the help of `--pipeline`."""
    parser.add_argument("file", metavar="FILE", help="Read the new script from this file; - is standard input")
    running = parser.add_mutually_exclusive_group(required=True)
    running.add_argument(
        "--state-dir", metavar="DIR", type=path, help="Compare with the script of the state in this directory"
    )
    running.add_argument(
        "--savepoint", metavar="DIR", type=path, help="Compare with the script of the savepoint in this directory"
    )
    running.add_argument("--pipeline", metavar="NAME", help=pipeline)
    add_udf_argument(parser)
    parser.add_argument(
        "--old-udf",
        metavar="FILE.py",
        action="append",
        default=[],
        help="Use the Python functions of this file for the old script; may be repeated (default: those of --udf)",
    )
    add_connections_argument(parser)
    parser.add_argument(
        "--keep-state",
        metavar="OPERATOR",
        action="append",
        default=[],
        help="Keep the state of this operator although its input has changed; may be repeated",
    )
    parser.add_argument(
        "--reset",
        metavar="NAME",
        action="append",
        default=[],
        help="Discard the state of this operator, or the position of this source or sink; may be repeated",
    )
    parser.add_argument(
        "--hold-back",
        metavar="OPERATOR",
        action="append",
        default=[],
        help="Suppress windows of this operator that were open during the upgrade, instead of emitting NULL for the "
        "new aggregate; may be repeated",
    )
    parser.add_argument(
        "--start-from",
        metavar="TABLE=POSITION",
        action="append",
        default=[],
        help="Set where a table that is new to the state starts, as in `arroyo run`; may be repeated",
    )


_VARIABLE = "ARROYO__CONNECTIONS"


def add_connections_argument(parser: ArgumentParser) -> None:
    """Add the option for the file of connections."""
    text = f"Load the CREATE CONNECTION statements of this file (default: the file that {_VARIABLE} names)"
    parser.add_argument("--connections", metavar="FILE.sql", type=path, help=text)


def connections_text(arguments: Namespace) -> str:
    """Return the text of the file of connections."""
    from engine.settings import read_connections_file  # noqa: PLC0415 - `--help` must not pay for it

    named = arguments.connections or os.environ.get(_VARIABLE) or None
    return read_connections_file(None if named is None else Path(named))


def add_udf_argument(parser: ArgumentParser) -> None:
    """Add the option for files of functions."""
    parser.add_argument(
        "--udf",
        metavar="FILE.py",
        action="append",
        default=[],
        help="Use the Python functions of this file; may be repeated",
    )


def read_udf_files(paths: Sequence[str]) -> tuple[UdfFile, ...]:
    """Read the files of functions."""
    from engine.udf.declared import UdfFile  # noqa: PLC0415 - `--help` must not pay for it

    return tuple(UdfFile(Path(path).name, read_script(path)) for path in paths)


def add_upgrade_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of an upgrade."""
    parser.add_argument(
        "--keep-state",
        metavar="ID",
        action="append",
        default=[],
        help="Keep the state of this operator although its input has changed; may be repeated",
    )
    parser.add_argument(
        "--reset",
        metavar="ID",
        action="append",
        default=[],
        help="Discard the state of this operator, or the position of this source or sink; may be repeated",
    )
    parser.add_argument(
        "--hold-back",
        metavar="ID",
        action="append",
        default=[],
        help="Suppress windows of this operator that were open during the upgrade, instead of emitting NULL for the "
        "new aggregate; may be repeated",
    )
    parser.add_argument("--accept-loss", metavar="PLAN", help="Accept the losses listed in the plan with this id")


def upgrade_part(args: Namespace) -> dict[str, Json]:
    """Return the upgrade's part of a request; empty without options."""
    parts: dict[str, Json] = {
        "keep_state": args.keep_state,
        "reset": args.reset,
        "hold_back": args.hold_back,
        "accept_loss": args.accept_loss,
    }
    return {name: part for name, part in parts.items() if part}


def add_into_argument(parser: ArgumentParser) -> None:
    """Add the argument for the prefix."""
    parser.add_argument(
        "--into",
        metavar="PREFIX",
        help="Write under a prefix: files to a directory PREFIX beside the original, records to topics and keys "
        "PREFIX-NAME",
    )


_AT_ONCE = "none"


def add_checkpoint_interval(parser: ArgumentParser) -> None:
    """Add the argument for the interval of checkpoints."""
    text = (
        "Set the shortest time between two epochs, such as '10 seconds'; "
        f"`{_AT_ONCE}` removes the limit (default: unchanged)"
    )
    parser.add_argument("--checkpoint-interval", metavar="DURATION", help=text)


def interval_part(args: Namespace) -> dict[str, Json]:
    """Return the request field for the interval; empty without the argument."""
    if args.checkpoint_interval is None:
        return {}
    if args.checkpoint_interval == _AT_ONCE:
        return {"checkpoint_interval_micros": None}
    return {"checkpoint_interval_micros": read_duration(args.checkpoint_interval) // timedelta(microseconds=1)}


def add_backfill_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of a backfill."""
    parser.add_argument(
        "--from", dest="since", metavar="T1", help="Read history: only rows whose event time is not before T1, then end"
    )
    parser.add_argument(
        "--to", dest="until", metavar="T2", help="Read history: only rows whose event time is before T2, then end"
    )
    parser.add_argument(
        "--stop-at",
        metavar="TABLE=offsets:{...}",
        action="append",
        default=[],
        help="Read the history of this table up to these offsets; may be repeated (default: to its current end)",
    )
    parser.add_argument(
        "--then-continue", action="store_true", help="Continue with new rows after the history, instead of ending"
    )
    parser.add_argument(
        "--partial-windows",
        action="store_true",
        help="Accept incomplete windows at T1 and T2",
    )


def backfill_of(arguments: Namespace) -> Backfill | None:
    """Return the range of the arguments."""
    backfill = read_backfill(
        arguments.since,
        arguments.until,
        tuple(arguments.stop_at),
        goes_on=arguments.then_continue,
        partial_windows=arguments.partial_windows,
    )
    if backfill is not None and arguments.upgrade:
        raise BackfillError(
            "an upgrade goes on from a state, and history is read into a new one",
            hint="read the history first, with a state directory of its own",
        )
    return backfill
