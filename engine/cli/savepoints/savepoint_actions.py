"""`arroyo savepoint ACTION PIPELINE ...`: operations on savepoints other than taking one."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from engine.cli.base import Json, field_of
from engine.cli.remote import FAILED, connect, facts, instant, path_of, say, show, table
from engine.errors import RequestError
from engine.values.durations import read_duration

_PAUSE = 0.5
_RULES = ("keep_last", "daily", "weekly", "max_age", "upgrades_for", "time_zone")


@dataclass(frozen=True, slots=True)
class SavepointAction:
    """An operation: its arguments, its options, and its function."""

    words: tuple[str, ...]
    options: tuple[str, ...]
    run: Callable[[Namespace], int]


def add_options(parser: ArgumentParser) -> None:
    """Add the options of all actions; `check_options` refuses those of another one."""
    for name, what in (("--keep-last", "savepoints"), ("--daily", "days"), ("--weekly", "weeks")):
        which = "the newest ones" if what == "savepoints" else f"the last one of each of so many {what} that have one"
        parser.add_argument(name, type=int, metavar="N", help=f"Keep {which} (retention, schedule, prune)")
    parser.add_argument(
        "--max-age",
        metavar="DURATION",
        help="Delete savepoints older than this, such as '30 days' (retention, schedule, prune)",
    )
    parser.add_argument(
        "--upgrades-for",
        metavar="DURATION",
        help="Keep savepoints taken before an upgrade this long (retention, schedule, prune; default: forever)",
    )
    parser.add_argument("--time-zone", metavar="ZONE", help="Set the time zone (default: UTC)")
    parser.add_argument(
        "--drill",
        action="store_true",
        help="Test the restore: read all state in a scratch directory (verify; schedule: each savepoint)",
    )
    base = "Upload only files that the earlier export at PLACE lacks; each export stays complete (export)"
    parser.add_argument("--base", metavar="PLACE", help=base)
    parser.add_argument(
        "--cron", metavar="FIELDS", help="Take savepoints at these times, such as '30 2 * * *' (schedule)"
    )
    parser.add_argument(
        "--blackout",
        action="append",
        metavar="WINDOW",
        help="Take no savepoints in this window, such as 'mon-fri 09:00-17:00'; may be repeated (schedule)",
    )
    parser.add_argument("--pause", action="store_true", help="Pause the schedule (schedule)")
    parser.add_argument("--resume", action="store_true", help="Resume a paused schedule (schedule)")
    parser.add_argument("--never", action="store_true", help="Remove the schedule (schedule)")
    parser.add_argument(
        "--keep-all", action="store_true", help="Remove the retention rules; keep all savepoints (retention)"
    )


def check_options(args: Namespace, name: str, allowed: tuple[str, ...], names: tuple[str, ...]) -> None:
    """Refuse an option that an action does not have, instead of ignoring it."""
    for option in names:
        if getattr(args, option) not in (None, False) and option not in allowed:
            spelling = "--" + option.replace("_", "-")
            raise RequestError(
                f"{spelling} is not for arroyo savepoint {name}", hint="`arroyo savepoint --help` says what each is for"
            )


def describe_savepoint(savepoint: Mapping[str, Json]) -> str:
    """Return a savepoint, a fact a line."""
    return facts(
        [
            ("id", field_of(savepoint, "id")),
            *((name, savepoint.get(name)) for name in ("label", "state", "epoch", "version")),
            ("watermark", instant(savepoint.get("watermark"))),
            ("bytes", savepoint.get("bytes")),
            ("path", savepoint.get("path")),
            ("created", instant(savepoint.get("created_at"))),
            ("by", savepoint.get("creator")),
            ("reason", savepoint.get("reason")),
            ("pinned", "yes" if savepoint.get("pinned") else None),
            ("restorable", restorable(savepoint)),
            ("failure", savepoint.get("failure_message")),
        ]
    )


def restorable(savepoint: Mapping[str, Json]) -> str | None:
    """Describe whether a savepoint can be restored, as far as that was tested."""
    if savepoint.get("state") != "completed":
        return None
    if damage := savepoint.get("damage"):
        return f"damaged: {damage}"
    if proven := instant(savepoint.get("proven_at")):
        return f"proven {proven}"
    if verified := instant(savepoint.get("verified_at")):
        return f"whole {verified}"
    return "not verified"


def _savepoint_path(args: Namespace) -> str:
    return path_of(args, "savepoints", args.savepoint)


def _show(args: Namespace) -> int:
    show(args, connect(args).get(_savepoint_path(args)), describe_savepoint)
    return 0


def _pin(args: Namespace) -> int:
    show(args, connect(args).send("PATCH", _savepoint_path(args), {"pinned": True}), describe_savepoint)
    return 0


def _unpin(args: Namespace) -> int:
    show(args, connect(args).send("PATCH", _savepoint_path(args), {"pinned": False}), describe_savepoint)
    return 0


def _delete(args: Namespace) -> int:
    connect(args).send("DELETE", _savepoint_path(args), None)
    if not args.json:
        say(f"{args.savepoint} is deleted")
    return 0


def _prune(args: Namespace) -> int:
    path = path_of(args, "savepoints", "prune") + ("?dry_run=true" if args.dry_run else "")
    show(args, connect(args).send("POST", path, _rules(args) or None), _fates)
    return 0


def _retention(args: Namespace) -> int:
    client, path, rules = connect(args), path_of(args, "savepoint-retention"), _rules(args)
    if args.keep_all and rules:
        raise RequestError("--keep-all leaves no rule", hint="leave it out, or the rules")
    if args.keep_all:
        answer = client.send("DELETE", path, None)
    else:
        answer = client.send("PUT", path, rules) if rules else client.get(path)
    show(args, answer, _describe_rules)
    return 0


def _rules(args: Namespace) -> dict[str, Json]:
    """Return the body that the options make."""
    rules: dict[str, Json] = {
        name: getattr(args, name)
        for name in ("keep_last", "daily", "weekly", "time_zone")
        if getattr(args, name) is not None
    }
    for name in ("max_age", "upgrades_for"):
        if (text := getattr(args, name)) is not None:
            rules[f"{name}_micros"] = read_duration(text) // timedelta(microseconds=1)
    return rules


def _schedule(args: Namespace) -> int:
    client, path, rules = connect(args), path_of(args, "savepoint-schedule"), _rules(args)
    if args.cron is not None and args.never:
        raise RequestError("--never leaves no --cron", hint="leave one of them out")
    if args.pause or args.resume:
        if args.pause == args.resume or args.cron or args.never or args.blackout or args.drill or rules:
            raise RequestError("--pause and --resume change nothing else", hint="give one of them by itself")
        show(args, client.send("PUT", path, _as_it_is(client.get(path), args.pause)), _describe_schedule)
        return 0
    if args.cron is None and (rules or args.blackout or args.drill):
        raise RequestError("a schedule needs its instants", hint="give --cron '30 2 * * *' and all else that is wanted")
    if args.never:
        answer = client.send("DELETE", path, None)
    elif args.cron is None:
        answer = client.get(path)
    else:
        body: dict[str, Json] = {"cron": args.cron, "blackout": args.blackout or [], "drill": args.drill}
        if args.time_zone is not None:
            body["time_zone"] = args.time_zone
        if rules.keys() - {"time_zone"}:
            body["retention"] = rules
        answer = client.send("PUT", path, body)
    show(args, answer, _describe_schedule)
    return 0


def _as_it_is(schedule: Json, is_paused: bool) -> dict[str, Json]:
    """Return the body for the same schedule, paused or not."""
    known = _as_object(schedule)
    if known.get("cron") is None:
        raise RequestError("the pipeline has no schedule", hint="give one with --cron '30 2 * * *'")
    return {**{name: known.get(name) for name in ("cron", "time_zone", "blackout", "drill")}, "paused": is_paused}


def _describe_schedule(schedule: Mapping[str, Json]) -> str:
    kept = _describe_rules(_as_object(schedule.get("retention")))
    if schedule.get("cron") is None:
        return f"no savepoints are taken by themselves\n{kept}"
    last, blackout = _as_object(schedule.get("last")), schedule.get("blackout")
    said = [instant(last.get("at")), *(last.get(name) for name in ("state", "savepoint", "reason"))]
    rows: list[tuple[str, object]] = [
        ("cron", schedule.get("cron")),
        ("time zone", schedule.get("time_zone")),
        ("blackout", ", ".join(map(str, blackout)) if isinstance(blackout, list) and blackout else None),
        ("drill", "yes" if schedule.get("drill") else "no"),
        ("next", "none, it is paused" if schedule.get("paused") else instant(schedule.get("next_at"))),
        ("last", " ".join(str(word) for word in said if word is not None) or None),
    ]
    return f"{facts(rows)}\n{kept}"


def _describe_rules(rules: Mapping[str, Json]) -> str:
    shown: list[tuple[str, object]] = [
        ("keep last", rules.get("keep_last")),
        ("daily", rules.get("daily")),
        ("weekly", rules.get("weekly")),
        ("max age", _length(rules.get("max_age_micros"))),
        ("upgrades for", _length(rules.get("upgrades_for_micros"))),
    ]
    if all(value is None for _, value in shown):
        return "all savepoints are kept"
    return facts([*shown, ("time zone", rules.get("time_zone"))])


def _length(micros: Json) -> str | None:
    return str(timedelta(microseconds=micros)) if isinstance(micros, int) else None


def _fates(answer: Mapping[str, Json]) -> str:
    listed = answer.get("fates")
    rows = [fate for fate in listed if isinstance(fate, dict)] if isinstance(listed, list) else []
    goes = "would go" if answer.get("dry_run") else "is deleted"
    lines = [(fate.get("id"), goes if fate.get("goes") else "stays", fate.get("reason")) for fate in rows]
    return table(("ID", "", "WHY"), lines)


def _verify(args: Namespace) -> int:
    return _task(args, _savepoint_path(args) + "/verify" + ("?drill=true" if args.drill else ""), None)


def _export(args: Namespace) -> int:
    return _task(
        args, _savepoint_path(args) + "/export", {"place": args.place, **({"base": args.base} if args.base else {})}
    )


def _import(args: Namespace) -> int:
    client = connect(args)
    answer = client.send("POST", path_of(args, "savepoints", "import"), {"place": args.place, "label": args.label})
    while _task_state(answer) == "running":
        time.sleep(_PAUSE)
        answer = client.get(path_of(args, "savepoint-imports", field_of(_as_object(answer), "id")))
    if args.json:
        show(args, answer, str)
    else:
        savepoint = _as_object(_as_object(answer).get("savepoint"))
        say(_describe_task({**savepoint, "id": _as_object(answer).get("id"), "task": _as_object(answer).get("task")}))
    return 0 if _task_state(answer) == "done" else FAILED


def _task(args: Namespace, path: str, body: Mapping[str, Json] | None) -> int:
    """Request a task that may take minutes, wait until it has ended, and show the result."""
    client = connect(args)
    answer = client.send("POST", path, body)
    while _task_state(answer) == "running":
        time.sleep(_PAUSE)
        answer = client.get(path_of(args, "savepoints", field_of(_as_object(answer), "id")))
    show(args, answer, _describe_task)
    return 0 if _task_state(answer) == "done" else FAILED


def _task_state(answer: Json) -> str | None:
    task = _as_object(answer).get("task")
    return str(task.get("state")) if isinstance(task, dict) else None


def _as_object(answer: Json) -> Mapping[str, Json]:
    return answer if isinstance(answer, dict) else {}


def _describe_task(savepoint: Mapping[str, Json]) -> str:
    task = savepoint.get("task")
    lost = "the control plane has ended meanwhile; ask again"
    said = [(str(task.get("kind")), task.get("message"))] if isinstance(task, dict) else [("unknown", lost)]
    return "\n".join((describe_savepoint(savepoint), facts(said)))


ACTIONS: Mapping[str, SavepointAction] = {
    "show": SavepointAction(("PIPELINE", "SAVEPOINT"), (), _show),
    "verify": SavepointAction(("PIPELINE", "SAVEPOINT"), ("drill",), _verify),
    "export": SavepointAction(("PIPELINE", "SAVEPOINT", "PLACE"), ("base",), _export),
    "import": SavepointAction(("PIPELINE", "PLACE"), ("label",), _import),
    "pin": SavepointAction(("PIPELINE", "SAVEPOINT"), (), _pin),
    "unpin": SavepointAction(("PIPELINE", "SAVEPOINT"), (), _unpin),
    "delete": SavepointAction(("PIPELINE", "SAVEPOINT"), (), _delete),
    "prune": SavepointAction(("PIPELINE",), (*_RULES, "dry_run"), _prune),
    "retention": SavepointAction(("PIPELINE",), (*_RULES, "keep_all"), _retention),
    "schedule": SavepointAction(
        ("PIPELINE",), (*_RULES, "cron", "blackout", "drill", "pause", "resume", "never"), _schedule
    ),
}
"""Operations besides `take`, in the order of the help."""
