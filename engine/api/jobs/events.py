"""Events of one pipeline, or of all."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from engine.api import answers
from engine.api.answers import Page
from engine.api.http.problems import ContextDep, refusals
from engine.api.http.query_parameters import read_instant
from engine.control.context import Context
from engine.store.jobs import events
from engine.store.jobs.events import EventQuery, Severity
from engine.store.pipelines import pipelines

ROUTER = APIRouter(tags=["events"])

_MOST = 2**62
Limit = Annotated[int, Query(ge=1, le=1000)]


async def _query(
    severity: Annotated[Severity, Query(description="Events that are at least that bad.")] = "info",
    since: Annotated[
        str | None, Query(description="Events from then on: microseconds since 1970, or an ISO 8601 instant.")
    ] = None,
    after: Annotated[
        int | None, Query(ge=0, le=_MOST, description="Events that came after the one with this id, oldest first.")
    ] = None,
    before: Annotated[
        int | None, Query(ge=0, le=_MOST, description="Events that came before the one with this id.")
    ] = None,
) -> EventQuery:
    instant = None if since is None else read_instant("since", since)
    return EventQuery(after=after, before=before, since=instant, severity=severity)


QueryDep = Annotated[EventQuery, Depends(_query)]


@ROUTER.get("/events", responses=refusals(400))
def list_all(query: QueryDep, context: ContextDep, limit: Limit = 100) -> Page[answers.PipelineEvent]:
    """List everything that happened to all pipelines but previews, newest first; with `after`, what came since, oldest
    first."""
    return _page(context, query, limit)


@ROUTER.get("/pipelines/{pipeline}/events", responses=refusals(400, 404))
def list_events(pipeline: str, query: QueryDep, context: ContextDep, limit: Limit = 100) -> Page[answers.PipelineEvent]:
    """List everything that happened to a pipeline, newest first; with `after`, what came since, oldest first."""
    return _page(context, query, limit, pipeline)


def _page(context: Context, query: EventQuery, limit: int, pipeline: str | None = None) -> Page[answers.PipelineEvent]:
    with context.database.reading() as connection:
        if pipeline is not None:
            query = query.of(pipelines.get(connection, pipeline).job_id)
        page = events.page(connection, query, limit + 1)
    return Page(data=[answers.pipeline_event(stored) for stored in page[:limit]], has_more=len(page) > limit)
