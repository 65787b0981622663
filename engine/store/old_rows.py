"""Delete rows after their retention."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Column,
    ColumnClause,
    Connection,
    Select,
    Subquery,
    Table,
    and_,
    delete,
    func,
    literal_column,
    select,
)

from engine.jobs.disk import Limits
from engine.store.access.keys import KEPT_FOR, KEYS
from engine.store.jobs.events import EVENTS
from engine.store.jobs.runs import RUNS
from engine.store.partitions import partitions
from engine.store.partitions.certificates import CERTIFICATES
from engine.store.pipelines.pipeline_secrets import SECRETS
from engine.store.pipelines.pipelines import PIPELINES
from engine.values.start_positions import StartStep

_ROW: ColumnClause[int] = literal_column("rowid")
_AT_ONCE = 1000
_KEPT_RUNS = 100
"""Number of the newest runs of a job to retain, whatever their age."""


def reasons(limits: Limits) -> Mapping[str, str]:
    """Return, for each kind of row, why its rows may be deleted."""
    days = limits.history_for.days
    return {
        "idempotency keys": f"older than {KEPT_FOR.days} days",
        "events": f"older than {days} days, and {limits.kept_events} newer ones of the job are there",
        "certificates": f"given more than {days} days ago",
        "partition deliveries": f"acknowledged, and given more than {days} days ago",
        "runs": f"older than {days} days, never up, and {_KEPT_RUNS} newer ones of the job are there",
        "secrets": "their pipeline is not there",
    }


def count(connection: Connection, now: datetime, limits: Limits) -> Mapping[str, int]:
    """Count the rows of each kind that may be deleted."""
    return {
        name: connection.execute(select(func.count()).select_from(rows.subquery())).scalar_one()
        for name, (_, rows) in _old(now, limits).items()
    }


def remove_some(connection: Connection, now: datetime, limits: Limits) -> Mapping[str, int]:
    """Delete a small number of them, so that other writers do not wait long; return how many. None are left once this
    returns 0."""
    return {
        name: connection.execute(delete(table).where(_ROW.in_(rows.limit(_AT_ONCE)))).rowcount
        for name, (table, rows) in _old(now, limits).items()
    }


def _old(now: datetime, limits: Limits) -> Mapping[str, tuple[Table, Select[Any]]]:
    """Return the numbers of the rows that may be deleted."""
    since = now - limits.history_for
    events = _ranked(EVENTS.c.id, EVENTS.c.at)
    runs = _ranked(RUNS.c.generation, *RUNS.c["launched_at", "running_at", "ended_at", "step"])
    never_up = and_(
        runs.c.ended_at.is_not(None),
        runs.c.running_at.is_(None),
        runs.c.step.is_distinct_from(StartStep.FIRST_EPOCH.value),
    )
    return {
        "idempotency keys": (KEYS, select(_ROW).select_from(KEYS).where(KEYS.c.created_at < now - KEPT_FOR)),
        "events": (EVENTS, select(events.c.row).where(events.c.rank > limits.kept_events, events.c.at < since)),
        "certificates": (CERTIFICATES, select(_ROW).select_from(CERTIFICATES).where(CERTIFICATES.c.at < since)),
        "partition deliveries": (partitions.DELIVERIES, partitions.old(since)),
        "runs": (RUNS, select(runs.c.row).where(runs.c.rank > _KEPT_RUNS, runs.c.launched_at < since, never_up)),
        "secrets": (
            SECRETS,
            select(_ROW).select_from(SECRETS).where(SECRETS.c.pipeline_id.not_in(select(PIPELINES.c.id))),
        ),
    }


def _ranked(newest_by: Column[Any], *columns: Column[Any]) -> Subquery:
    """Return the rows of each job, the newest of them first; only these columns, since a table of events is large."""
    table = newest_by.table
    rank = func.row_number().over(partition_by=table.c.job_id, order_by=newest_by.desc()).label("rank")
    return select(_ROW.label("row"), rank, *columns).select_from(table).subquery()
