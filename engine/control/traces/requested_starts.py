"""Deployment that has requested the start of a run, for its trace. In memory, until the run has started: after a
restart of the control plane the start is a trace of its own.

    05:29:57    a deployment of orders makes version 2, and requests a start
    05:29:58    run 3 of orders is launched: the requested one
    05:30:09    its first epoch: its start is part of the deployment's trace
    05:41:00    run 3 dies, run 4 is launched: not requested

Spans of operations of the control plane, built afterwards from recorded figures.

    epoch 7     05:29:57.5 to 05:30:00       begin and end are in the report
      find      100 ms from 05:29:57.5       phases are consecutive, as in Spark
      log       20 ms from 05:29:57.6
      ...
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from engine.errors import EngineError
from engine.jobs.decisions.spec import Pipeline
from engine.jobs.decisions.status import Run
from engine.values.epoch_report import PHASES, EpochReport
from engine.values.instants import Clock

Value = str | int | float | bool


@dataclass(frozen=True, slots=True)
class SpanId:
    """Trace id and span id. Neither is zero."""

    trace: int
    span: int


@dataclass(frozen=True, slots=True)
class Span:
    """An operation from `begin` to `end`, and its steps. It belongs to the trace of its `parent`, if it has one; others
    begin a trace."""

    name: str
    begin: datetime
    end: datetime
    facts: Mapping[str, Value] = field(default_factory=dict)
    steps: tuple[Span, ...] = ()
    failure: str | None = None
    """Error code, if it failed."""
    id: SpanId | None = None
    """Id for child spans; None if it has none."""
    parent: SpanId | None = None


EmitSpan = Callable[[Span], None]
"""Takes a span and returns at once, whatever happens to it."""


@dataclass(slots=True)
class Watch:
    """Measures the duration of a running operation."""

    clock: Clock
    facts: dict[str, Value]
    id: SpanId
    _steps: list[Span] = field(default_factory=list)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Record the enclosed work as a step."""
        begin = self.clock()
        try:
            yield
        finally:
            self._steps.append(Span(name, begin, self.clock()))

    @property
    def steps(self) -> tuple[Span, ...]:
        """The steps that are over."""
        return tuple(self._steps)


@contextmanager
def watch(tell: EmitSpan | None, clock: Clock, name: str, **facts: Value) -> Iterator[Watch]:
    """Record the span of the context once it ends, whether it succeeds or is refused."""
    stopwatch, begin, failure = Watch(clock, dict(facts), new_id()), clock(), None
    try:
        yield stopwatch
    except EngineError as error:
        failure = error.code
        raise
    finally:
        if tell is not None:
            tell(Span(name, begin, clock(), stopwatch.facts, stopwatch.steps, failure, stopwatch.id))


def new_id() -> SpanId:
    """Return the id of a new trace."""
    return SpanId(1 + secrets.randbelow(2**128 - 1), 1 + secrets.randbelow(2**64 - 1))


def epoch_span(pipeline: str, run: Run, report: EpochReport) -> Span:
    """Return an epoch, with its phases."""
    begin = moment = report.at - report.duration
    phases: list[Span] = []
    for name in PHASES:
        length = report.phases.get(name, timedelta(0))
        if length:
            phases.append(Span(name, moment, moment + length))
            moment += length
    facts: dict[str, Value] = {
        **_of_run(pipeline, run),
        "epoch": report.epoch,
        "rows_in": report.rows_in,
        "rows_out": report.rows_out,
        "late_rows": report.late_rows,
        "state_bytes": report.state_bytes,
    }
    return Span("epoch", begin, report.at, facts, tuple(phases))


def start_span(pipeline: str, run: Run, now: datetime, asked_by: SpanId | None = None) -> Span:
    """Return the start of a run, from the launch of its process to its first epoch; in the trace of the deployment that
    has requested it, if there is one."""
    called_at = run.hello_at or now
    steps = (Span("process", run.launched_at, called_at), Span("first_epoch", called_at, now))
    return Span("start", run.launched_at, now, _of_run(pipeline, run), steps, parent=asked_by)


def _of_run(pipeline: str, run: Run) -> dict[str, Value]:
    return {"pipeline": pipeline, "job_id": run.job_id, "version": run.version, "generation": run.generation}


@dataclass(slots=True)
class RequestedStarts:
    """Deployments whose runs have not started yet, by job; the newest counts."""

    _asked: dict[str, tuple[datetime, SpanId]] = field(default_factory=dict)

    def ask(self, job_id: str, at: datetime, deployment: SpanId) -> None:
        """Record that a deployment requests a start."""
        self._asked[job_id] = (at, deployment)

    def take(self, run: Run) -> SpanId | None:
        """Return the deployment that has requested the start of a run that is up now. A run that was launched before
        does not count: the requested one is yet to come."""
        match self._asked.get(run.job_id):
            case (at, deployment) if at <= run.launched_at:
                del self._asked[run.job_id]
                return deployment
        return None

    def forget(self, job_id: str) -> None:
        """Forget a job that is not to start."""
        self._asked.pop(job_id, None)


def asks_for_start(before: Pipeline | None, after: Pipeline) -> bool:
    """Whether a deployment with this result starts a run."""
    if after.stop != "none":
        return False
    return before is None or _wanted_run(before) != _wanted_run(after)


def _wanted_run(pipeline: Pipeline) -> tuple[object, ...]:
    return pipeline.version, pipeline.parallelism, pipeline.stop, pipeline.restarts_asked
