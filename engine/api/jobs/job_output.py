"""New rows of preview sinks as server-sent events, in the format of Arroyo's console."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from engine.api.http.authentication import is_let_in
from engine.api.http.depends import ContextDep
from engine.api.http.problems import refusals
from engine.api.jobs.changes import EventStream
from engine.api.jobs.jobs import read_job
from engine.api.jobs.output import ShownRows, read_shown, shown_directories, shown_directory
from engine.api.pipelines.previews import keep_preview
from engine.control.context import Context
from engine.values.instants import to_micros

ROUTER = APIRouter(prefix="/pipelines/{pipeline}/jobs/{job}", tags=["jobs"], responses=refusals(400, 404))

_MOST = 1000
"""Largest number of rows in one event."""
_HEARTBEAT_SECONDS = 15.0


class OutputData(BaseModel):
    """Some rows of a preview sink."""

    operator_id: str = Field(description="The preview table.")
    subtask_idx: int = Field(default=0, description="Always 0: the rows of all tasks come together.")
    timestamps: list[int] = Field(description="When each row was sent: the event times of shown rows are not kept.")
    start_id: int = Field(description="How many rows came before these.")
    batch: str = Field(description="The rows, as the text of a JSON array.")


@dataclass(frozen=True, slots=True)
class _Shown:
    """Rows after some positions, as they are sent, and the new positions per table."""

    events: str
    positions: Mapping[str, int]
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
    table: Annotated[str | None, Query(description="The preview table; all of them without it.")] = None,
    timeout_seconds: Annotated[float, Query(ge=0, le=86_400, description="When it is to end at the latest.")] = 86_400,
) -> Response:
    """Send the newest rows of `preview` tables, and each new row, as server-sent events. The stream ends when the job
    stops, and from time to time."""
    shown = await run_in_threadpool(_read, context, pipeline, job, table, {})
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
        number = feed.newest
        yield "retry: 1000\n\n" + shown.events
        while not shown.is_over and (remaining := end - loop.time()) > 0 and not feed.is_closed:
            has_grown = is_let_in(request) and await feed.wait(number, min(_HEARTBEAT_SECONDS, remaining))
            if not is_let_in(request):
                return
            number = feed.newest
            shown = await run_in_threadpool(_read, context, *what, shown.positions)
            if shown.events or not has_grown:
                yield shown.events or ": still here\n\n"


def _read(context: Context, pipeline: str, job: str, table: str | None, positions: Mapping[str, int]) -> _Shown:
    with context.database.reading() as connection:
        # before the files: what a job at rest has shown is all there
        record = read_job(connection, pipeline, job)
    keep_preview(context, record.pipeline.id)
    if table is None:
        directories = shown_directories(context, record)
    else:
        directory = shown_directory(context, record, table)
        directories = {} if directory is None else {table: directory}
    events, reached = "", dict(positions)
    is_over = read_shown(record, None, None, 0).is_over
    for name, directory in directories.items():
        after = str(positions[name]) if name in positions else None
        output = read_shown(record, directory, after, _MOST)
        reached[name] = int(output.cursor)
        is_over = is_over and output.is_over
        if output.rows:
            events += f"data: {_output(name, output, to_micros(context.clock())).model_dump_json()}\n\n"
    return _Shown(events, reached, is_over)


def _output(table: str, output: ShownRows, now: int) -> OutputData:
    return OutputData(
        operator_id=table,
        timestamps=[now] * len(output.rows),
        start_id=int(output.cursor) - len(output.rows),
        batch=f"[{','.join(row.decode() for row in output.rows)}]",
    )
