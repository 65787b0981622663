"""Jobs: state, checkpoints, and the events of one pipeline or of all."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice, pairwise, zip_longest
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from engine.api import answers
from engine.api.answers import Page
from engine.api.http.problems import ContextDep, refusals
from engine.api.http.query_parameters import read_instant
from engine.control.context import Context
from engine.control.log_tail import Cursor, read_on, tail
from engine.errors import EpochNotKeptError, PipelineNotFoundError
from engine.jobs.actors import JobRecord
from engine.jobs.decisions.intend import is_settled
from engine.jobs.decisions.totals import table_of
from engine.store.jobs import checkpoints, events
from engine.store.jobs.events import EventQuery, Severity
from engine.store.jobs.records import read_page, read_record
from engine.store.pipelines import pipelines, versions
from engine.store.pipelines.lineages import giving_up_state, is_state_given_up
from engine.values.epoch_report import EpochReport
from engine.values.instants import to_micros

OPERATORS_ROUTER = APIRouter(prefix="/pipelines/{pipeline}/jobs/{job}", tags=["jobs"], responses=refusals(404))

_AT_MOST = 100
_KEPT_FOR = timedelta(minutes=5)
MetricName = Literal["messages_recv", "messages_sent"]


class Metric(BaseModel):
    """A rate."""

    time: int = Field(description="When the epoch was committed.")
    value: float = Field(description="Rows of that epoch, for each second since the one before.")


class SubtaskMetrics(BaseModel):
    """The rates of all tasks together."""

    index: int = Field(default=0, description="Always 0: tasks are not told apart.")
    metrics: list[Metric] = Field(description="Those of the last five minutes, oldest first.")


class MetricGroup(BaseModel):
    """One kind of rate."""

    name: MetricName = Field(description="Rows that a source reads count as sent, rows that a sink gets as received.")
    subtasks: list[SubtaskMetrics] = Field(description="The rates.")


class OperatorMetricGroup(BaseModel):
    """Rates of an operator."""

    node_id: int = Field(description="Its number in the graph.")
    metric_groups: list[MetricGroup] = Field(description="Its rates; none where they are not known.")


class SubtaskCheckpointGroup(BaseModel):
    """A part of an operator's state."""

    index: int = Field(description="Its number.")
    bytes: int = Field(description="The length of the files that the epoch needs of it.")
    event_spans: list[dict[str, int | str]] = Field(
        default=[], description="Always empty: when each part was written is not known."
    )


class OperatorCheckpointGroup(BaseModel):
    """The state of an operator."""

    operator_id: str = Field(description="The operator's id, or Spark's number of it where it has none.")
    bytes: int = Field(description="The length of the files that the epoch needs of it.")
    started_metadata_write: None = Field(default=None, description="Always null: it is not known.")
    finish_time: int | None = Field(description="When the epoch was committed.")
    subtasks: list[SubtaskCheckpointGroup] = Field(description="The parts that its state is cut into.")


@OPERATORS_ROUTER.get("/operator_metric_groups")
def list_metrics(pipeline: str, job: str, context: ContextDep) -> Page[OperatorMetricGroup]:
    """List the rows per second of each source, sink and stateful operator, of the running version. Unknown for a table
    that the plan reads at several places, and for SQL operators without state."""
    with context.database.reading() as connection:
        record = read_job(connection, pipeline, job)
        number = record.status.version or record.pipeline.version
        picture = json.loads(versions.get(connection, record.pipeline.id, number).graph)
        reports = checkpoints.latest(connection, record.status.job_id, _AT_MOST)
    nodes = picture.get("nodes", ())
    tables = Counter(filter(None, map(table_of, nodes)))
    rates = list(_rates(reports, context.clock()))
    return Page(
        data=[
            OperatorMetricGroup(
                node_id=node["node_id"], metric_groups=_groups(node, tables, rates) or _operator_groups(node, rates)
            )
            for node in nodes
        ]
    )


