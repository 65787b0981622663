"""The endpoint for Prometheus.

Collect the metrics of all jobs from the store at each scrape. Unknown values are omitted.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from fastapi import APIRouter, FastAPI, Request, Response
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, disable_created_metrics
from prometheus_client import Metric as Family
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from sqlalchemy import Connection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.api.metrics import METRICS_PATH, declared
from engine.api.metrics.declared import Metric
from engine.api.partitions.partition_deliveries import waiting_for
from engine.control.context import Context, MeasuredUsage
from engine.errors import Cause
from engine.jobs.decisions.states import State
from engine.jobs.decisions.totals import TableTotals
from engine.store.jobs.job_figures import JobFigures, job_figures
from engine.store.jobs.records import read_record
from engine.store.partitions import partitions, pushes
from engine.values.instants import FAR_FUTURE

ROUTER = APIRouter(include_in_schema=False)


def install(app: FastAPI, context: Context) -> None:
    """Serve the metrics of a control plane, and count its requests."""
    registry = CollectorRegistry()
    registry.register(JobMetrics(context))
    registry.register(OwnMetrics(context))
    ProcessCollector(registry=registry)
    app.state.metrics = registry
    app.include_router(ROUTER)
    app.add_middleware(CountedRequests, counts=RequestCounts(registry))


@ROUTER.get(METRICS_PATH)
def metrics(request: Request) -> Response:
    """Show all figures in the format of Prometheus, or in that of OpenMetrics on request."""
    encode, content_type = choose_encoder(request.headers.get("accept", ""))
    return Response(encode(request.app.state.metrics), media_type=content_type)


_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Histogram buckets in seconds; held requests take up to 55."""
_OTHER = "other"

disable_created_metrics()  # type: ignore[no-untyped-call]


@dataclass(frozen=True, eq=False)
class OwnMetrics(Collector):
    """Reads files and the disk at each scrape."""

    context: Context

    def describe(self) -> Iterable[Family]:
        """Return nothing, so that the registry need not collect the metrics to know their names."""
        return ()

    def collect(self) -> Iterable[Family]:
        """Return the current sizes."""
        families, database = Families(), self.context.directory.database
        for file, path in (("main", database), ("log", database.with_name(f"{database.name}-wal"))):
            families.add(declared.DATABASE_BYTES, path.stat().st_size if path.exists() else 0, file)
        disk = shutil.disk_usage(self.context.directory.root)
        families.add(declared.DISK_FREE, disk.free)
        families.add(declared.DISK_SIZE, disk.total)
        families.add(declared.BUILD_INFO, 1, self.context.version)
        return families


class RequestCounts:
    """Counts requests by route. The number of routes is fixed."""

    def __init__(self, registry: CollectorRegistry) -> None:
        requests, seconds = declared.REQUESTS, declared.REQUEST_SECONDS
        self._requests = Counter(requests.name, requests.meaning, requests.labels, registry=registry)
        self._seconds = Histogram(seconds.name, seconds.meaning, seconds.labels, registry=registry, buckets=_BUCKETS)

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)


@dataclass(frozen=True, slots=True)
class CountedRequests:
    """The application, with its requests counted."""

    app: ASGIApp
    counts: RequestCounts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count its answer."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = 500
        begin = time.perf_counter()

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, send_on)
        finally:
            # a method or path of anybody's choice must not make a series
            route = getattr(scope.get("route"), "path", None)
            method = scope["method"] if route is not None else _OTHER
            self.counts.count(method, route or _OTHER, status, time.perf_counter() - begin)


@dataclass(slots=True)
class Families:
    """Metric families that are being filled: only declared metrics, with their declared labels."""

    _families: dict[str, Family] = field(default_factory=dict)

    def add(self, metric: Metric, value: float | None, *labels: str) -> None:
        """Add a series, with the values of the metric's labels in their order; None is left out."""
        if value is None:
            return
        family = self._families.get(metric.name)
        if family is None:
            # the library's name of a counter is without its end
            family = Family(metric.name.removesuffix("_total"), metric.meaning, metric.kind)
            self._families[metric.name] = family
        family.add_sample(metric.name, dict(zip(metric.labels, labels, strict=False)), value)

    def __iter__(self) -> Iterator[Family]:
        """Return each family once."""
        return iter(self._families.values())


@dataclass(frozen=True, eq=False)
class JobMetrics(Collector):
    """Collects metrics of jobs and of stored data."""

    context: Context

    def describe(self) -> Iterable[Family]:
        """Return nothing, so that the registry need not collect the metrics to know their names."""
        return ()

    def collect(self) -> Iterable[Family]:
        """Read the figures of all jobs in one query, and what is known about their runs."""
        begin = time.perf_counter()
        families, now = Families(), self.context.clock()
        drivers = 0
        with self.context.database.reading() as connection:
            for figures in job_figures(connection):
                drivers += figures.is_open
                usage = self.context.last_reports.usage(figures.job_id, figures.generation) if figures.is_open else None
                add_job(families, figures, usage, now)
            _add_pushes(families, connection, self.context)
        families.add(declared.DRIVERS, drivers)
        families.add(declared.SCRAPE_SECONDS, time.perf_counter() - begin)
        return families


