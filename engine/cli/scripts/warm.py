"""`arroyo warm`: what `arroyo run --warm` has left for the next run."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace

from engine.cli.base import Command
from engine.cli.remote import say
from engine.driver.handover import spares_directory
from engine.driver.left_spares import LeftSpare, end_spare, find_spare

_NONE = "no spare waits for a run"


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("action", choices=("show", "stop"), help="Show or end the process that waits for the next run")


def _run(arguments: Namespace) -> int:
    directory = spares_directory(os.environ)
    if arguments.action == "stop":
        ended = end_spare(directory)
        say(_NONE if ended is None else f"ended: {_name(ended)}")
        return 0
    spare = find_spare(directory)
    say(_NONE if spare is None else f"{_name(spare)} waits since {spare.since:%H:%M:%S} UTC{_memory(spare)}")
    return 0


def _name(spare: LeftSpare) -> str:
    return "a spare" if spare.pid is None else f"spare {spare.pid}"


def _memory(spare: LeftSpare) -> str:
    from engine.jobs.processes.process_usage import UsageMeter  # noqa: PLC0415 - `--help` must not pay for pydantic

    usage = {} if spare.pid is None else UsageMeter(spare.pid).measure()
    return f", {sum(part.memory_bytes for part in usage.values()) // 2**20} MiB" if usage else ""


WARM = Command(_arguments, _run)
