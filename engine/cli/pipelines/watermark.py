"""`arroyo watermark`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from engine.cli.base import Command
from engine.cli.client import Json
from engine.cli.long_poll import HOLD, LongPoll
from engine.cli.remote import (
    FAILED,
    add_pipeline,
    complete_facts,
    connect,
    errors_shown,
    facts,
    held_facts,
    instant,
    path_of,
    seconds,
    show,
)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_pipeline(parser)
    parser.add_argument("--past", help="Wait until the output is complete up to this instant (ISO 8601)")
    parser.add_argument("--table", help="Wait for this sink (default: all sinks)")
    parser.add_argument(
        "--by",
        choices=("input", "output"),
        default="input",
        help="Use the event time of rows read (input) or written (output); default: input",
    )
    parser.add_argument("--timeout", type=seconds, default=60.0, help="Wait at most this many seconds (default: 60)")


@errors_shown
def run(args: Namespace) -> int:
    """Print how far committed output is complete; with --past, return 3 if that was not reached."""
    client = connect(args)

    def ask(hold: float) -> Json:
        query: dict[str, str | int | float] = {}
        if args.past is not None:
            query = {"past": args.past, "timeout_seconds": hold, "by": args.by}
            query |= {} if args.table is None else {"table": args.table}
        return client.get(path_of(args, "watermark"), query, hold=HOLD)

    answer = LongPoll(ask, args.timeout).until(_is_last)
    show(args, answer, _describe)
    return FAILED if isinstance(answer, dict) and answer.get("passed") is False else 0


def _is_last(answer: Json) -> bool:
    """Whether nothing else will come: it is passed, nobody waits for it, or the job rests."""
    fields = answer if isinstance(answer, dict) else {}
    rests = fields.get("state") in ("Stopped", "Failed", "Finished") and fields.get("settled") is not False
    return fields.get("passed") is not False or rests


def _describe(watermark: Mapping[str, Json]) -> str:
    sources = watermark.get("sources")
    marks = sources.items() if isinstance(sources, dict) else []
    return facts(
        [
            ("state", watermark.get("state")),
            ("epoch", watermark.get("epoch")),
            ("watermark", instant(watermark.get("watermark")) or "unknown yet"),
            ("passed", watermark.get("passed")),
            *complete_facts(watermark),
            *held_facts(watermark),
            *((f"source {name}", instant(at) or "unknown yet") for name, at in marks),
        ]
    )


WATERMARK = Command(add_arguments, run)
