"""Traces of deployments, runs and savepoints: which request has started a run, and how spans reach OpenTelemetry.

In memory, until the run has started: after a restart of the control plane the start is a trace of its own.

    05:29:57    a deployment of orders makes version 2, and requests a start
    05:29:58    run 3 of orders is launched: the requested one
    05:30:09    its first epoch: its start is part of the deployment's trace
    05:41:00    run 3 dies, run 4 is launched: not requested

Spans of operations of the control plane, built afterwards from recorded figures.

    epoch 7     05:29:57.5 to 05:30:00       begin and end are in the report
      find      100 ms from 05:29:57.5       phases are consecutive, as in Spark
      log       20 ms from 05:29:57.6
      ...

If the collector is down, spans are dropped.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from engine.errors import EngineError, MissingPackageError
from engine.jobs.decisions.spec import Pipeline
from engine.jobs.decisions.status import Run
from engine.values.epoch_report import PHASES, EpochReport
from engine.values.instants import Clock, to_micros

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


try:
    from opentelemetry.context import Context
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
    from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
    from opentelemetry.trace import (
        NonRecordingSpan,
        SpanContext,
        SpanKind,
        Status,
        StatusCode,
        TraceFlags,
        set_span_in_context,
    )
except ImportError as missing:
    raise MissingPackageError(
        "traces need the Python packages of OpenTelemetry", hint="pip install 'airflow-provider-arroyo[otel]'"
    ) from missing

_PATH = "/v1/traces"
_TIMEOUT = 5.0
"""Response timeout of the collector in seconds; the shutdown of the control plane waits for it."""


class _Ids(IdGenerator):
    """Gives a span its existing id, or a random one."""

    def __init__(self) -> None:
        self._random = RandomIdGenerator()
        self._of_thread = threading.local()

    @contextmanager
    def known(self, span: SpanId | None) -> Iterator[None]:
        """Give this id to the span that is begun in the context."""
        self._of_thread.known = span
        try:
            yield
        finally:
            self._of_thread.known = None

    def generate_span_id(self) -> int:
        """Return the number of a span in its trace."""
        known: SpanId | None = getattr(self._of_thread, "known", None)
        return self._random.generate_span_id() if known is None else known.span

    def generate_trace_id(self) -> int:
        """Return the number of a trace."""
        known: SpanId | None = getattr(self._of_thread, "known", None)
        return self._random.generate_trace_id() if known is None else known.trace


class Traces:
    """An open connection to a collector."""

    def __init__(self, exporter: SpanExporter, version: str, instance: str) -> None:
        resource = Resource.create(
            {"service.name": "arroyo", "service.version": version, "service.instance.id": instance}
        )
        self._ids = _Ids()
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False, id_generator=self._ids)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("arroyo", version)

    def tell(self, span: Span) -> None:
        """Send a span with its steps, asynchronously; spans above the limit are dropped."""
        facts = {f"arroyo.{name}": value for name, value in span.facts.items()}
        with self._ids.known(span.id):
            begun = self._tracer.start_span(
                span.name,
                _inside(span.parent),
                kind=SpanKind.INTERNAL,
                attributes=facts,
                start_time=_nanos(span.begin),
            )
        inside = set_span_in_context(begun)
        for step in span.steps:
            self._tracer.start_span(step.name, inside, start_time=_nanos(step.begin)).end(_nanos(step.end))
        if span.failure is not None:
            begun.set_status(Status(StatusCode.ERROR, span.failure))
        begun.end(_nanos(span.end))

    def close(self) -> None:
        """Send the remaining spans."""
        self._provider.shutdown()


def open_traces(endpoint: str | None, version: str, instance: str) -> Traces:
    """Send traces to a collector; without an endpoint, to that of OpenTelemetry's own environment variables."""
    url = None if endpoint is None else endpoint.rstrip("/") + _PATH
    return Traces(OTLPSpanExporter(endpoint=url, timeout=_TIMEOUT), version, instance)


def _inside(parent: SpanId | None) -> Context | None:
    """Return the context of a span whose parent was sent before."""
    if parent is None:
        return None
    sent = SpanContext(parent.trace, parent.span, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    return set_span_in_context(NonRecordingSpan(sent))


def _nanos(instant: datetime) -> int:
    return to_micros(instant) * 1000
