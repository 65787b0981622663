"""What jobs have done in all, a row for each job."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import TypeAdapter
from sqlalchemy import Column, Connection, Table, Text, bindparam, select
from sqlalchemy.dialects.sqlite import insert

from engine.errors import Cause
from engine.jobs.decisions.totals import Totals, add_epochs, add_restart
from engine.store.database import METADATA
from engine.values.epoch_report import EpochReport

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
    """The totals of a row; of a job that has no row, nothing was counted yet."""
    return Totals() if text is None else _JSON.validate_json(text)


def _get(connection: Connection, job_id: str) -> Totals:
    return read(connection.execute(_READ, {"job": job_id}).scalar_one_or_none())


def _write(connection: Connection, job_id: str, totals: Totals) -> None:
    text = _JSON.dump_json(totals, exclude_none=True).decode()
    connection.execute(_UPSERT, {"job_id": job_id, "totals": text})