@OPERATORS_ROUTER.get("/checkpoints/{epoch}/operator_checkpoint_groups", responses=refusals(409))
def list_checkpoint_groups(
    pipeline: str, job: str, epoch: Annotated[int, Path(ge=0, le=2**62)], context: ContextDep
) -> Page[OperatorCheckpointGroup]:
    """List the size of each operator's state after the newest committed epoch; unknown for other epochs."""
    from engine.inspection.summary import summarize_state  # noqa: PLC0415 - the server is there sooner
    from engine.udf.declared import name_files  # noqa: PLC0415

    with context.database.reading() as connection:
        record = read_job(connection, pipeline, job)
        version = versions.get(connection, record.pipeline.id, record.pipeline.version)
    summary = summarize_state(
        context.directory.state(record.pipeline.id),
        udfs=name_files(version.spec.udfs),
        connections=context.connections,
    )
    if summary.epoch != epoch:
        known = "none is committed" if summary.epoch is None else f"the newest is {summary.epoch}"
        raise EpochNotKeptError(f"what the state was after epoch {epoch} is not known", hint=known)
    return Page(
        data=[
            OperatorCheckpointGroup(
                operator_id=operator.id or str(operator.number),
                bytes=operator.bytes,
                finish_time=summary.at,
                subtasks=[SubtaskCheckpointGroup(index=part.number, bytes=part.bytes) for part in operator.partitions],
            )
            for operator in summary.operators
        ]
    )


def _rates(newest: Sequence[EpochReport], now: datetime) -> Iterator[tuple[int, float, EpochReport]]:
    """Yield each epoch's commit time, the seconds since the previous commit, and its report; oldest first."""
    for before, report in pairwise(reversed(newest)):
        seconds = (report.at - before.at).total_seconds()
        if report.at >= now - _KEPT_FOR and seconds > 0:
            yield to_micros(report.at), seconds, report


def _groups(
    node: Mapping[str, str],
    tables: Mapping[str, int],
    rates: Sequence[tuple[int, float, EpochReport]],
) -> list[MetricGroup]:
    """Return the rates of a source or sink that appears once in the plan."""
    table, is_read = table_of(node), node["operator"] == "Scan"
    if table is None or tables[table] > 1:
        return []
    rows = [
        (at, report.tables[table].rows_in if is_read else report.tables[table].rows_out, seconds)
        for at, seconds, report in rates
        if table in report.tables
    ]
    return _group("messages_sent" if is_read else "messages_recv", rows)


def _operator_groups(
    node: Mapping[str, str | None], rates: Sequence[tuple[int, float, EpochReport]]
) -> list[MetricGroup]:
    """Return the rates of a stateful operator."""
    known = [
        (at, seconds, report.operators[name])
        for at, seconds, report in rates
        if (name := node.get("operator_id")) is not None and name in report.operators
    ]
    received = _group("messages_recv", [(at, figures.rows_in, seconds) for at, seconds, figures in known])
    return received + _group("messages_sent", [(at, figures.rows_out, seconds) for at, seconds, figures in known])


def _group(name: MetricName, rows: Sequence[tuple[int, int | None, float]]) -> list[MetricGroup]:
    metrics = [Metric(time=at, value=round(count / seconds, 1)) for at, count, seconds in rows if count is not None]
    return [MetricGroup(name=name, subtasks=[SubtaskMetrics(metrics=metrics)])] if metrics else []


ROUTER = APIRouter(prefix="/pipelines/{pipeline}", tags=["jobs"], responses=refusals(404))
ALL = APIRouter(tags=["jobs"])

Limit = Annotated[int, Query(ge=1, le=1000)]


@ROUTER.get("/jobs")
def list_jobs(pipeline: str, context: ContextDep) -> Page[answers.Job]:
    """List the jobs of a pipeline; it has exactly one."""
    with context.database.reading() as connection:
        record = read_record(connection, pipeline)
        is_given_up = is_state_given_up(connection, record)
    java = context.last_reports.shared_java(record.run)
    trouble = context.database.troubles.of(record)
    return Page(data=[answers.job(record, java, trouble, is_given_up=is_given_up)])


@ALL.get("/jobs")
def list_all_jobs(context: ContextDep) -> Page[answers.Job]:
    """List the jobs of all pipelines but previews, those of the oldest pipeline first."""
    with context.database.reading() as connection:
        records = read_page(connection, None, None, with_previews=False)
        given_up = giving_up_state(connection, records)
    java_of, trouble_of = context.last_reports.shared_java, context.database.troubles.of
    return Page(
        data=[
            answers.job(record, java_of(record.run), trouble_of(record), is_given_up=record.pipeline.id in given_up)
            for record in records
        ]
    )


