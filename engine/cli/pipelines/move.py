"""`arroyo move`: move a pipeline to another control plane step by step; the same command resumes, or reverts.

    source              target               after a crash at this point
    check               check                nothing has happened
    stop                                     it is stopped; the same command continues, --take-back restarts it here
    export              import               the same
    release                                  it can only run at the target: the same command starts it
                        start                it runs at the target
    over                                     done

The records of the control planes are in `engine/store/pipelines/moves.py`. The command stores nothing.
"""

from __future__ import annotations

import os
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from engine.cli.base import Client, Command, Json, RefusedError, field_of, is_away, segment
from engine.cli.pipelines.deploy import secret_part
from engine.cli.remote import FAILED, REFUSED, add_pipeline, connect, errors_shown, path_of, rows_of, say, seconds, warn
from engine.errors import EngineError, RequestError, UnreachableError

_PAUSE = 0.25
_TOKEN = "ARROYO_TO_TOKEN"  # noqa: S105 - the name of a variable
_BUSY = "pipeline.busy"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_pipeline(parser)
    parser.add_argument("--to", required=True, metavar="URL", help="Move it to the control plane at this URL")
    token = f"Send this token to that control plane (default: {_TOKEN})"
    parser.add_argument("--to-token", metavar="TOKEN", help=token)
    via = "Transfer the state through this location, which both control planes can access: file:///folder or s3://bucket/prefix"
    parser.add_argument("--via", metavar="PLACE", help=via)
    secrets = "Set a secret there, as `deploy` does, since secrets are never exported; may be repeated"
    parser.add_argument("--secret", action="append", default=[], metavar="NAME[=FILE]", help=secrets)
    parser.add_argument(
        "--take-back", action="store_true", help="Cancel the move, if the pipeline has not started there"
    )
    parser.add_argument(
        "--timeout", type=seconds, default=600.0, help="Wait at most this many seconds for each step (default: 600)"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="Show the effects on both control planes and change nothing"
    )


@dataclass(frozen=True, slots=True)
class _Move:
    """A running move, with the responses of both control planes."""

    here: Client
    there: Client
    path: str
    """Path of the pipeline at the source."""
    secrets: Mapping[str, Json]
    timeout: float

    def departure(self) -> dict[str, Any] | None:
        """Return the record of the export at this control plane."""
        answer = _object(self.here.get(f"{self.path}/departure"))
        field_of(answer, "data")
        newest = next(iter(rows_of(answer)), None)
        if newest is not None:
            field_of(newest, "step")
        return newest

    def tell_here(self, action: str) -> dict[str, Any]:
        """Take the next step here."""
        return _object(self.here.send("POST", f"{self.path}/departure/{action}", None))

    def request(self, departure: Mapping[str, Any]) -> dict[str, Json]:
        """Return the import request for the other control plane."""
        return {
            "passport": departure["passport"],
            "place": departure["place"],
            "origin": self.here.url,
            "secrets": dict(self.secrets),
        }

    def until(self, look: Callable[[], dict[str, Any]], holds: Callable[[dict[str, Any]], bool], what: str) -> Any:
        """Poll until the condition is met; raise if a task fails."""
        end = time.monotonic() + self.timeout
        while True:
            try:
                seen = look()
            except RefusedError as error:
                if error.problem_code != _BUSY or time.monotonic() > end:
                    raise
            else:
                if holds(seen):
                    return seen
                task = seen.get("task")
                if isinstance(task, dict) and task.get("state") == "failed":
                    raise RequestError(f"{what}: {task.get('message')}")
                if time.monotonic() > end:
                    raise UnreachableError(f"{what} takes too long", hint="the same command goes on with it")
            time.sleep(_PAUSE)


@errors_shown
def run(args: Namespace) -> int:
    """Stop a pipeline, move its whole state to another control plane, and start it there where it stopped."""
    token = args.to_token or os.environ.get(_TOKEN, "")
    secrets = dict(secret_part(text) for text in args.secret)
    move = _Move(connect(args), Client(args.to, token), path_of(args), secrets, args.timeout)
    departure = move.departure()
    if args.take_back:
        return _take_back(move, departure)
    if departure is None or (departure["step"] == "over" and departure["to"] != args.to):
        departure = _begin(move, args)
        if departure is None:
            return 0
    elif departure["to"] != args.to:
        raise RequestError(f"it is being moved to {departure['to']}", hint="finish that, or take it back")
    try:
        departure = _carry(move, departure)
    except EngineError as error:
        if is_away(error) or isinstance(error, UnreachableError):
            raise
        return _give_up(move, error)
    return _start_there(move, departure)