def add_job(families: Families, figures: JobFigures, usage: MeasuredUsage | None, now: datetime) -> None:
    """Add the series of a job."""
    name = figures.pipeline
    families.add(declared.JOB_STATE, 1, name, figures.state)
    families.add(declared.FAILURES_IN_A_ROW, figures.outages, name, Cause.OUTAGE.value)
    families.add(declared.FAILURES_IN_A_ROW, figures.failures, name, Cause.UNKNOWN.value)
    for cause in (Cause.OUTAGE, Cause.UNKNOWN):
        families.add(declared.RESTARTS, figures.totals.restarts.get(cause.value, 0), name, cause.value)
    _add_totals(families, figures)
    if not figures.is_state_given_up and not State(figures.state).is_terminal:
        _add_lags(families, figures, now)
    _add_newest(families, figures)
    for role, used in usage.usage.items() if usage is not None else ():
        families.add(declared.RUN_CPU, used.cpu_seconds, name, role)
        families.add(declared.RUN_MEMORY, used.memory_bytes, name, role)


def _add_pushes(families: Families, connection: Connection, context: Context) -> None:
    for name, pipeline_id in pushes.names(connection):
        consumer, record = partitions.get(connection, name), read_record(connection, pipeline_id)
        pushed = pushes.find(connection, consumer)
        waiting = waiting_for(connection, context, consumer, record)
        families.add(declared.PUSH_WAITING, waiting, record.pipeline.name, name)
        families.add(declared.PUSH_FAILURES, 0 if pushed is None else pushed.state.failures, record.pipeline.name, name)


def _add_totals(families: Families, figures: JobFigures) -> None:
    name, totals = figures.pipeline, figures.totals
    if totals.epochs:
        families.add(declared.EPOCHS, totals.epochs, name)
        families.add(declared.STATE_CHANGES, totals.state_changes, name)
        families.add(declared.EPOCH_SECONDS, totals.duration.total_seconds(), name)
    for phase, length in totals.phases.items():
        families.add(declared.PHASE_SECONDS, length.total_seconds(), name, phase)
    for kind, count in totals.state_requests.items():
        families.add(declared.STATE_REQUESTS, count, name, kind)
    for table, figure in totals.tables.items():
        families.add(declared.DROPPED_ROWS, figure.dropped_rows, name, table)
        families.add(declared.DEAD_LETTERS, figure.dead_letters, name, table)
    for metric, of_all, of_table in (
        (declared.ROWS_IN, totals.rows_in, _rows_in),
        (declared.ROWS_OUT, totals.rows_out, _rows_out),
        (declared.LATE_ROWS, totals.late_rows, _late_rows),
    ):
        _add_by_table(families, metric, name, of_all, totals.tables, of_table)


def _add_by_table(
    families: Families,
    metric: Metric,
    name: str,
    of_all: int,
    tables: Mapping[str, TableTotals],
    of_table: Callable[[TableTotals], int | None],
) -> None:
    """Add a series for each table, and one without a table for the counts that belong to no known table."""
    counts = {table: count for table, totals in tables.items() if (count := of_table(totals)) is not None}
    for table, count in counts.items():
        families.add(metric, count, name, table)
    if (without_table := of_all - sum(counts.values())) > 0:
        families.add(metric, without_table, name)


def _rows_in(totals: TableTotals) -> int | None:
    return totals.rows_in


def _rows_out(totals: TableTotals) -> int | None:
    return totals.rows_out


def _late_rows(totals: TableTotals) -> int | None:
    return totals.late_rows


def _add_lags(families: Families, figures: JobFigures, now: datetime) -> None:
    name = figures.pipeline
    families.add(declared.WATERMARK_LAG, _lag(figures.watermark, now), name)
    for table, watermark in figures.sources.items():
        families.add(declared.SOURCE_LAG, _lag(watermark, now), name, table)
    for table, sink in figures.sinks.items():
        families.add(declared.COMPLETE_LAG, _lag(sink.complete_until, now), name, table)
        if figures.watermark is not None and figures.watermark < FAR_FUTURE:
            families.add(declared.SINK_LAG, _lag(sink.complete_until, figures.watermark), name, table)


def _add_newest(families: Families, figures: JobFigures) -> None:
    name = figures.pipeline
    if (newest := figures.newest) is not None:
        families.add(declared.EPOCH_COMMITTED, newest.at.timestamp(), name)
    if newest is not None and figures.is_open:
        families.add(declared.STATE_BYTES, newest.state_bytes, name)
        for operator, rows in newest.state_rows.items():
            families.add(declared.STATE_ROWS, rows, name, operator)
        for table, of_table in newest.tables.items():
            families.add(declared.SOURCE_WAITING, of_table.rows_waiting, name, table)
            families.add(declared.BUSY, of_table.busy, name, table)
        for operator, worked in newest.operators.items():
            families.add(declared.BUSY, worked.busy, name, operator)
            families.add(declared.OPERATOR_ROWS, worked.rows_in, name, operator, "in")
            families.add(declared.OPERATOR_ROWS, worked.rows_out, name, operator, "out")


def _lag(instant: datetime | None, now: datetime) -> float | None:
    """Return how far an instant is behind, or None if it is unknown or the input has ended."""
    return None if instant is None or instant >= FAR_FUTURE else (now - instant).total_seconds()