@ROUTER.get("/jobs/{job}/checkpoints", response_model=Page[answers.Checkpoint])
def list_checkpoints(pipeline: str, job: str, context: ContextDep, limit: Limit = 100) -> Page[answers.CommittedEpoch]:
    """List the newest committed epochs, newest first."""
    with context.database.reading() as connection:
        record = read_job(connection, pipeline, job)
        reports = checkpoints.latest(connection, record.status.job_id, limit + 1)
    shown = zip_longest(reports, reports[1:])
    data = [answers.checkpoint(report, before) for report, before in islice(shown, limit)]
    return Page(data=data, has_more=len(reports) > limit)


@ROUTER.get("/jobs/{job}/errors")
def list_errors(
    pipeline: str,
    job: str,
    context: ContextDep,
    limit: Limit = 100,
    starting_after: Annotated[
        str | None, Query(pattern="^[0-9]{1,18}$", description="The id of the last error of the page before.")
    ] = None,
) -> Page[answers.JobLogMessage]:
    """List the errors of a job, newest first."""
    with context.database.reading() as connection:
        job_id = read_job(connection, pipeline, job).status.job_id
        before = None if starting_after is None else int(starting_after)
        errors = events.page(connection, EventQuery(job_id, before=before, severity="error"), limit + 1)
    data = [answers.job_log_message(stored.event) for stored in errors[:limit]]
    return Page(data=data, has_more=len(errors) > limit)


@ROUTER.get("/logs", responses=refusals(400))
def read_log(
    pipeline: str,
    context: ContextDep,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 200,
    after: Annotated[
        str | None, Query(max_length=64, description="The cursor of an answer before: show the lines that follow it.")
    ] = None,
) -> answers.Log:
    """Show the last log lines of a pipeline's drivers, oldest first; with `after`, the lines since then, over all
    runs."""
    with context.database.reading() as connection:
        # before the files: what a job at rest has printed is all there
        record = read_record(connection, pipeline)
    is_at_rest = record.status.state.is_terminal and is_settled(record.pipeline, record.status)
    runs = context.directory.runs(record.pipeline.id)
    if after is None:
        lines, cursor = tail(runs, limit + 1, is_at_rest=is_at_rest)
        return answers.Log(data=lines[-limit:], has_more=len(lines) > limit, cursor=str(cursor), over=is_at_rest)
    piece = read_on(runs, Cursor.read(after), limit, is_at_rest=is_at_rest)
    over = is_at_rest and not piece.has_more
    return answers.Log(data=piece.lines, has_more=piece.has_more, cursor=str(piece.cursor), over=over)


def read_job(connection: Connection, pipeline: str, job: str) -> JobRecord:
    """Return the record of a pipeline's job; raise if it has no such job."""
    record = read_record(connection, pipeline)
    if record.status.job_id != job:
        raise PipelineNotFoundError(f"the pipeline has no job {job!r}")
    return record


EVENTS_ROUTER = APIRouter(tags=["events"])

_MOST = 2**62


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


@EVENTS_ROUTER.get("/events", responses=refusals(400))
def list_all(query: QueryDep, context: ContextDep, limit: Limit = 100) -> Page[answers.PipelineEvent]:
    """List everything that happened to all pipelines but previews, newest first; with `after`, what came since, oldest
    first."""
    return _page(context, query, limit)


@EVENTS_ROUTER.get("/pipelines/{pipeline}/events", responses=refusals(400, 404))
def list_events(pipeline: str, query: QueryDep, context: ContextDep, limit: Limit = 100) -> Page[answers.PipelineEvent]:
    """List everything that happened to a pipeline, newest first; with `after`, what came since, oldest first."""
    return _page(context, query, limit, pipeline)


def _page(context: Context, query: EventQuery, limit: int, pipeline: str | None = None) -> Page[answers.PipelineEvent]:
    with context.database.reading() as connection:
        if pipeline is not None:
            query = query.of(pipelines.get(connection, pipeline).job_id)
        page = events.page(connection, query, limit + 1)
    return Page(data=[answers.pipeline_event(stored) for stored in page[:limit]], has_more=len(page) > limit)
