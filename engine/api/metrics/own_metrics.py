"""Metrics of the control plane: requests, database, disk."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics
from prometheus_client import Metric as Family
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.api.metrics import declared
from engine.api.metrics.job_metrics import Families
from engine.control.context import Context

_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Histogram buckets in seconds; held requests take up to 55."""
_OTHER = "other"

disable_created_metrics()  # type: ignore[no-untyped-call]


@dataclass(frozen=True, eq=False)
class OwnMetrics(Collector):
    """Reads files and the disk at each scrape."""

    context: Context

    def describe(self) -> Iterable[Family]:
        """Nothing: the registry need not collect to know the names."""
        return ()

    def collect(self) -> Iterable[Family]:
        """The sizes as they are now."""
        families, database = Families(), self.context.directory.database
        for file, path in (("main", database), ("log", database.with_name(f"{database.name}-wal"))):
            families.add(declared.DATABASE_BYTES, path.stat().st_size if path.exists() else 0, file)
        disk = shutil.disk_usage(self.context.directory.root)
        families.add(declared.DISK_FREE, disk.free)
        families.add(declared.DISK_SIZE, disk.total)
        families.add(declared.BUILD_INFO, 1, self.context.version)
        return families


class RequestCounts:
    """Counts requests by route, of which there is a fixed number."""

    def __init__(self, registry: CollectorRegistry) -> None:
        requests, seconds = declared.REQUESTS, declared.REQUEST_SECONDS
        self._requests = Counter(requests.name, requests.meaning, requests.labels, registry=registry)
        self._seconds = Histogram(seconds.name, seconds.meaning, seconds.labels, registry=registry, buckets=_BUCKETS)

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
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
