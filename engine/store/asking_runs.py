"""The runs of OpenLineage that have asked for deployments: a row for each deployment that has changed something, also
where it has named none."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Column, Connection, Table, Text, select
from sqlalchemy.dialects.sqlite import insert

from engine.openlineage.runs import ParentRun
from engine.store.columns import Instant
from engine.store.database import METADATA

ASKING_RUNS = Table(
    "asking_runs",
    METADATA,
    Column("job_id", Text, primary_key=True),
    Column("asked_at", Instant, primary_key=True),
    Column("namespace", Text),
    Column("name", Text),
    Column("run_id", Text),
)


def put(connection: Connection, job_id: str, at: datetime, run: ParentRun | None) -> None:
    """Write down who has asked for what a job does from now on."""
    named = {} if run is None else {"namespace": run.namespace, "name": run.name, "run_id": str(run.run_id)}
    values = {"namespace": None, "name": None, "run_id": None, **named}
    row = insert(ASKING_RUNS).values(job_id=job_id, asked_at=at, **values)
    connection.execute(row.on_conflict_do_update(index_elements=["job_id", "asked_at"], set_=values))


def find(connection: Connection, job_id: str, launched_at: datetime) -> ParentRun | None:
    """Who had asked for a run of a job that was launched then; None where nobody was named."""
    before = (ASKING_RUNS.c.job_id == job_id) & (ASKING_RUNS.c.asked_at <= launched_at)
    query = select(ASKING_RUNS).where(before).order_by(ASKING_RUNS.c.asked_at.desc()).limit(1)
    row = connection.execute(query).mappings().one_or_none()
    if row is None or row["run_id"] is None:
        return None
    return ParentRun(namespace=row["namespace"], name=row["name"], run_id=row["run_id"])
