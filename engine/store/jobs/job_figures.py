"""Figures of all jobs for metrics, in one query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import TypeAdapter
from sqlalchemy import Column, Connection, Table, Text, and_, bindparam, or_, select
from sqlalchemy.dialects.sqlite import insert

from engine.errors import Cause
from engine.jobs.decisions.totals import Totals, add_epochs, add_restart
from engine.store.database import METADATA
from engine.store.jobs.checkpoints import CHECKPOINTS
from engine.store.jobs.jobs import JOBS
from engine.store.jobs.runs import RUNS
from engine.store.pipelines.pipelines import PIPELINES
from engine.store.pipelines.versions import VERSIONS
from engine.values.epoch_report import EpochReport, OperatorFigures, SinkProgress, TableFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestEpoch:
    """Figures of the newest committed epoch."""

    at: datetime
    state_bytes: int
    state_rows: Mapping[str, int]
    tables: Mapping[str, TableFigures]
    operators: Mapping[str, OperatorFigures]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFigures:
    """Current state of a job, and its totals. `is_open` if its newest run has not ended, `is_state_given_up` if its
    state was discarded: see `engine.store.pipelines.lineages`."""

    pipeline: str
    job_id: str
    state: str
    generation: int
    is_open: bool
    is_state_given_up: bool
    failures: int
    outages: int
    watermark: datetime | None
    sources: Mapping[str, datetime | None]
    sinks: Mapping[str, SinkProgress]
    newest: NewestEpoch | None
    totals: Totals


def job_figures(connection: Connection) -> Iterator[JobFigures]:
    """Yield the figures of every pipeline."""
    newest_run = and_(RUNS.c.job_id == JOBS.c.id, RUNS.c.generation == JOBS.c.generation)
    newest_epoch = and_(CHECKPOINTS.c.job_id == JOBS.c.id, CHECKPOINTS.c.epoch == JOBS.c.epoch)
    version_asked = and_(VERSIONS.c.pipeline_id == PIPELINES.c.id, VERSIONS.c.number == PIPELINES.c.version)
    is_changing = JOBS.c.version.is_distinct_from(PIPELINES.c.version)
    is_state_given_up = or_(PIPELINES.c.restore_savepoint.is_not(None), and_(is_changing, VERSIONS.c.force))
    rows = (
        PIPELINES.join(JOBS, JOBS.c.id == PIPELINES.c.job_id)
        .outerjoin(VERSIONS, version_asked)
        .outerjoin(RUNS, newest_run)
        .outerjoin(CHECKPOINTS, newest_epoch)
        .outerjoin(JOB_TOTALS, JOB_TOTALS.c.job_id == JOBS.c.id)
    )
    query = select(
        PIPELINES.c.name,
        *JOBS.c["id", "state", "generation", "failures", "outages", "watermark", "sources", "sinks"],
        is_state_given_up.label("is_state_given_up"),
        RUNS.c.launched_at,
        RUNS.c.ended_at,
        *CHECKPOINTS.c["at", "state_bytes", "state_rows", "tables", "operators"],
        JOB_TOTALS.c.totals,
    ).select_from(rows)
    for row in connection.execute(query.order_by(PIPELINES.c.name)):
        newest = NewestEpoch(
            at=row.at,
            state_bytes=row.state_bytes,
            state_rows=row.state_rows,
            tables=row.tables,
            operators=row.operators,
        )
        yield JobFigures(
            pipeline=row.name,
            job_id=row.id,
            state=row.state,
            generation=row.generation,
            is_open=row.launched_at is not None and row.ended_at is None,
            is_state_given_up=bool(row.is_state_given_up),
            failures=row.failures,
            outages=row.outages,
            watermark=row.watermark,
            sources=row.sources,
            sinks=row.sinks,
            newest=None if row.at is None else newest,
            totals=read(row.totals),
        )


JOB_TOTALS = Table(
    "job_totals",
    METADATA,
    Column("job_id", Text, primary_key=True),
    Column("totals", Text, nullable=False),
)
_JSON = TypeAdapter(Totals)
_ADDED = insert(JOB_TOTALS)
_UPSERT = _ADDED.on_conflict_do_update(index_elements=["job_id"], set_={"totals": _ADDED.excluded.totals})
_READ = select(JOB_TOTALS.c.totals).where(JOB_TOTALS.c.job_id == bindparam("job"))


def count_epochs(connection: Connection, job_id: str, reports: Sequence[EpochReport]) -> None:
    """Add epochs that were not counted before, oldest first."""
    if reports:
        _write(connection, job_id, add_epochs(_get(connection, job_id), reports))


def count_restart(connection: Connection, job_id: str, cause: Cause) -> None:
    """Add a start after a failure."""
    _write(connection, job_id, add_restart(_get(connection, job_id), cause))


def read(text: str | None) -> Totals:
    """Return the totals of a row; zero for a job without a row."""
    return Totals() if text is None else _JSON.validate_json(text)


def _get(connection: Connection, job_id: str) -> Totals:
    return read(connection.execute(_READ, {"job": job_id}).scalar_one_or_none())


def _write(connection: Connection, job_id: str, totals: Totals) -> None:
    text = _JSON.dump_json(totals, exclude_none=True).decode()
    connection.execute(_UPSERT, {"job_id": job_id, "totals": text})
