"""What came late in the epochs of a pipeline, for those consumers of partitions that want to hear of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import takewhile

from sqlalchemy import BigInteger, Column, Connection, Integer, Table, Text, delete, func, select
from sqlalchemy.dialects.sqlite import insert

from engine.jobs.partitions import LateBatch
from engine.store.database import METADATA
from engine.store.partitions import CONSUMERS

LATE_BATCHES = Table(
    "late_batches",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("pipeline_id", Text, nullable=False),
    Column("lineage", Text, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("sinks", Text, nullable=False),
)


def add(connection: Connection, pipeline_id: str, batches: Sequence[LateBatch]) -> None:
    """Keep what came late, if somebody wants to hear of it. What is reported twice is kept once."""
    if not batches or _seen_by_all(connection, pipeline_id) is None:
        return
    rows = [
        {
            "pipeline_id": pipeline_id,
            "lineage": batch.lineage,
            "epoch": batch.epoch,
            "sinks": json.dumps(batch.sinks, separators=(",", ":")),
        }
        for batch in sorted(batches, key=lambda batch: batch.epoch)
    ]
    connection.execute(insert(LATE_BATCHES).on_conflict_do_nothing(), rows)


def newest(connection: Connection, pipeline_id: str) -> int:
    """The number of the newest batch, 0 without any."""
    query = select(func.max(LATE_BATCHES.c.number)).where(LATE_BATCHES.c.pipeline_id == pipeline_id)
    return connection.execute(query).scalar_one() or 0


def after(connection: Connection, pipeline_id: str, number: int, epoch: int | None) -> Sequence[LateBatch]:
    """The batches after a number, in order, as far as they are of epochs that the pipeline has come to."""
    if epoch is None:
        return ()
    query = select(LATE_BATCHES).where(LATE_BATCHES.c.pipeline_id == pipeline_id, LATE_BATCHES.c.number > number)
    rows = connection.execute(query.order_by(LATE_BATCHES.c.number))
    return [
        LateBatch(row.lineage, row.epoch, json.loads(row.sinks), row.number)
        for row in takewhile(lambda row: row.epoch <= epoch, rows)
    ]


def forget(connection: Connection, pipeline_id: str, after_epoch: int | None, but_of: str | None = None) -> None:
    """Forget what came late in epochs after one, and in all for None: the state goes back to that one. What is of the
    history `but_of` stays."""
    query = delete(LATE_BATCHES).where(LATE_BATCHES.c.pipeline_id == pipeline_id)
    if after_epoch is not None:
        query = query.where(LATE_BATCHES.c.epoch > after_epoch)
    if but_of is not None:
        query = query.where(LATE_BATCHES.c.lineage != but_of)
    connection.execute(query)


def prune(connection: Connection, pipeline_id: str) -> None:
    """Forget what all have heard who want to."""
    query = delete(LATE_BATCHES).where(LATE_BATCHES.c.pipeline_id == pipeline_id)
    seen = _seen_by_all(connection, pipeline_id)
    connection.execute(query if seen is None else query.where(LATE_BATCHES.c.number <= seen))


def _seen_by_all(connection: Connection, pipeline_id: str) -> int | None:
    """Up to which batch all have heard who want to; None when nobody does."""
    query = select(func.min(CONSUMERS.c.late_seen)).where(
        CONSUMERS.c.pipeline_id == pipeline_id, CONSUMERS.c.late == "reopen"
    )
    seen: int | None = connection.execute(query).scalar_one()
    return seen
