"""Change several pipelines: show them, ask for confirmation, change some at a time, and report each.

Stop 2 of 3 pipelines:
  orders-eu   Running
  orders-old  Stopped  skipped: not running
  orders-us   Running
Continue? [y/N] y
orders-eu: stop requested
orders-us: stop requested
stop: 2 done, 0 failed, 1 skipped
"""

from __future__ import annotations

import json
import sys
import time
from argparse import Namespace
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from engine.cli.base import Client, Json, field_of, is_away, segment
from engine.cli.pipelines.list_pipelines import all_pipelines, chosen, means_several
from engine.cli.remote import FAILED, REFUSED, connect, rows_of, say, table, warn
from engine.cli.waiting import PATIENCE, Goal, describe_effects, verdict
from engine.errors import EngineError, RequestError

_PAUSE = 0.5
_AT_ONCE = 2
RESTING = ("Stopped", "Failed", "Finished")
Row = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Change:
    """A request that changes one pipeline; `below` is the path after the pipeline's own."""

    method: str
    below: tuple[str, ...] = ()
    body: Mapping[str, Json] | None = None
    query: tuple[tuple[str, str], ...] = ()

    def path(self, pipeline: str, *, dry_run: bool = False) -> str:
        """Return the path for a pipeline."""
        query = (*self.query, *((("dry_run", "true"),) if dry_run else ()))
        parts = "/".join(segment(part) for part in (pipeline, *self.below))
        return f"/pipelines/{parts}" + (f"?{urlencode(query)}" if query else "")


@dataclass(frozen=True, slots=True)
class BulkVerb:
    """A verb that can change several pipelines: its name, why it skips one, and what it reports about the others."""

    name: str
    skips: Callable[[Row], str | None]
    done: str


def is_resting(row: Row) -> bool:
    """Whether a pipeline has no active job."""
    return row.get("state") in RESTING


def unless_resting(row: Row) -> str | None:
    """Skip a pipeline that does not run."""
    return "not running" if is_resting(row) else None


def one_or_several(args: Namespace, verb: BulkVerb, change: Change, one: Callable[[], int]) -> int:
    """Change the named pipeline, or all that match the pattern and the tags; return the exit code."""
    if args.pipeline is None and not args.tag:
        raise RequestError(
            f"arroyo {verb.name} needs a pipeline",
            hint=f"arroyo {verb.name} NAME, arroyo {verb.name} 'orders-*' or arroyo {verb.name} --tag team=sales",
        )
    if not means_several(args):
        return one()
    if args.at_once is not None and args.at_once < 1:
        raise RequestError(f"--at-once must be at least 1, but is {args.at_once}")
    client = connect(args)
    rows = chosen(all_pipelines(client), args.pipeline, args.tag or ())
    if not rows:
        raise RequestError("no pipeline matches", hint="`arroyo list` shows names, and `arroyo show NAME` shows tags")
    if not _may_change(args, verb, rows):
        return REFUSED
    return BulkRun(client, verb, change, args).of(rows)


