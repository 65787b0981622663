"""`arroyo start`, `arroyo restart`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from engine.commands.base import Command
from engine.commands.checkpoint_interval import add_checkpoint_interval, interval_part
from engine.commands.dry_run import add_dry_run
from engine.commands.remote import add_pipeline, errors_shown, path_of
from engine.commands.waiting import add_wait, change


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `start`."""
    add_pipeline(parser)
    add_checkpoint_interval(parser)
    add_wait(parser, "running", "finished")
    add_dry_run(parser)


@errors_shown
def run(args: Namespace) -> int:
    """Let a pipeline run; one that has failed is tried again, and one that runs is left alone."""
    return change(args, "PATCH", path_of(args), {"stop": "none", **interval_part(args)})


def _restart_arguments(parser: ArgumentParser) -> None:
    add_pipeline(parser)
    parser.add_argument("--force", action="store_true", help="Give up the current epoch, which is then repeated")
    add_wait(parser, "running", "finished")
    add_dry_run(parser)


@errors_shown
def run_restart(args: Namespace) -> int:
    """Start a pipeline again from its last checkpoint, with a new driver."""
    return change(args, "POST", path_of(args, "restart"), {"force": args.force})


START = Command(add_arguments, run)
RESTART = Command(_restart_arguments, run_restart)
