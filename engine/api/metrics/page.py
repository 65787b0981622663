"""The endpoint for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI, Request, Response
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import choose_encoder

from engine.api.metrics import METRICS_PATH
from engine.api.metrics.job_metrics import JobMetrics
from engine.api.metrics.own_metrics import CountedRequests, OwnMetrics, RequestCounts
from engine.control.context import Context

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
    """Show all figures in the format of Prometheus, or in that of OpenMetrics if it is asked for."""
    encode, content_type = choose_encoder(request.headers.get("accept", ""))
    return Response(encode(request.app.state.metrics), media_type=content_type)
