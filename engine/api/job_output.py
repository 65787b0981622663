"""The rows of preview sinks as they come: a stream of server-sent events, as Arroyo's console reads it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from engine.api.authentication import is_let_in
from engine.api.changes import EventStream
from engine.api.context import Context, ContextDep
from engine.api.jobs import read_job
from engine.api.output import read_shown
from engine.api.problems import refusals
from engine.instants import to_micros

ROUTER = APIRouter(prefix="/pipelines/{pipeline}/jobs/{job}", tags=["jobs"], responses=refusals(400, 404))

_MOST = 1000
"""Rows in one event."""
_HEARTBEAT_SECONDS = 15.0


class OutputData(BaseModel):
    """Some rows of a preview sink."""

    operator_id: str = Field(description="The preview table; empty when it is the only one.")
    subtask_idx: int = Field(default=0, description="Always 0: the rows of all tasks come together.")
    timestamps: list[int] = Field(description="When each row was sent: the event times of shown rows are not kept.")
    start_id: int = Field(description="How many rows came before these.")
    batch: str = Field(description="The rows, as the text of a JSON array.")


@dataclass(frozen=True, slots=True)
class _Shown:
    """The rows that have come after a position, as they are sent, and how far that is."""

    events: str
    position: int
    is_over: bool


@ROUTER.get(
    "/output",
    response_class=EventStream,
    responses={
        200: {"description": "Events whose data is an `OutputData`.", "content": {"text/event-stream": {}}},
    },
)
async def stream_output(
    pipeline: str,
    job: str,
    request: Request,
    context: ContextDep,
    table: Annotated[str | None, Query(description="The preview table; without it the only one there is.")] = None,
    timeout_seconds: Annotated[float, Query(ge=0, le=86_400, description="When it is to end at the latest.")] = 86_400,
) -> Response:
    """Send the newest rows of a table with the connector `preview`, and each further one as it comes, as server-sent
    events. The stream ends when the job rests, and now and then before that."""
    shown = await run_in_threadpool(_read, context, pipeline, job, table, None)
    seconds = min(timeout_seconds, context.stream_max.total_seconds())
    return EventStream(_pieces(request, context, (pipeline, job, table), shown, seconds))


async def _pieces(
    request: Request, context: Context, what: tuple[str, str, str | None], shown: _Shown, seconds: float
) -> AsyncIterator[str]:
    feed = context.changes.feed
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    with feed.reading():
        await feed.look()
        number = _newest(context)
        yield "retry: 1000\n\n" + shown.events
        while not shown.is_over and (remaining := end - loop.time()) > 0 and not feed.is_closed:
            has_grown = is_let_in(request) and await feed.wait(number, min(_HEARTBEAT_SECONDS, remaining))
            if not is_let_in(request):
                return
            number = _newest(context, number)
            shown = await run_in_threadpool(_read, context, *what, shown.position)
            if shown.events or not has_grown:
                yield shown.events or ": still here\n\n"


def _newest(context: Context, number: int = 0) -> int:
    """How far the changes of all pipelines have come."""
    items = context.changes.feed.after(number)
    return items[-1].number if items else number


def _read(context: Context, pipeline: str, job: str, table: str | None, position: int | None) -> _Shown:
    with context.database.reading() as connection:
        # before the file: what a job at rest has shown is all there
        record = read_job(connection, pipeline, job)
    output = read_shown(context, record, table, None if position is None else str(position), _MOST)
    cursor = int(output.cursor)
    if not output.rows:
        return _Shown("", cursor, output.is_over)
    data = OutputData(
        operator_id=table or "",
        timestamps=[to_micros(context.clock())] * len(output.rows),
        start_id=cursor - len(output.rows),
        batch=f"[{','.join(row.decode() for row in output.rows)}]",
    )
    return _Shown(f"id: {cursor}\ndata: {data.model_dump_json()}\n\n", cursor, output.is_over)
