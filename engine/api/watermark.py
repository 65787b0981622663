"""The watermark of committed output, at once or as soon as it has passed an instant."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool

from engine.api import answers
from engine.api.context import Context, ContextDep
from engine.errors import RequestError
from engine.instants import from_micros
from engine.store import pipelines
from engine.store.records import is_state_given_up, read_record

ROUTER = APIRouter(prefix="/pipelines/{pipeline}/watermark", tags=["watermark"])


@ROUTER.get("")
async def get(
    pipeline: str,
    context: ContextDep,
    past: Annotated[str | None, Query(description="Microseconds since 1970, or an ISO 8601 instant.")] = None,
    timeout_seconds: Annotated[float, Query(ge=0, le=55)] = 0,
) -> answers.Watermark:
    """Show the watermark of committed output. With `past`, the answer waits until the watermark has reached that
    instant, the job rests, or the time is over."""
    instant = None if past is None else _instant(past)
    loop = asyncio.get_running_loop()
    end = loop.time() + min(timeout_seconds, context.long_poll_max.total_seconds())
    pipeline_id, answer = await run_in_threadpool(_read, context, pipeline, instant)
    while not _is_final(answer) and loop.time() < end and not context.changes.is_closed:
        changed = context.changes.watch(pipeline_id)
        try:
            _, answer = await run_in_threadpool(_read, context, pipeline_id, instant)
            if not _is_final(answer):
                with suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), end - loop.time())
                _, answer = await run_in_threadpool(_read, context, pipeline_id, instant)
        finally:
            context.changes.forget(pipeline_id, changed)
    return answer


def _read(context: Context, pipeline: str, past: datetime | None) -> tuple[str, answers.Watermark]:
    with context.database.reading() as connection:
        record = read_record(connection, pipelines.get(connection, pipeline).id)
        answer = answers.watermark(record, past, is_given_up=is_state_given_up(connection, record))
    return record.pipeline.id, answer


def _is_final(answer: answers.Watermark) -> bool:
    return answer.passed is not False or answer.state.is_terminal


def _instant(text: str) -> datetime:
    """An instant as it was asked about; one without a zone is in UTC."""
    try:
        if text.lstrip("-").isdigit():
            return from_micros(int(text))
        instant = datetime.fromisoformat(text)
    except (ValueError, OverflowError) as error:
        raise RequestError(
            f"past: {text!r} is not an instant", hint="write microseconds since 1970, or ISO 8601"
        ) from error
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant
