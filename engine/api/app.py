"""The application: every resource, behind authentication."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI

from engine.api import (
    deletions,
    deployments,
    jobs,
    pipelines,
    problems,
    runs,
    savepoints,
    tokens,
    validate_query,
    watermark,
)
from engine.api.answers import Ping
from engine.api.authentication import Authentication, Rules
from engine.api.context import Context, ContextDep
from engine.api.metrics import page
from engine.jobs.address import API_PREFIX

_PING = APIRouter(tags=["ping"])


@_PING.get("/ping")
async def ping(context: ContextDep) -> Ping:
    """Say which control plane answers; needs no token."""
    return Ping(version=context.version, instance=context.instance)


ROUTERS = (
    _PING,
    validate_query.ROUTER,
    deployments.ROUTER,
    pipelines.ROUTER,
    deletions.ROUTER,
    jobs.ROUTER,
    watermark.ROUTER,
    watermark.CERTIFICATES,
    savepoints.ROUTER,
    tokens.ROUTER,
    runs.ROUTER,
)


def build_app(context: Context, rules: Rules) -> FastAPI:
    """The control plane's HTTP face."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        context.changes.attach(asyncio.get_running_loop())
        yield
        context.changes.close()

    app = FastAPI(
        title="Arroyo control plane",
        version=context.version,
        openapi_url=f"{API_PREFIX}/api-docs/openapi.json",
        docs_url=f"{API_PREFIX}/api-docs/ui",
        redoc_url=None,
        lifespan=lifespan,
        responses={"4XX": {"model": problems.Problem}},
    )
    app.state.context = context
    for router in ROUTERS:
        app.include_router(router, prefix=API_PREFIX)
    problems.install(app)
    app.add_middleware(Authentication, rules=rules, admission=context.admission, clock=context.clock)
    page.install(app, context)
    return app
