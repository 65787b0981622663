"""`arroyo show`, `start`, `stop`, `restart`, `rescale`, `delete`."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence

from engine.cli.arguments import add_checkpoint_interval, interval_part
from engine.cli.base import Command, Json, field_of
from engine.cli.pipelines.bulk import BulkVerb, Change, is_resting, one_or_several, unless_resting
from engine.cli.pipelines.list_pipelines import add_choice
from engine.cli.remote import (
    add_pipeline,
    complete_facts,
    connect,
    describe,
    errors_shown,
    facts,
    instant,
    one_of,
    path_of,
    rows_of,
    say,
    shared_java_text,
)
from engine.cli.savepoints.savepoint import take
from engine.cli.waiting import add_dry_run, add_wait, change, send
from engine.errors import RequestError


@errors_shown
def run_show(args: Namespace) -> int:
    """Print one pipeline and its job."""
    client = connect(args)
    pipeline = client.get(path_of(args))
    jobs = rows_of(client.get(path_of(args, "jobs")))
    secrets = rows_of(client.get(path_of(args, "secrets")))
    if args.json:
        say(json.dumps({"pipeline": pipeline, "jobs": list(jobs), "secrets": list(secrets)}, indent=2))
        return 0
    fields = pipeline if isinstance(pipeline, dict) else {}
    job: Mapping[str, Json] = jobs[0] if jobs else {}
    named = ("name", "state", "version", "parallelism", "stop", "state_dir")
    epochs = path_of(args, "jobs", str(job.get("id")), "checkpoints")
    newest = rows_of(client.get(epochs, {"limit": 1})) if job.get("epoch") is not None else ()
    shown: list[tuple[str, object]] = [("id", field_of(fields, "id"))]
    # the state is the job's: it may have changed since the pipeline was read, and is shown beside the job's failure
    known = {**fields, "state": job.get("state", fields.get("state"))}
    shown += [(name.replace("_", " "), known.get(name)) for name in named]
    shown += [
        ("tags", _spelled(fields.get("tags"))),
        ("settings", _spelled(fields.get("settings"))),
        ("job", job.get("id")),
        ("run", job.get("run_id")),
        ("step", job.get("step")),
        ("restarts", f"{job.get('restarts_total')}, {job.get('restarts')} in a row" if job else None),
        ("last restart", job.get("restart_code")),
        ("shared java", shared_java_text(job.get("shared_java"))),
        ("started", instant(job.get("start_time"))),
        ("finished", instant(job.get("finish_time"))),
        ("epoch", job.get("epoch")),
        ("watermark", instant(job.get("watermark"))),
        *complete_facts(job),
        *_state_facts(newest),
        *((f"secret {secret.get('name')}", instant(secret.get("set_at")) or "set") for secret in secrets),
        ("blocked by" if job.get("blocked") else "failure", _failure(job)),
        ("hint", job.get("failure_hint")),
        ("not undone", fields.get("not_undone")),
    ]
    say(facts(shown))
    return 0


def _failure(job: Mapping[str, Json]) -> str | None:
    """Return the job's failure with its code; None if there is none."""
    return f"{job.get('failure_code')}: {job['failure_message']}" if job.get("failure_message") else None


def _spelled(settings: Json) -> str | None:
    """Return settings or tags as `name=value`; None if there are none. A tag without a value is its name."""
    parts = settings.items() if isinstance(settings, dict) else ()
    return ", ".join(name if value == "" else f"{name}={value}" for name, value in sorted(parts)) or None


def _state_facts(newest: Sequence[Mapping[str, Json]]) -> list[tuple[str, object]]:
    """Return the state's size after the newest epoch: memory, and rows if they are counted."""
    if not newest:
        return []
    size, rows = newest[0].get("state_bytes"), newest[0].get("state_rows")
    mebibytes = f"{size / 2**20:.1f} MiB" if isinstance(size, int) else None
    counts = [f"{count} rows of {operator}" for operator, count in rows.items()] if isinstance(rows, dict) else []
    return [("kept", ", ".join(filter(None, (mebibytes, *counts))) or None)]


def _stop_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--mode",
        choices=("checkpoint", "graceful", "immediate", "force"),
        default="checkpoint",
        help="Stop after the current epoch (checkpoint), after all rows in flight (graceful), immediately, "
        "re-running the epoch on restart (immediate), or by killing the driver (force); default: checkpoint",
    )
    parser.add_argument("--savepoint", action="store_true", help="Take a savepoint of the last epoch")
    parser.add_argument("--label", help="Set the label of that savepoint")
    add_wait(parser, "stopped")
    add_dry_run(parser)
    add_choice(parser)


@errors_shown
def run_stop(args: Namespace) -> int:
    """Stop a pipeline or several; with `--savepoint`, wait until the savepoint is complete."""
    if args.label is not None and not args.savepoint:
        raise RequestError("--label is that of a savepoint, and none is asked for", hint="add --savepoint")
    if args.savepoint:
        body: dict[str, Json] = {"label": args.label, "stop": args.mode}
        several = Change("POST", ("savepoints",), body)
        return one_or_several(args, _STOP, several, lambda: take(args, body, timeout=args.timeout))
    body = {"stop": args.mode}
    return one_or_several(args, _STOP, Change("PATCH", body=body), lambda: change(args, "PATCH", path_of(args), body))


def _rescale_arguments(parser: ArgumentParser) -> None:
    add_pipeline(parser)
    parser.add_argument("parallelism", type=int, nargs="?", help="Set the parallelism")
    parser.add_argument("--to", type=int, metavar="PARALLELISM", help="Set the same value as an option")
    add_checkpoint_interval(parser)
    add_wait(parser, "running", "finished")
    add_dry_run(parser)


@errors_shown
def run_rescale(args: Namespace) -> int:
    """Request another parallelism."""
    parallelism = one_of(args.parallelism, args.to, "a parallelism", "arroyo rescale PIPELINE 4")
    if parallelism is None:
        raise RequestError("arroyo rescale needs a parallelism", hint="arroyo rescale PIPELINE 4")
    return change(args, "PATCH", path_of(args), {"parallelism": parallelism, **interval_part(args)})


def _delete_arguments(parser: ArgumentParser) -> None:
    add_choice(parser)
    parser.add_argument("--with-savepoints", action="store_true", help="Delete its savepoints too")
    add_dry_run(parser)


@errors_shown
def run_delete(args: Namespace) -> int:
    """Delete a stopped pipeline or several, with their state."""
    query = (("with_savepoints", "true"),) if args.with_savepoints else ()
    return one_or_several(args, _DELETE, Change("DELETE", query=query), lambda: _delete_one(args, dict(query)))


def _delete_one(args: Namespace, query: Mapping[str, str]) -> int:
    if args.dry_run:
        send(args, "DELETE", path_of(args), None, describe, query=query)
        return 0
    connect(args).send("DELETE", path_of(args) + ("?with_savepoints=true" if query else ""), None)
    if not args.json:
        say(f"{args.pipeline} is deleted")
    return 0


_STOP = BulkVerb("stop", unless_resting, "stop requested")
_DELETE = BulkVerb("delete", lambda row: None if is_resting(row) else "running; stop it first", "deleted")
SHOW = Command(add_pipeline, run_show)
STOP = Command(_stop_arguments, run_stop)
RESCALE = Command(_rescale_arguments, run_rescale)
DELETE = Command(_delete_arguments, run_delete)


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
