"""Changes of all pipelines: as server-sent events, or page by page in held requests."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.types import Receive, Scope, Send

from engine.api import answers
from engine.api.http.authentication import is_let_in
from engine.api.http.problems import ContextDep, refusals
from engine.control.changes import ChangeFeed, FeedItem, News
from engine.control.context import Context, LastReports
from engine.errors import AuthError, RequestError
from engine.jobs import disk
from engine.store import columns as stored_changes
from engine.store.database import Database
from engine.store.jobs.records import read_each
from engine.store.pipelines import previews
from engine.store.pipelines.lineages import giving_up_state

ROUTER = APIRouter(prefix="/changes", tags=["changes"], responses=refusals(400))

_CURSOR = re.compile(r"([0-9a-f]{16})-([0-9]{1,18})")
_HEARTBEAT_SECONDS = 15.0
_SEND_SECONDS = 30.0
"""Timeout of a reader that takes no byte."""


class Change(BaseModel):
    """Current state of a pipeline that has changed; intermediate changes are skipped."""

    pipeline_id: str = Field(description="The pipeline that has changed.")
    pipeline: str = Field(description="Its name.")
    deleted: bool = Field(description="Whether it is no more.")
    job: answers.Job | None = Field(description="Its job; null when it is no more.")


class ChangesPage(BaseModel):
    """Changes after a cursor."""

    data: list[Change]
    cursor: str = Field(description="How far this goes; sent as `after`, it asks for what follows.")
    reset: bool = Field(
        description="Whether the full list follows, because the changes after the cursor are unknown: forget "
        "what you know of pipelines that are not in it."
    )


@dataclass(frozen=True, slots=True)
class Cursor:
    """Position of a reader in a log; without a cursor, reading begins with the state of all pipelines."""

    log: str
    number: int

    @classmethod
    def read(cls, text: str) -> Cursor:
        """Parse a cursor that a client sends back."""
        parts = _CURSOR.fullmatch(text)
        if parts is None:
            raise RequestError("the cursor is none of this control plane's", hint="leave it out, to start over")
        return cls(parts[1], int(parts[2]))

    def __str__(self) -> str:
        return f"{self.log}-{self.number}"


After = Annotated[str | None, Query(max_length=64, description="The cursor of the last change that was read.")]


@ROUTER.get("")
async def list_changes(
    request: Request,
    context: ContextDep,
    after: After = None,
    timeout_seconds: Annotated[float, Query(ge=0, le=55)] = 0,
) -> ChangesPage:
    """List the pipelines, except previews, that have changed after a cursor; without one, all. With `timeout_seconds`,
    the response waits for a change."""
    feed = context.changes.feed
    asked = None if after is None else Cursor.read(after)
    with feed.reading():
        await feed.look()
        start, is_reset = _start(feed, asked)
        if asked is not None and not is_reset:
            await _wait(feed, start.number, min(timeout_seconds, context.long_poll_max.total_seconds()), request)
        items, end = feed.after(start.number), feed.newest
    data = [Change.model_validate_json(item.text) for item in items]
    return ChangesPage(data=data, cursor=str(Cursor(start.log, end)), reset=is_reset)


class EventStream(Response):
    """Server-sent events. A reader that takes nothing for a while is disconnected, and reconnects with its cursor."""

    media_type = "text/event-stream"

    def __init__(self, pieces: AsyncIterator[str], status_code: int = 200) -> None:
        super().__init__(
            status_code=status_code, headers={"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}
        )
        del self.headers["content-length"]
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the stream ends, or the client leaves."""
        sending = asyncio.create_task(self._send(send))
        leaving = asyncio.create_task(_gone(receive))
        try:
            await asyncio.wait([sending, leaving], return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        finally:
            for task in (sending, leaving):
                task.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        try:
            async for piece in self._pieces:
                async with asyncio.timeout(_SEND_SECONDS):
                    await send({"type": "http.response.body", "body": piece.encode(), "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except TimeoutError:
            return


@ROUTER.get(
    "/stream",
    response_class=EventStream,
    responses={200: {"description": "Events `change`, `reset`, `ready`.", "content": {"text/event-stream": {}}}},
)
async def stream_changes(
    request: Request,
    context: ContextDep,
    after: After = None,
    last_event_id: Annotated[str | None, Header(max_length=64, description="The same, as browsers send it.")] = None,
    timeout_seconds: Annotated[float, Query(ge=0, le=86_400, description="When it is to end at the latest.")] = 86_400,
) -> Response:
    """Send the pipelines but previews that have changed, as they are now, as server-sent events: first what has since
    the cursor, all of them without one; `ready` says that this was all, and then each change follows as it happens. The
    `id` of an event is the cursor. `reset` is followed by all pipelines again, because the changes after the cursor are
    unknown. The data of `change` is a pipeline as `GET /changes` lists it. The stream ends now and then: come back with
    the last `id`, after a restart of the control plane, too."""
    text = last_event_id or after
    asked = None if text is None else Cursor.read(text)
    feed = context.changes.feed
    with feed.reading():
        await feed.look()  # what is wrong with the store is an answer of its own
    return EventStream(_pieces(request, context, asked, min(timeout_seconds, context.stream_max.total_seconds())))


async def _pieces(request: Request, context: Context, asked: Cursor | None, seconds: float) -> AsyncIterator[str]:
    feed = context.changes.feed
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    with feed.reading():
        await feed.look()
        start, is_reset = _start(feed, asked)
        items, number = feed.after(start.number), feed.newest
        yield "retry: 1000\n\n" + ("event: reset\ndata: {}\n\n" if is_reset else "")
        yield _events(start.log, items) + f"id: {Cursor(start.log, number)}\nevent: ready\ndata: {{}}\n\n"
        while (remaining := end - loop.time()) > 0 and not feed.is_closed:
            # checked before the wait, too: a session that ended during a send does not wake the feed
            if is_let_in(request):
                await feed.wait(number, min(_HEARTBEAT_SECONDS, remaining))
            if not is_let_in(request):
                return
            items, number = feed.after(number), feed.newest
            yield _events(start.log, items) or ": still here\n\n"


def read(database: Database, last_reports: LastReports, number: int) -> News:
    """Return the changes since a number, in one view of the store."""
    with database.reading() as connection:
        log = stored_changes.log(connection)
        news = stored_changes.since(connection, number)
        records = {record.pipeline.id: record for record in read_each(connection, [item.pipeline_id for item in news])}
        passing = previews.among(connection, records)
        given_up = giving_up_state(connection, list(records.values()))
    items = []
    for stored in news:
        record = records.get(stored.pipeline_id)
        change = Change(
            pipeline_id=stored.pipeline_id,
            pipeline=stored.name if record is None else record.pipeline.name,
            deleted=record is None,
            job=None
            if record is None
            else answers.job(
                record,
                last_reports.shared_java(record.run),
                database.troubles.of(record),
                is_given_up=record.pipeline.id in given_up,
            ),
        )
        # of one that is no more, only the name tells
        is_preview = disk.is_id(stored.name, "preview") if record is None else stored.pipeline_id in passing
        items.append(FeedItem(stored.number, stored.pipeline_id, change.model_dump_json(), is_preview))
    return News(log.id, log.forgotten, items)


def _start(feed: ChangeFeed, asked: Cursor | None) -> tuple[Cursor, bool]:
    """Return where a reader continues, and whether it must forget what it knows."""
    if asked is None:
        return Cursor(feed.log, 0), False
    if asked.log == feed.log and feed.knows(asked.number):
        return asked, False
    return Cursor(feed.log, 0), True


async def _wait(feed: ChangeFeed, number: int, seconds: float, request: Request) -> None:
    """Wait for a change after a number, up to a timeout, and while the caller's token is valid."""
    loop = asyncio.get_running_loop()
    end, seen = loop.time() + seconds, number
    while await feed.wait(seen, end - loop.time()) and not feed.after(number) and is_let_in(request):
        seen = feed.newest  # a preview has changed, or another reader has left
    if not is_let_in(request):
        raise AuthError("the token has ended while the request was held", hint="ask for another token")


def _events(log: str, items: Sequence[FeedItem]) -> str:
    return "".join(f"id: {log}-{item.number}\nevent: change\ndata: {item.text}\n\n" for item in items)


async def _gone(receive: Receive) -> None:
    """Wait until the reader has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