def _begin(move: _Move, args: Namespace) -> dict[str, Any] | None:
    """Check the move at both control planes, then request the stop; return None if nothing is to be done."""
    if args.via is None:
        raise RequestError(
            "a move needs a place for the state", hint="name one that both reach: --via s3://bucket/prefix"
        )
    body: dict[str, Json] = {"to": args.to, "place": args.via}
    shown = _object(move.here.send("POST", f"{move.path}/departure?dry_run=true", body))
    welcome = _object(move.there.send("POST", "/arrivals/check", move.request(shown)))
    name = shown["passport"]["name"]
    if args.dry_run:
        say(f"{name} would stop here and go on at {args.to} as version {shown['passport']['version']}")
        for target in welcome.get("targets", []):
            say(f"  it would write {target} from there")
        say("savepoints stay here, and so do its logs and its history")
        return None
    return _object(move.here.send("POST", f"{move.path}/departure", body))


def _carry(move: _Move, departure: dict[str, Any]) -> dict[str, Any]:
    """Import the pipeline there without starting it, and release it here."""
    name = departure["passport"]["name"]
    if departure["step"] == "leaving":
        say(f"{name} stops")
        move.until(lambda: _job(move), _rests, f"the stop of {name}")
        departure = move.until(
            lambda: move.tell_here("export"), lambda seen: seen["step"] != "leaving", f"the export of {name}"
        )
        say(f"its state is at {departure['place']}")
    if departure["step"] == "exported":
        request = move.request(departure)
        move.until(
            lambda: _object(move.there.send("POST", "/arrivals", request)),
            lambda seen: seen["step"] is not None,
            f"the import of {name}",
        )
        departure = move.tell_here("release")
        say(f"{name} is at {departure['to']}, and runs here no more")
    return departure


def _rests(job: Mapping[str, Any]) -> bool:
    if job["state"] in ("Failed", "Finished"):
        raise RequestError(f"it is {job['state']} and not stopped", hint="see its events; then move it")
    return bool(job["state"] == "Stopped")


def _start_there(move: _Move, departure: dict[str, Any]) -> int:
    passport = departure["passport"]
    if departure["step"] == "over":
        say(f"{passport['name']} has moved to {departure['to']}")
        return 0
    path = f"/arrivals/{segment(passport['pipeline_id'])}"
    move.there.send("POST", f"{path}/start", {"key": departure["key"]})

    def look() -> dict[str, Any]:
        seen = _object(move.there.get(path))
        if seen["state"] == "Failed":
            raise RequestError(
                f"{passport['name']} fails at {departure['to']}",
                hint="see its events there; the same command finishes the move, and --take-back lets it go on here, "
                "unless it has begun to work there",
            )
        return seen

    move.until(look, lambda seen: bool(seen["is_up"]), f"the start of {passport['name']} there")
    move.tell_here("over")
    say(f"{passport['name']} goes on at {departure['to']}; `arroyo delete {passport['name']}` forgets it here")
    return 0


def _take_back(move: _Move, departure: dict[str, Any] | None) -> int:
    """Undo the import there, then let the pipeline run here."""
    if departure is None:
        return _clear_there(move)
    passport = departure["passport"]
    path = f"/arrivals/{segment(passport['pipeline_id'])}"
    is_given = departure["step"] in ("released", "over")
    if is_given and _object(move.there.get(path))["step"] == "started":
        move.there.send("PATCH", f"/pipelines/{segment(passport['pipeline_id'])}", {"stop": "force"})
    if departure["step"] != "leaving":
        move.until(lambda: {"done": move.there.send("DELETE", path, None)}, lambda _: True, "the way back")
    move.here.send("DELETE", f"{move.path}/departure" + ("?removed_there=true" if is_given else ""), None)
    say(f"{passport['name']} stays here" + (", and runs again" if passport["runs"] else ""))
    return 0


def _clear_there(move: _Move) -> int:
    """Undo an import of a move that was cancelled here meanwhile, and so can never run."""
    pipeline = _object(move.here.get(move.path))
    path = f"/arrivals/{segment(field_of(pipeline, 'id'))}"
    if _object(move.there.get(path)).get("step") != "arrived":
        raise RequestError("the pipeline does not move", hint="there is nothing to take back")
    move.there.send("DELETE", path, None)
    say(f"{pipeline['name']} stays here; what had come there of it is removed")
    return 0


def _give_up(move: _Move, error: EngineError) -> int:
    """Undo the move after an error, unless the pipeline was already given away."""
    departure = move.departure()
    warn(str(error))
    if departure is None or departure["step"] not in ("leaving", "exported"):
        return REFUSED
    try:
        _take_back(move, departure)
    except EngineError as other:
        warn(str(other))
        warn("it stands; the same command goes on, and --take-back lets it run here")
        return FAILED
    return REFUSED


def _job(move: _Move) -> dict[str, Any]:
    jobs = _object(move.here.get(f"{move.path}/jobs"))["data"]
    return _object(jobs[0])


def _object(answer: Json) -> dict[str, Any]:
    if not isinstance(answer, dict):
        raise UnreachableError("what answers is no control plane", hint="name the address of a control plane")
    return answer


MOVE = Command(add_arguments, run)
