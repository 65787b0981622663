"""`arroyo start`, `arroyo restart`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from engine.cli.arguments import add_checkpoint_interval, interval_part
from engine.cli.base import Command, Json
from engine.cli.pipelines.bulk import BulkVerb, Change, is_resting, one_or_several
from engine.cli.pipelines.list_pipelines import add_choice
from engine.cli.remote import errors_shown, path_of
from engine.cli.waiting import add_dry_run, add_wait, change


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `start`."""
    add_choice(parser)
    add_checkpoint_interval(parser)
    add_wait(parser, "running", "finished")
    add_dry_run(parser)


@errors_shown
def run(args: Namespace) -> int:
    """Start a pipeline or several. A failed pipeline is restarted; a running one is unchanged."""
    body: dict[str, Json] = {"stop": "none", **interval_part(args)}
    return one_or_several(args, _START, Change("PATCH", body=body), lambda: change(args, "PATCH", path_of(args), body))


def _restart_arguments(parser: ArgumentParser) -> None:
    add_choice(parser)
    parser.add_argument("--force", action="store_true", help="Abort the current epoch, which is re-run")
    add_wait(parser, "running", "finished")
    add_dry_run(parser)


@errors_shown
def run_restart(args: Namespace) -> int:
    """Restart a pipeline or several from their last checkpoints, with new drivers."""
    body: dict[str, Json] = {"force": args.force}
    several = Change("POST", ("restart",), body)
    return one_or_several(args, _RESTART, several, lambda: change(args, "POST", path_of(args, "restart"), body))


def _unless_at_rest(row: Mapping[str, Json]) -> str | None:
    """Skip a pipeline that was stopped or has finished. A failed one is restarted."""
    return "not running" if row.get("state") in ("Stopped", "Finished") else None


def _unless_startable(row: Mapping[str, Json]) -> str | None:
    """Skip a pipeline that runs or has finished."""
    if row.get("state") == "Finished":
        return "finished"
    return None if is_resting(row) else "already running"


_START = BulkVerb("start", _unless_startable, "start requested")
_RESTART = BulkVerb("restart", _unless_at_rest, "restart requested")


START = Command(add_arguments, run)
RESTART = Command(_restart_arguments, run_restart)
