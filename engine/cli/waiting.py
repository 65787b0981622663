"""`--wait` of verbs that take time: poll the job until it has the desired state.

    arroyo deploy orders.sql --wait

    orders: Created
    orders: Scheduling, starting Java
    orders: Scheduling, first epoch
    orders: Running

On a terminal this is one line that is rewritten. The job continues, however the wait ends.

Long polling: send a request that the control plane may hold, again and again until a deadline.

A restart of the control plane does not end a wait of hours. But if it has never responded, the address is wrong, and
that is reported at once.

Poll for new items, and wait while the control plane restarts.

    after 5                       6 and 7, and there is more
    at once, after 7              8
    a second later, after 8       no response
    a second later, after 8       9
"""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TextIO, TypeVar
from urllib.parse import urlencode

from engine.cli.base import Client, Json, RefusedError, field_of, is_away
from engine.cli.remote import FAILED, connect, describe, facts, rows_of, say, seconds, show, warn, warn_of_remarks
from engine.errors import EngineError, PipelineDeletedError

Goal = Literal["running", "finished", "stopped"]
_PAUSE = 0.5


def add_wait(parser: ArgumentParser, *goals: Goal) -> None:
    """Add the arguments that make a verb wait; the default goal is the first."""
    text = f"Wait until the job is {' or '.join(goals)}, and show its progress"
    default = f" (default: {goals[0]})" if len(goals) > 1 else ""
    parser.add_argument("--wait", nargs="?", const=goals[0], choices=goals, help=text + default)
    parser.add_argument("--timeout", type=seconds, metavar="SECONDS", help="Wait at most this long (default: no limit)")


def change(
    args: Namespace,
    method: str,
    path: str,
    body: Mapping[str, Json] | None,
    *,
    key: str | None = None,
    text: Callable[[Mapping[str, Json]], str] = describe,
) -> int:
    """Send a change of a pipeline and show its answer as `text` formats it, after the wait if one is requested."""
    if args.dry_run or args.wait is None:
        send(args, method, path, body, text, key=key)
        return 0
    client = connect(args)
    answer = client.send(method, path, body, key=key)
    warn_of_remarks(answer)
    fields = answer if isinstance(answer, dict) else {}
    return wait(args, client, OnePipeline(field_of(fields, "name"), field_of(fields, "id")))


def wait(args: Namespace, client: Client, pipeline: OnePipeline) -> int:
    """Wait for the goal of the arguments, and show the pipeline afterwards."""
    tasks: int | None = args.parallelism if "parallelism" in args else None

    def look() -> Json:
        return pipeline.read(lambda place: client.get(f"/pipelines/{place}/jobs"))

    complaint = JobWatch(args.wait, look, tasks=tasks, timeout=args.timeout).until_end()
    answer = pipeline.read(lambda place: client.get(f"/pipelines/{place}"))
    if args.json:
        say(json.dumps(answer, indent=2))
    elif isinstance(answer, dict):
        say(describe(answer))
    if complaint is not None:
        warn(complaint)
    return 0 if complaint is None else FAILED


def verdict(goal: Goal, job: Mapping[str, Json], tasks: int | None = None) -> str | bool:
    """Whether the job has reached the requested state, with the requested number of tasks; if it stays in another
    state, return an explanation. While a requested change is pending, its state means nothing."""
    state = field_of(job, "state")
    if job.get("settled") is False:
        return False
    if state == "Running" and tasks is not None and job.get("tasks") != tasks:
        return f"pipeline.not_rescaled: the job goes on with parallelism {job.get('tasks')}; `arroyo events` says why"
    if state.lower() == goal or state == "Finished":
        return True
    match state:
        case "Failed" if goal == "stopped":
            return True
        case "Failed":
            hint = f"\n  hint: {job['failure_hint']}" if job.get("failure_hint") else ""
            return f"{job.get('failure_code') or 'pipeline.failed'}: {job.get('failure_message')}{hint}"
        case "Stopped":
            return f"pipeline.stopped: the job was stopped before it was {goal}"
        case _ if goal == "stopped" and job.get("settled") is True:
            return f"pipeline.not_stopped: the job is {state}, and no stop was requested; it keeps running"
    return False