def _may_change(args: Namespace, verb: BulkVerb, rows: Sequence[Row]) -> bool:
    """Show the planned changes, and ask for confirmation."""
    reasons = [verb.skips(row) for row in rows]
    count = sum(reason is None for reason in reasons)
    of_all = f"{count}" if count == len(rows) else f"{count} of {len(rows)}"
    warn(f"{verb.name.capitalize()} {of_all} {'pipeline' if len(rows) == 1 else 'pipelines'}:")
    lines = [
        (f"  {row.get('name')}", row.get("state"), reason and f"skipped: {reason}")
        for row, reason in zip(rows, reasons, strict=True)
    ]
    warn("\n".join(table(("", "", ""), lines).splitlines()[1:]))
    if args.yes or args.dry_run or not count:
        return True
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise RequestError(
            f"arroyo {verb.name} changes several pipelines, and there is no terminal to ask on",
            hint="add --yes, or add --dry-run to see the effects first",
        )
    sys.stderr.write("Continue? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return True
    warn("nothing was changed")
    return False


@dataclass(frozen=True, slots=True)
class _Outcome:
    kind: str
    text: str
    answer: Json = None


@dataclass(slots=True)
class _Active:
    """A pipeline whose change was requested, and has not ended yet."""

    at: int
    look: Callable[[], _Outcome | None]
    begun: float
    answered: float


@dataclass(frozen=True, slots=True)
class BulkRun:
    """Changes pipelines, some at a time. One failure does not prevent the others."""

    client: Client
    verb: BulkVerb
    change: Change
    args: Namespace
    clock: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep

    def of(self, rows: Sequence[Row]) -> int:
        """Change these pipelines and report each; return FAILED if one of them has failed."""
        outcomes: dict[int, _Outcome] = {}
        for at, row in enumerate(rows):
            if reason := self.verb.skips(row):
                outcomes[at] = _Outcome("skipped", reason)
        active: list[_Active] = []
        waiting = deque(at for at in range(len(rows)) if at not in outcomes)
        while waiting or active:
            while waiting and len(active) < (self.args.at_once or _AT_ONCE):
                at = waiting.popleft()
                begun = self._begin(at, rows[at])
                if isinstance(begun, _Active):
                    active.append(begun)
                else:
                    outcomes[at] = self._report(rows[at], begun)
            looked = [(each, self._look(each)) for each in active]
            for each, outcome in looked:
                if outcome is not None:
                    outcomes[each.at] = self._report(rows[each.at], outcome)
            active = [each for each, outcome in looked if outcome is None]
            if active:
                self.pause(_PAUSE)
        return self._end(rows, [outcomes[at] for at in range(len(rows))])

    def _begin(self, at: int, row: Row) -> _Active | _Outcome:
        pipeline = field_of(row, "id")
        path = self.change.path(pipeline, dry_run=self.args.dry_run)
        try:
            answer = self.client.send(self.change.method, path, self.change.body)
            if self.args.dry_run:
                return _Outcome("done", _indented(describe_effects(answer if isinstance(answer, dict) else {})), answer)
            look = self._follower(pipeline, answer)
        except EngineError as error:
            return _Outcome("failed", str(error))
        now = self.clock()
        return _Outcome("done", self.verb.done, answer) if look is None else _Active(at, look, now, now)

    def _follower(self, pipeline: str, answer: Json) -> Callable[[], _Outcome | None] | None:
        """Return a check whether the change has ended; None without `--wait`."""
        if self.change.below == ("savepoints",):
            savepoint = field_of(answer if isinstance(answer, dict) else {}, "id")
            path = f"/pipelines/{segment(pipeline)}/savepoints/{segment(savepoint)}"
            return lambda: _savepoint_outcome(self.client.get(path))
        goal: Goal | None = getattr(self.args, "wait", None)
        if goal is None:
            return None
        jobs = f"/pipelines/{segment(pipeline)}/jobs"
        return lambda: _job_outcome(goal, self.client.get(jobs))

    def _look(self, active: _Active) -> _Outcome | None:
        now = self.clock()
        try:
            outcome = active.look()
        except EngineError as error:
            if not is_away(error) or now - active.answered > PATIENCE:
                return _Outcome("failed", str(error))
            outcome = None
        else:
            active.answered = now
        limit: float | None = getattr(self.args, "timeout", None)
        if outcome is None and limit is not None and now - active.begun >= limit:
            return _Outcome("failed", f"cli.timeout: not done after {limit:g} s; the control plane continues")
        return outcome

    def _report(self, row: Row, outcome: _Outcome) -> _Outcome:
        """Print the line of a pipeline."""
        space = "" if outcome.text.startswith("\n") else " "
        line = f"{row.get('name')}:{space}{outcome.text}"
        if outcome.kind == "failed":
            warn(line)
        elif not self.args.json:
            say(line)
        return outcome

    def _end(self, rows: Sequence[Row], outcomes: Sequence[_Outcome]) -> int:
        """Print the totals, and return the exit code."""
        if self.args.json:
            named = zip(rows, outcomes, strict=True)
            say(json.dumps({"data": [_as_json(row, outcome) for row, outcome in named]}, indent=2))
        counts = {kind: sum(each.kind == kind for each in outcomes) for kind in ("done", "failed", "skipped")}
        dry = " (dry run: nothing was changed)" if self.args.dry_run else ""
        warn(f"{self.verb.name}: " + ", ".join(f"{count} {kind}" for kind, count in counts.items()) + dry)
        return FAILED if counts["failed"] else 0


def _as_json(row: Row, outcome: _Outcome) -> dict[str, Json]:
    detail = {} if outcome.kind == "done" else {"detail": outcome.text}
    return {"name": row.get("name"), "id": row.get("id"), "outcome": outcome.kind, **detail, "answer": outcome.answer}


def _indented(text: str) -> str:
    return "".join(f"\n  {line}" for line in text.splitlines())


def _savepoint_outcome(answer: Json) -> _Outcome | None:
    savepoint = answer if isinstance(answer, dict) else {}
    match savepoint.get("state"):
        case "pending":
            return None
        case "completed":
            text = f"savepoint {savepoint.get('id')} completed at epoch {savepoint.get('epoch')}"
            return _Outcome("done", text, answer)
    return _Outcome("failed", f"the savepoint failed: {savepoint.get('failure_message') or 'no cause was reported'}")


def _job_outcome(goal: Goal, answer: Json) -> _Outcome | None:
    jobs: Iterable[dict[str, Json]] = rows_of(answer)[:1]
    for job in jobs:
        match verdict(goal, job):
            case False:
                return None
            case str(complaint):
                return _Outcome("failed", complaint)
            case _:
                return _Outcome("done", field_of(job, "state"), job)
    return None
