"""The range of history that a run is to read: its arguments."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from engine.errors import BackfillError
from engine.values.backfill import Backfill, read_backfill


def add_backfill_arguments(parser: ArgumentParser) -> None:
    """The arguments."""
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
    """The range that the arguments name."""
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