def progress_of(job: Mapping[str, Json]) -> str:
    """Describe what a job is doing, in a line."""
    state, step, failure = field_of(job, "state"), job.get("step"), job.get("failure_code")
    if job.get("blocked"):
        return f"{state}, blocked by {failure}"
    if state == "Recovering" and failure:
        return f"{state} after {failure}"
    return f"{state}, {step}" if step else state


@dataclass(slots=True)
class ProgressLine:
    """A line that is rewritten on a terminal; elsewhere each new text is a line."""

    stream: TextIO = field(default_factory=lambda: sys.stderr)
    _shown: str = ""

    def show(self, text: str) -> None:
        """Show the current progress."""
        if text == self._shown:
            return
        self._shown = text
        self.stream.write(f"\r\033[K{text}" if self.stream.isatty() else f"{text}\n")
        self.stream.flush()

    def end(self) -> None:
        """Leave the last text; the next output begins on a new line."""
        if self._shown and self.stream.isatty():
            self.stream.write("\n")
        self._shown = ""


@dataclass(slots=True)
class JobWatch:
    """Polls a job until it has the desired state."""

    goal: Goal
    look: Callable[[], Json]
    """Requests the jobs of the pipeline."""
    tasks: int | None = None
    timeout: float | None = None
    line: ProgressLine = field(default_factory=ProgressLine)
    clock: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep

    def until_end(self) -> str | None:
        """Wait for the goal; return None if the job has reached it, else the reason why not."""
        begin = answered = self.clock()
        try:
            while True:
                now = self.clock()
                try:
                    [job] = rows_of(self.look())[:1] or [{}]
                except EngineError as error:
                    if not is_away(error) or now - answered > PATIENCE:
                        raise
                    self.line.show(f"the control plane does not answer: {error.message}")
                else:
                    answered = now
                    self.line.show(progress_of(job))
                    if (reached := verdict(self.goal, job, self.tasks)) is not False:
                        return reached if isinstance(reached, str) else None
                if self.timeout is not None and now - begin >= self.timeout:
                    return f"cli.timeout: the job is not {self.goal} after {self.timeout:g} s; it goes on"
                self.pause(_PAUSE)
        finally:
            self.line.end()


@dataclass(slots=True)
class OnePipeline:
    """Reads a pipeline that was named again and again, always the same: by the id in its first answer."""

    name: str
    id: str | None = None

    def read(self, ask: Callable[[str], Json]) -> Json:
        """Return the answer about the pipeline; raise PipelineDeletedError if it was deleted since the first one."""
        try:
            answer = ask(self.id or self.name)
        except RefusedError as error:
            if self.id is None or error.problem_code not in ("pipeline.not_found", "pipeline.deleted"):
                raise
            raise PipelineDeletedError(
                f"pipeline {self.name!r} ({self.id}) was deleted while this command waited for it",
                hint="`arroyo list` shows whether there is another one of this name",
            ) from error
        if self.id is None and isinstance(answer, dict) and isinstance(found := answer.get("pipeline_id"), str):
            self.id = found
        return answer


def add_dry_run(parser: ArgumentParser) -> None:
    """Add the argument for a dry run."""
    parser.add_argument("--dry-run", action="store_true", help="Show the effects and change nothing")


def send(
    args: Namespace,
    method: str,
    path: str,
    body: Mapping[str, Json] | None,
    describe: Callable[[Mapping[str, Json]], str],
    key: str | None = None,
    query: Mapping[str, str] | None = None,
) -> None:
    """Send a change and show its answer, or with `--dry-run` what it would do."""
    if args.dry_run:
        show(
            args,
            connect(args).send(method, f"{path}?{urlencode({**(query or {}), 'dry_run': 'true'})}", body),
            describe_effects,
        )
    else:
        show(args, connect(args).send(method, path, body, key=key), describe)


