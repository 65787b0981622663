"""Send spans to OpenTelemetry from a thread of its own. If the collector is down, spans are dropped."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from engine.control.traces.requested_starts import Span, SpanId
from engine.errors import MissingPackageError
from engine.values.instants import to_micros

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
