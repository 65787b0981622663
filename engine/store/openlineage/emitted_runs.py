"""OpenLineage events emitted about runs: the current run of each job. A row outlives its pipeline until the end of the
run is emitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy import BigInteger, Column, Connection, Integer, Table, Text, delete, select
from sqlalchemy.dialects.sqlite import insert

from engine.jobs.decisions.totals import EmittedRun
from engine.store.columns import Instant
from engine.store.database import METADATA
from engine.store.pipelines.pipelines import PIPELINES

TOLD_RUNS = Table(
    "told_runs",
    METADATA,
    Column("job_id", Text, primary_key=True),
    Column("pipeline_id", Text, nullable=False, index=True),
    Column("name", Text, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    Column("launched_at", Instant, nullable=False),
    Column("stage", Text, nullable=False),
    Column("epoch", BigInteger),
    Column("told_at", Instant),
    Column("certificate", BigInteger, nullable=False),
    Column("certificate_at", Instant),
)


def find(connection: Connection, pipeline_id: str) -> EmittedRun | None:
    """Return the run of a pipeline that is being reported; None if none ever was."""
    query = select(TOLD_RUNS).where(TOLD_RUNS.c.pipeline_id == pipeline_id)
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else EmittedRun(**row)


def left(connection: Connection) -> Sequence[str]:
    """Return the deleted pipelines whose runs are not yet reported to their ends."""
    query = select(TOLD_RUNS.c.pipeline_id).where(TOLD_RUNS.c.pipeline_id.not_in(select(PIPELINES.c.id)))
    return list(connection.execute(query).scalars())


def put(connection: Connection, told: EmittedRun) -> None:
    """Record what was emitted."""
    upsert = insert(TOLD_RUNS).values(asdict(told))
    connection.execute(upsert.on_conflict_do_update(index_elements=["job_id"], set_=asdict(told)))


def remove(connection: Connection, told: EmittedRun) -> None:
    """Forget a job whose runs are all reported."""
    connection.execute(delete(TOLD_RUNS).where(TOLD_RUNS.c.job_id == told.job_id))
