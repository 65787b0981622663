"""The ASGI application: every resource, behind authentication."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache, partial

from fastapi import APIRouter, Depends, FastAPI
from starlette.routing import BaseRoute

from engine.api import sweep
from engine.api.answers import Ping
from engine.api.connections import connection_profiles, connection_tables, stored_functions
from engine.api.http import description, problems, session, web_page
from engine.api.http.authentication import Authentication, Rules
from engine.api.http.problems import ContextDep
from engine.api.http.query_parameters import refuse_unknown_parameters
from engine.api.jobs import changes, contents, job_output, jobs, runs, watermark
from engine.api.metrics import page
from engine.api.moves import arrivals, departures
from engine.api.partitions import partitions
from engine.api.pipelines import completions, creations, deployments, forks, lineage, pipeline_list, pipelines, previews
from engine.api.savepoints import savepoint_moves, savepoint_schedules, savepoints
from engine.api.upgrades import hand_overs, rehearsals, reprocessing, rollbacks, upgrades
from engine.control.context import Context
from engine.jobs.address import API_PREFIX

_PING = APIRouter(tags=["ping"])


@_PING.get("/ping")
async def ping(context: ContextDep) -> Ping:
    """Identify the control plane; needs no token."""
    return Ping(version=context.version, instance=context.instance)


ROUTERS = (
    _PING,
    runs.ROUTER,  # most requests are of drivers, and routes are tried one after the other
    stored_functions.CONNECTORS_ROUTER,
    completions.ROUTER,
    connection_profiles.ROUTER,
    connection_tables.ROUTER,
    stored_functions.ROUTER,
    completions.VALIDATE_QUERY_ROUTER,
    creations.ROUTER,
    previews.ROUTER,
    deployments.ROUTER,
    pipeline_list.ROUTER,
    pipelines.ROUTER,
    pipelines.SECRETS_ROUTER,
    lineage.ROUTER,
    previews.DELETIONS_ROUTER,
    jobs.ROUTER,
    jobs.ALL,
    job_output.ROUTER,
    jobs.OPERATORS_ROUTER,
    jobs.EVENTS_ROUTER,
    changes.ROUTER,
    job_output.OUTPUT_ROUTER,
    watermark.ROUTER,
    watermark.CERTIFICATES,
    partitions.ROUTER,
    savepoint_moves.ROUTER,
    savepoint_schedules.SAVEPOINT_RULES_ROUTER,
    savepoint_schedules.ROUTER,
    savepoint_schedules.ALL,
    savepoint_moves.SAVEPOINT_TASKS_ROUTER,
    savepoints.ROUTER,
    upgrades.ROUTER,
    rehearsals.ROUTER,
    contents.STATE_ROUTER,
    contents.WRITTEN_ROUTER,
    rollbacks.ROUTER,
    forks.ROUTER,
    reprocessing.ROUTER,
    hand_overs.ROUTER,
    departures.ROUTER,
    arrivals.ROUTER,
    session.TOKENS_ROUTER,
    session.ROUTER,
    sweep.STORAGE_ROUTER,
    sweep.ROUTER,
    description.ROUTER,
)


@cache
def _routes() -> tuple[BaseRoute, ...]:
    """Return the routes of every resource, each with the problems that any request may meet. All applications of a
    process share them: creating them takes a quarter of a second."""
    resources = APIRouter()
    for router in ROUTERS:
        of_token = () if router is _PING else (401,)
        refusals = problems.refusals(*of_token, 403, 413, 422, 500, 503)
        checks = [] if router is runs.ROUTER else [Depends(refuse_unknown_parameters)]
        resources.include_router(router, prefix=API_PREFIX, responses=refusals, dependencies=checks)
    return tuple(resources.routes)


def include_routers(app: FastAPI) -> None:
    """Serve every resource."""
    app.router.routes.extend(_routes())


def build_app(context: Context, rules: Rules) -> FastAPI:
    """Return the HTTP application of the control plane."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        context.changes.attach(asyncio.get_running_loop(), partial(watermark.read_all, context.database))
        context.changes.feed.attach(partial(changes.read, context.database, context.last_reports))
        yield
        context.changes.close()

    app = FastAPI(
        title="Arroyo control plane",
        version=context.version,
        openapi_url=None,
        lifespan=lifespan,
    )
    app.state.context = context
    app.state.rules = rules
    include_routers(app)
    app.include_router(description.SHORTCUT)
    app.include_router(web_page.ROUTER)
    problems.install(app)
    app.add_middleware(
        Authentication, rules=rules, admission=context.admission, clock=context.clock, sessions=context.sessions
    )
    page.install(app, context)
    return app