def describe_effects(effects: Mapping[str, Json]) -> str:
    """Describe the effects, a line for each kind, and the upgrade plan if another query takes over a state."""
    pause = effects.get("pause_micros")
    both = effects.get("stops") and effects.get("starts")
    length = f"about {pause / 1_000_000:.0f} s" if isinstance(pause, int) else "unknown"
    named = ("kept", "lost", "repeated", "voided")
    lists: list[tuple[str, object]] = [(name, _listed(effects.get(name))) for name in named]
    told = facts(
        [
            ("stops", "yes" if effects.get("stops") else "no"),
            ("starts", "yes" if effects.get("starts") else "no"),
            ("pause", length if both else None),
            *lists,
            *rollback_facts(effects.get("rollback")),
        ]
    )
    plan = effects.get("upgrade")
    return f"{told}\n\n{str(plan['text']).rstrip()}" if isinstance(plan, dict) else told


def rollback_facts(rollback: Json) -> list[tuple[str, object]]:
    """Return the target of a rollback, and the sinks that stay ahead."""
    if not isinstance(rollback, dict):
        return []
    savepoint = rollback.get("savepoint_id")
    state = f"savepoint {savepoint}, epoch {rollback.get('epoch')}" if savepoint else "goes on: the plan is the same"
    ahead = rollback.get("ahead")
    sinks = [_ahead(sink) for sink in ahead if isinstance(sink, dict)] if isinstance(ahead, list) else []
    return [("back to", f"version {rollback.get('version')}"), ("state", state), *(("ahead", sink) for sink in sinks)]


def _ahead(sink: Mapping[str, Json]) -> str:
    epochs = "an unknown number of" if sink.get("epochs") is None else sink["epochs"]
    rows = "" if sink.get("rows") is None else f", {sink['rows']} rows"
    return f"{sink.get('table')} ({sink.get('connector')}) by {epochs} epochs{rows}, which cannot be taken back"


def _listed(entries: Json) -> str | None:
    return ", ".join(map(str, entries)) or None if isinstance(entries, list) else None


HOLD = 25.0
"""Seconds for which one request is held; proxies often cut connections that are silent for longer than thirty."""
PATIENCE = 30.0
"""Seconds that the control plane may be unreachable: a restart takes less."""


@dataclass(slots=True)
class LongPoll:
    """Sends requests until a response is final, or the deadline has passed; returns the last response."""

    ask: Callable[[float], Json]
    """Sends one request; the server may hold it for the given number of seconds."""
    timeout: float
    clock: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep

    def until(self, is_last: Callable[[Json], bool]) -> Json:
        """Wait for the last answer."""
        end, answered = self.clock() + self.timeout, None
        while True:
            try:
                answer = self.ask(max(0.0, min(HOLD, end - self.clock())))
            except EngineError as error:
                now = self.clock()
                if answered is None or not is_away(error) or now >= end or now - answered > PATIENCE:
                    raise
                self.pause(_PAUSE)
                continue
            answered = self.clock()
            if is_last(answer) or answered >= end:
                return answer


_PAUSE_FOLLOWING = 1.0
_PATIENCE = 30.0
"""Seconds that the control plane may be unreachable."""
MOST = 1000
"""Largest page."""

CursorT = TypeVar("CursorT", int, str)


@dataclass(frozen=True, slots=True)
class Follower(Generic[CursorT]):
    """Polls for items after a cursor, as long as there is one."""

    look: Callable[[CursorT], Json]
    clock: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep

    def answers(
        self, after: CursorT | None, cursor_of: Callable[[dict[str, Json], CursorT], CursorT | None]
    ) -> Iterator[dict[str, Json]]:
        """Yield the answers that follow a cursor; `cursor_of` returns where each of them ends, and None at the end of
        all."""
        answered, is_behind = self.clock(), False
        while after is not None:
            if not is_behind:
                self.pause(_PAUSE_FOLLOWING)
            try:
                answer = self.look(after)
            except EngineError as error:
                if not is_away(error) or self.clock() - answered > _PATIENCE:
                    raise
                is_behind = False
                continue
            answered = self.clock()
            fields = answer if isinstance(answer, dict) else {}
            yield fields
            is_behind = bool(fields.get("has_more"))
            after = cursor_of(fields, after)
