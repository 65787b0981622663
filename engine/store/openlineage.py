"""OpenLineage runs that have requested changes of jobs, and runs about which events were emitted.

A row outlives its pipeline until the end of the run is emitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

from sqlalchemy import BigInteger, Column, Connection, Integer, RowMapping, Table, Text, delete, select
from sqlalchemy.dialects.sqlite import insert

from engine.jobs.decisions.totals import EmittedRun
from engine.openlineage.runs import AskingRun, ParentRun
from engine.store.columns import Instant
from engine.store.database import METADATA
from engine.store.pipelines.pipelines import PIPELINES

ASKING_RUNS = Table(
    "asking_runs",
    METADATA,
    Column("job_id", Text, primary_key=True),
    Column("asked_at", Instant, primary_key=True),
    Column("namespace", Text),
    Column("name", Text),
    Column("run_id", Text),
    Column("root_namespace", Text),
    Column("root_name", Text),
    Column("root_run_id", Text),
)
_COLUMNS = ("namespace", "name", "run_id")


def put_asking_run(connection: Connection, job_id: str, at: datetime, asking: AskingRun | None) -> None:
    """Record who has requested what a job does from now on."""
    values = {
        **_columns(None if asking is None else asking.run),
        **_columns(None if asking is None else asking.root, "root_"),
    }
    row = insert(ASKING_RUNS).values(job_id=job_id, asked_at=at, **values)
    connection.execute(row.on_conflict_do_update(index_elements=["job_id", "asked_at"], set_=values))


def find_asking_run(connection: Connection, job_id: str, launched_at: datetime) -> AskingRun | None:
    """Return the Airflow run that asked for the start at `launched_at`; None if no request named one."""
    before = (ASKING_RUNS.c.job_id == job_id) & (ASKING_RUNS.c.asked_at <= launched_at)
    query = select(ASKING_RUNS).where(before).order_by(ASKING_RUNS.c.asked_at.desc()).limit(1)
    row = connection.execute(query).mappings().one_or_none()
    run = None if row is None else _run(row)
    return None if row is None or run is None else AskingRun(run, _run(row, "root_"))


def _columns(run: ParentRun | None, prefix: str = "") -> dict[str, str | None]:
    named = (None, None, None) if run is None else (run.namespace, run.name, str(run.run_id))
    return {f"{prefix}{column}": value for column, value in zip(_COLUMNS, named, strict=True)}


def _run(row: RowMapping, prefix: str = "") -> ParentRun | None:
    namespace, name, run_id = (row[f"{prefix}{column}"] for column in _COLUMNS)
    return None if run_id is None else ParentRun(namespace=namespace, name=name, run_id=run_id)


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


def find_emitted_run(connection: Connection, pipeline_id: str) -> EmittedRun | None:
    """Return the run of a pipeline that is being reported; None if none ever was."""
    query = select(TOLD_RUNS).where(TOLD_RUNS.c.pipeline_id == pipeline_id)
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else EmittedRun(**row)


def left(connection: Connection) -> Sequence[str]:
    """Return the deleted pipelines whose runs are not yet reported to their ends."""
    query = select(TOLD_RUNS.c.pipeline_id).where(TOLD_RUNS.c.pipeline_id.not_in(select(PIPELINES.c.id)))
    return list(connection.execute(query).scalars())


def put_emitted_run(connection: Connection, told: EmittedRun) -> None:
    """Record what was emitted."""
    upsert = insert(TOLD_RUNS).values(asdict(told))
    connection.execute(upsert.on_conflict_do_update(index_elements=["job_id"], set_=asdict(told)))


def remove(connection: Connection, told: EmittedRun) -> None:
    """Forget a job whose runs are all reported."""
    connection.execute(delete(TOLD_RUNS).where(TOLD_RUNS.c.job_id == told.job_id))
