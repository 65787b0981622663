"""Committed epochs, the newest hundred of each job."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import BigInteger, Column, Connection, Float, Integer, RowMapping, Table, Text, and_, delete, select
from sqlalchemy.dialects.sqlite import insert

from engine.jobs.status import Committed
from engine.store.columns import Instant, Length, Watermarks
from engine.store.database import METADATA

KEPT = 100
"""As many as the reference engine shows; what is on disk is the state directory's business."""

CHECKPOINTS = Table(
    "checkpoints",
    METADATA,
    Column("job_id", Text, primary_key=True),
    Column("epoch", BigInteger, primary_key=True),
    Column("generation", Integer, nullable=False),
    Column("rows_in", BigInteger, nullable=False),
    Column("rows_out", BigInteger, nullable=False),
    Column("rows_per_second", Float, nullable=False),
    Column("duration", Length, nullable=False),
    Column("watermark", Instant),
    Column("sources", Watermarks, nullable=False),
    Column("late_rows", BigInteger, nullable=False),
    Column("dropped_rows", BigInteger, nullable=False),
    Column("state_changes", BigInteger, nullable=False),
    Column("state_bytes", BigInteger, nullable=False),
    Column("at", Instant, nullable=False),
    Column("rows_waiting", BigInteger),
)


def add(connection: Connection, job_id: str, generation: int, epochs: Sequence[Committed]) -> None:
    """Store epochs and let the oldest go. One that is told twice is stored once."""
    for epoch in epochs:
        values = {
            "generation": generation,
            "rows_in": epoch.rows_in,
            "rows_out": epoch.rows_out,
            "rows_per_second": epoch.rows_per_second,
            "duration": epoch.duration,
            "watermark": epoch.watermark,
            "sources": epoch.sources,
            "late_rows": epoch.late_rows,
            "dropped_rows": epoch.dropped_rows,
            "rows_waiting": epoch.rows_waiting,
            "state_changes": epoch.state_changes,
            "state_bytes": epoch.state_bytes,
            "at": epoch.at,
        }
        row = insert(CHECKPOINTS).values(job_id=job_id, epoch=epoch.epoch, **values)
        connection.execute(row.on_conflict_do_update(index_elements=["job_id", "epoch"], set_=values))
    if epochs:
        old = CHECKPOINTS.c.epoch <= max(epoch.epoch for epoch in epochs) - KEPT
        connection.execute(delete(CHECKPOINTS).where(and_(CHECKPOINTS.c.job_id == job_id, old)))


def forget(connection: Connection, job_id: str) -> None:
    """Forget a job's epochs: it now stands at a savepoint, and their numbers will come again."""
    connection.execute(delete(CHECKPOINTS).where(CHECKPOINTS.c.job_id == job_id))


def latest(connection: Connection, job_id: str, limit: int) -> Sequence[Committed]:
    """The newest epochs, newest first."""
    query = select(CHECKPOINTS).where(CHECKPOINTS.c.job_id == job_id)
    query = query.order_by(CHECKPOINTS.c.epoch.desc()).limit(limit)
    return [_from_row(row) for row in connection.execute(query).mappings()]


def _from_row(row: RowMapping) -> Committed:
    return Committed(
        epoch=row["epoch"],
        rows_in=row["rows_in"],
        rows_out=row["rows_out"],
        rows_per_second=row["rows_per_second"],
        duration=row["duration"],
        watermark=row["watermark"],
        sources=row["sources"],
        late_rows=row["late_rows"],
        dropped_rows=row["dropped_rows"],
        rows_waiting=row["rows_waiting"],
        state_changes=row["state_changes"],
        state_bytes=row["state_bytes"],
        at=row["at"],
    )
