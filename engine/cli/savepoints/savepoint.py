"""`arroyo savepoint`, `arroyo restore`, `arroyo rollback`."""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping

from engine.cli.base import Command, Json, field_of, is_away
from engine.cli.pipelines.bulk import BulkVerb, Change, one_or_several
from engine.cli.pipelines.list_pipelines import add_several
from engine.cli.remote import (
    FAILED,
    add_connection,
    add_pipeline,
    connect,
    describe,
    errors_shown,
    facts,
    instant,
    one_of,
    path_of,
    rows_of,
    say,
    show,
    table,
    warn,
)
from engine.cli.savepoints.savepoint_actions import (
    ACTIONS,
    SavepointAction,
    add_options,
    check_options,
    describe_savepoint,
    restorable,
)
from engine.cli.waiting import add_dry_run, add_wait, change, rollback_facts, send
from engine.errors import EngineError, RequestError

_PAUSE = 0.5
_PATIENCE = 30.0
"""Seconds that the control plane may be unreachable: after a restart it continues with the savepoint."""
_MOST = 1000


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument(
        "words", nargs="*", metavar="WORD", help=f"Choose an action: {_usages()}; PIPELINE alone takes a savepoint"
    )
    parser.add_argument("--label", help="Set a label; labels need not be unique")
    parser.add_argument("--reason", help="Record why the savepoint is taken")
    add_options(parser)
    add_several(parser)
    add_dry_run(parser)
    add_connection(parser)


def _usages() -> str:
    return ", ".join(" ".join((name, *action.words)) for name, action in _ALL.items())


@errors_shown
def run(args: Namespace) -> int:
    """Take a savepoint of a pipeline or several, or run another action on savepoints."""
    name, *words = args.words if args.words[:1] and args.words[0] in _ALL else ("take", *args.words)
    action = _ALL[name]
    args.pipeline = None
    if len(words) != len(action.words) and not (name == "take" and not words and args.tag):
        raise RequestError(
            f"arroyo savepoint {name} needs {' '.join(action.words)}",
            hint=" ".join(("arroyo savepoint", name, *action.words)),
        )
    check_options(args, name, action.options, _OPTIONS)
    for spelling, word in zip(action.words, words, strict=False):
        setattr(args, spelling.lower(), word)
    return action.run(args)


def _take(args: Namespace) -> int:
    body: dict[str, Json] = {"label": args.label, "reason": args.reason}
    return one_or_several(args, _SAVEPOINT, Change("POST", ("savepoints",), body), lambda: take(args, body))


def take(args: Namespace, body: Mapping[str, Json], timeout: float | None = None) -> int:
    """Request a savepoint, and show the result; with `--dry-run` the effects."""
    if args.dry_run:
        send(args, "POST", path_of(args, "savepoints"), body, describe_savepoint)
        return 0
    client = connect(args)
    begun = client.send("POST", path_of(args, "savepoints"), body)
    answer = until_settled(begun, lambda savepoint: client.get(path_of(args, "savepoints", savepoint)), timeout)
    show(args, answer, describe_savepoint)
    if timeout is not None and _is_pending(answer):
        warn(f"cli.timeout: the savepoint is not complete after {timeout:g} s; it is taken all the same")
    return 0 if isinstance(answer, dict) and answer.get("state") == "completed" else FAILED


def until_settled(
    begun: Json,
    look: Callable[[str], Json],
    timeout: float | None = None,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> Json:
    """Return the requested savepoint, once it is complete or has failed, or its current state at the timeout."""
    answer, begin = begun, clock()
    answered = begin
    while isinstance(answer, dict) and _is_pending(answer):
        if timeout is not None and clock() - begin >= timeout:
            break
        pause(_PAUSE)
        try:
            answer = look(field_of(answer, "id"))
        except EngineError as error:
            if not is_away(error) or clock() - answered > _PATIENCE:
                raise
        else:
            answered = clock()
    return answer


def _is_pending(answer: Json) -> bool:
    return isinstance(answer, dict) and answer.get("state") == "pending"


@errors_shown
def run_list(args: Namespace) -> int:
    """List the savepoints of a pipeline, a line each, newest first."""
    answer = connect(args).get(path_of(args, "savepoints"), {"limit": _MOST})
    if args.json:
        say(json.dumps(answer, indent=2))
        return 0
    head = ("ID", "STATE", "EPOCH", "VERSION", "BYTES", "WATERMARK", "CREATED", "RESTORABLE", "PINNED", "BY", "LABEL")
    named = ("id", "state", "epoch", "version", "bytes")
    say(
        table(
            head,
            [
                (
                    *(row.get(name) for name in named),
                    instant(row.get("watermark")),
                    instant(row.get("created_at")),
                    restorable(row),
                    "yes" if row.get("pinned") else None,
                    row.get("creator"),
                    row.get("label"),
                )
                for row in rows_of(answer)
            ],
        )
    )
    if isinstance(answer, dict) and answer.get("has_more") is True:
        warn(f"these are the newest {_MOST}; there are older ones")
    return 0


_ALL = {
    "take": SavepointAction(("PIPELINE",), ("label", "reason", "dry_run", "tag", "yes", "at_once"), _take),
    "list": SavepointAction(("PIPELINE",), (), run_list),
    **ACTIONS,
}
_SAVEPOINT = BulkVerb("savepoint", lambda _: None, "savepoint requested")
_OPTIONS = tuple(sorted({option for action in _ALL.values() for option in action.options}))

SAVEPOINT = Command(add_arguments, run)
SAVEPOINTS = Command(add_pipeline, run_list)


def add_restore_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_pipeline(parser)
    parser.add_argument("savepoint", help="Restore the savepoint with this id; `arroyo savepoints` lists them")
    parser.add_argument("--with-version", action="store_true", help="Restore the query of the savepoint too")
    parser.add_argument(
        "--allow-replay", action="store_true", help="Accept that output since the savepoint is written again"
    )
    add_wait(parser, "running", "finished", "stopped")
    add_dry_run(parser)


@errors_shown
def run_restore(args: Namespace) -> int:
    """Restore a savepoint; a running job stops first and continues from there."""
    body: dict[str, Json] = {
        "savepoint_id": args.savepoint,
        "allow_replay": args.allow_replay,
        "with_version": args.with_version,
    }
    return change(args, "POST", path_of(args, "restore"), body)


RESTORE = Command(add_restore_arguments, run_restore)


def add_rollback_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_pipeline(parser)
    parser.add_argument("version", type=int, nargs="?", help="Roll back to this version (default: the previous one)")
    parser.add_argument("--to", type=int, metavar="VERSION", help="Set the same value as an option")
    parser.add_argument("--key", help="Set an idempotency key: repeated commands with the same key roll back once")
    add_wait(parser, "running", "finished", "stopped")
    add_dry_run(parser)


@errors_shown
def run_rollback(args: Namespace) -> int:
    """Roll back to an earlier version with its state; a running job stops first and continues from there."""
    version = one_of(args.version, args.to, "a version", "arroyo rollback PIPELINE --to 1")
    body: dict[str, Json] = {} if version is None else {"to": version}
    return change(args, "POST", path_of(args, "rollback"), body, key=args.key, text=_describe)


def _describe(answer: Mapping[str, Json]) -> str:
    return "\n".join((describe(answer), facts(rollback_facts(answer.get("rollback")))))


ROLLBACK = Command(add_rollback_arguments, run_rollback)
