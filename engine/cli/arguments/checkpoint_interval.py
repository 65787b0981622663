"""`--checkpoint-interval` of the verbs that deploy or change a pipeline."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from datetime import timedelta

from engine.cli.client import Json
from engine.values.durations import read_duration

_AT_ONCE = "none"


def add_checkpoint_interval(parser: ArgumentParser) -> None:
    """The argument that says how often checkpoints are taken."""
    text = (
        "Set the shortest time between two epochs, such as '10 seconds'; "
        f"`{_AT_ONCE}` removes the limit (default: unchanged)"
    )
    parser.add_argument("--checkpoint-interval", metavar="DURATION", help=text)


def interval_part(args: Namespace) -> dict[str, Json]:
    """The field of a request that sets it; none when the argument is left out."""
    if args.checkpoint_interval is None:
        return {}
    if args.checkpoint_interval == _AT_ONCE:
        return {"checkpoint_interval_micros": None}
    return {"checkpoint_interval_micros": read_duration(args.checkpoint_interval) // timedelta(microseconds=1)}
