"""Figures of single operators: rows per second of tables, and the state size at a committed epoch."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Annotated, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from engine.api.answers import Page
from engine.api.http.depends import ContextDep
from engine.api.http.problems import refusals
from engine.api.jobs.jobs import read_job
from engine.errors import EpochNotKeptError
from engine.jobs.decisions.totals import table_of
from engine.store.jobs import checkpoints
from engine.store.pipelines import versions
from engine.values.epoch_report import EpochReport, TableFigures
from engine.values.instants import to_micros

ROUTER = APIRouter(prefix="/pipelines/{pipeline}/jobs/{job}", tags=["jobs"], responses=refusals(404))

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


@ROUTER.get("/operator_metric_groups")
def list_metrics(pipeline: str, job: str, context: ContextDep) -> Page[OperatorMetricGroup]:
    """List the rows per second of each source and sink, of the running version. Unknown for a table that the plan reads
    at several places, and for SQL operators between sources and sinks."""
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
            OperatorMetricGroup(node_id=node["node_id"], metric_groups=_groups(node, tables, rates)) for node in nodes
        ]
    )


@ROUTER.get("/checkpoints/{epoch}/operator_checkpoint_groups", responses=refusals(409))
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


def _rates(newest: Sequence[EpochReport], now: datetime) -> Iterator[tuple[int, float, Mapping[str, TableFigures]]]:
    """Yield each epoch's commit time, the seconds since the commit before, and its figures; oldest first."""
    for before, report in pairwise(reversed(newest)):
        seconds = (report.at - before.at).total_seconds()
        if report.at >= now - _KEPT_FOR and seconds > 0:
            yield to_micros(report.at), seconds, report.tables


def _groups(
    node: Mapping[str, str],
    tables: Mapping[str, int],
    rates: Sequence[tuple[int, float, Mapping[str, TableFigures]]],
) -> list[MetricGroup]:
    """The rates of a source or sink that is at one place of the plan."""
    table, is_read = table_of(node), node["operator"] == "Scan"
    if table is None or tables[table] > 1:
        return []
    rows = [
        (at, figures[table].rows_in if is_read else figures[table].rows_out, seconds)
        for at, seconds, figures in rates
        if table in figures
    ]
    metrics = [Metric(time=at, value=round(count / seconds, 1)) for at, count, seconds in rows if count is not None]
    name: MetricName = "messages_sent" if is_read else "messages_recv"
    return [MetricGroup(name=name, subtasks=[SubtaskMetrics(metrics=metrics)])] if metrics else []
