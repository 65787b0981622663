"""List all pipelines, page by page, with a constant number of SQL statements per page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import Field
from sqlalchemy import Connection

from engine.api.answers import Page, PipelineFacts, pipeline_facts
from engine.api.http.problems import ContextDep, refusals
from engine.control.context import Context, LastReports
from engine.control.upgrades.auto_rollback import reasons_not_undone
from engine.jobs.actors import JobRecord
from engine.jobs.decisions.effects import promised
from engine.jobs.decisions.totals import rows_per_second
from engine.jobs.processes.process_usage import SharedWith
from engine.store.jobs import checkpoints
from engine.store.jobs.records import read_page
from engine.store.pipelines import pipelines, versions
from engine.store.pipelines.lineages import giving_up_state, voided_by_requests
from engine.values.instants import FAR_FUTURE, to_micros

ROUTER = APIRouter(prefix="/pipelines", tags=["pipelines"])

Long = Literal["query", "graph"]
"""Long fields of a pipeline."""


class ListedPipeline(PipelineFacts):
    """A pipeline in the list: with figures of its run, and long fields only on request."""

    query: str | None = Field(
        description="The SQL text of the newest version; only `with=query` brings it and the `udfs`, and only "
        "`with=graph` the `graph`."
    )
    since: int = Field(description="When its job entered its state.")
    failure_code: str | None = Field(
        description="The code of the error by which its job failed last, or that blocks it now."
    )
    blocked: bool = Field(
        default=False,
        description="Whether that error is one of the control plane's and lasts, so that the job cannot be moved on.",
    )
    lag_micros: int | None = Field(
        description="How far the watermark of committed output is behind the clock, negative where it is ahead of it. "
        "Null without a watermark, at the end of the input, and of a job that has stopped or failed: see `since`."
    )
    rows_per_second: float | None = Field(
        description="How fast it reads, from its two newest epochs; null while no run of it is up."
    )
    restarts: int = Field(description="Starts after failures in all.")
    cpu_cores: float | None = Field(
        description="CPU seconds that its processes take each second; null until its run has looked twice."
    )
    memory_bytes: int | None = Field(
        description="The memory of all its processes, and its part of what it shares; null until its run has looked."
    )
    shared_java: SharedWith | None = Field(
        description="The Java that it shares with other pipelines; null where it has its own."
    )


@ROUTER.get("", response_model=Page[ListedPipeline], responses=refusals(404))
def list_all(
    context: ContextDep,
    starting_after: Annotated[
        str | None, Query(description="The id of the last pipeline of the page before; the first page without it.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    long: Annotated[list[Long] | None, Query(alias="with", description="What is long and is to be there.")] = None,
) -> Response:
    """List all pipelines but previews, oldest first."""
    with context.database.reading() as connection:
        after = None if starting_after is None else pipelines.get(connection, starting_after)
        records = read_page(connection, after, limit + 1, with_previews=False)
        data = _rows(connection, records[:limit], context, long or ())
    # Made to text here, and not where all other requests would wait for it.
    content = Page(data=data, has_more=len(records) > limit).model_dump_json(by_alias=True)
    return Response(content, media_type="application/json")


def _rows(
    connection: Connection, records: Sequence[JobRecord], context: Context, long: Sequence[Long]
) -> list[ListedPipeline]:
    numbers = [(record.pipeline.id, record.pipeline.version) for record in records]
    outlines = versions.outlines(connection, numbers, with_texts="query" in long, with_graph="graph" in long)
    voids = voided_by_requests(connection, records, context.directory)
    given_up = giving_up_state(connection, records)
    not_undone = reasons_not_undone(connection, records)
    up = [record.status.job_id for record in records if record.run is not None and record.run.running_at is not None]
    epochs = checkpoints.newest_two(connection, up)
    now = context.clock()
    return [
        ListedPipeline(
            **pipeline_facts(
                record,
                outlines[record.pipeline.id],
                context.directory,
                voids.get(record.pipeline.id, ()),
                is_given_up=record.pipeline.id in given_up,
                not_undone=not_undone.get(record.pipeline.id),
            ),
            query=outlines[record.pipeline.id].query,
            since=to_micros(record.status.since),
            **_failure(record, context),
            lag_micros=_lag(record, record.pipeline.id in given_up, now),
            rows_per_second=rows_per_second(epochs.get(record.status.job_id, ()), now),
            restarts=record.status.restarts,
            **_usage(record, context.last_reports),
        )
        for record in records
    ]


def _failure(record: JobRecord, context: Context) -> dict[str, Any]:
    """Return the error that blocks the job, or else the one by which it failed last."""
    trouble = context.database.troubles.of(record)
    failure = trouble or record.status.failure
    return {"failure_code": failure and failure.code, "blocked": trouble is not None}


def _lag(record: JobRecord, is_given_up: bool, now: datetime) -> int | None:
    if record.status.state.is_terminal:
        return None
    watermark = promised(record.status, is_given_up=is_given_up).watermark
    if watermark is None or watermark >= FAR_FUTURE:
        return None
    return to_micros(now) - to_micros(watermark)


def _usage(record: JobRecord, last_reports: LastReports) -> dict[str, Any]:
    """Return the resource use of the open run."""
    run = record.run
    measured = None if run is None else last_reports.usage(run.job_id, run.generation)
    cores = None if measured is None or measured.cores is None else round(measured.cores, 3)
    return {
        "cpu_cores": cores,
        "memory_bytes": measured and measured.memory_bytes,
        "shared_java": measured and measured.shared_java,
    }
