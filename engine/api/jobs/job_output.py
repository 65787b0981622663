"""New rows of preview sinks as server-sent events, in the format of Arroyo's console."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from engine.api import answers
from engine.api.http.authentication import is_let_in
from engine.api.http.problems import ContextDep, refusals
from engine.api.jobs.changes import EventStream
from engine.api.jobs.jobs import read_job
from engine.api.pipelines.previews import keep_preview
from engine.checkpoints.layout import StatePaths
from engine.connectors.preview import PREVIEW_FILE, PreviewRows, read_preview
from engine.control.context import Context
from engine.errors import RequestError, SinkNotFoundError
from engine.jobs.actors import JobRecord
from engine.jobs.decisions.intend import is_settled
from engine.jobs.decisions.status import Progress
from engine.spark.read.scan_spec import safe_name
from engine.store.jobs.records import read_record
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


OUTPUT_ROUTER = APIRouter(prefix="/pipelines/{pipeline}", tags=["jobs"], responses=refusals(400, 404))


@OUTPUT_ROUTER.get("/output")
def read_output(
    pipeline: str,
    context: ContextDep,
    table: Annotated[str | None, Query(description="The preview table; without it the only one there is.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    after: Annotated[
        str | None,
        Query(pattern="^[0-9]{1,18}$", description="The cursor of an answer before: show the rows that follow it."),
    ] = None,
) -> answers.Output:
    """Show the newest rows of a `preview` table, oldest first; with `after`, the rows since then, as far as they are
    stored."""
    with context.database.reading() as connection:
        # before the file: what a job at rest has shown is all there
        record = read_record(connection, pipeline)
    keep_preview(context, record.pipeline.id)
    shown = read_shown(record, shown_directory(context, record, table), after, limit)
    return answers.Output(
        data=[json.loads(line) for line in shown.rows],
        has_more=shown.later > 0,
        cursor=shown.cursor,
        missed=shown.missed,
        over=shown.is_over,
    )


@dataclass(frozen=True, slots=True)
class ShownRows:
    """Rows of a preview table as JSON, oldest first. `cursor` is their end, `later` the number of rows after them, and
    `missed` the number of rows that were dropped before they were read."""

    rows: tuple[bytes, ...]
    cursor: str
    later: int
    missed: int
    is_over: bool


def read_shown(record: JobRecord, directory: Path | None, after: str | None, limit: int) -> ShownRows:
    """Return the stored rows of a preview sink since a cursor, up to a limit; the newest without a cursor."""
    is_at_rest = record.status.state.is_terminal and is_settled(record.pipeline, record.status)
    rows = PreviewRows(0, ()) if directory is None else read_preview(directory)
    fresh = rows.lines[-limit:] if after is None else rows.after(int(after))
    shown, later = fresh[:limit], len(fresh[limit:])
    position = rows.total - len(fresh) if after is None or int(after) > rows.total else int(after)
    return ShownRows(
        shown, str(rows.total - later), later, rows.total - len(fresh) - position, is_at_rest and later == 0
    )


def shown_directory(context: Context, record: JobRecord, table: str | None) -> Path | None:
    """Return the folder of a preview sink's rows; None before it has any. Raise for an unknown table, or an omitted one
    if there are several."""
    directory = _directory(StatePaths(context.directory.state(record.pipeline.id)).sinks, table)
    if table is not None and directory is not None and not directory.exists():
        _refuse_other(table, record.status.progress)
    return directory


def shown_directories(context: Context, record: JobRecord) -> Mapping[str, Path]:
    """Return the folders of all preview sinks of a pipeline that have rows, by table.

    The first report of an epoch tells which table a folder belongs to. Before that, a plain name can be read off the
    folder; a folder with another name is left out until the job has stopped, since its rows would appear under two
    names."""
    names = {safe_name(name): name for name in record.status.progress.sinks}
    sinks = StatePaths(context.directory.state(record.pipeline.id)).sinks
    shown = {}
    for file in sorted(sinks.glob(f"*/{PREVIEW_FILE}")):
        folder = file.parent.name
        plain = folder.rpartition("_")[0]
        if name := names.get(folder) or (plain if safe_name(plain) == folder else None):
            shown[name] = file.parent
        elif record.status.state.is_terminal:
            shown[folder] = file.parent
    return shown


def _directory(sinks: Path, table: str | None) -> Path | None:
    """Return the folder of the preview sink's rows; None before it has any."""
    if table is not None:
        return sinks / safe_name(table)
    shown = sorted(sinks.glob(f"*/{PREVIEW_FILE}"))
    if len(shown) > 1:
        raise RequestError("the pipeline has more than one preview table", hint="say which one with `table`")
    return shown[0].parent if shown else None


def _refuse_other(table: str, progress: Progress) -> None:
    """Raise for a table that is no sink, as far as that is known: it would never have rows."""
    names = sorted(progress.sinks)
    if names and safe_name(table) not in map(safe_name, names):
        raise SinkNotFoundError(f"the pipeline has no sink {table!r}", hint=f"its sinks are {', '.join(names)}")
