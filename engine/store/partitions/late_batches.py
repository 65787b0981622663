"""Late rows in the epochs of a pipeline, for consumers of time buckets that need them."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import groupby, takewhile
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Integer,
    RowMapping,
    Select,
    Table,
    Text,
    and_,
    delete,
    func,
    select,
    update,
)
from sqlalchemy.dialects.sqlite import insert

from engine.checkpoints.late_batches import joined
from engine.jobs.decisions.partitions import LateBatch
from engine.store.database import METADATA
from engine.store.jobs.checkpoints import History
from engine.store.partitions.partitions import CONSUMERS

LATE_BATCHES = Table(
    "late_batches",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("pipeline_id", Text, nullable=False),
    Column("lineage", Text, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("sinks", Text, nullable=False),
    Column("first_epoch", BigInteger, nullable=False),
)
MOST = 500
"""Number of batches of a pipeline to store separately for slow consumers; beyond it, the older half are merged."""


def add(connection: Connection, pipeline_id: str, batches: Sequence[LateBatch]) -> None:
    """Store late rows, if a consumer needs them. A batch that is reported twice is stored once."""
    if not batches or _seen_by_all(connection, pipeline_id) is None:
        return
    rows = [
        {
            "pipeline_id": pipeline_id,
            "lineage": batch.lineage,
            "epoch": batch.epoch,
            "sinks": _written(batch.sinks),
            "first_epoch": batch.epoch,
        }
        for batch in sorted(batches, key=lambda batch: batch.epoch)
    ]
    connection.execute(insert(LATE_BATCHES).on_conflict_do_nothing(), rows)
    of_pipeline = LATE_BATCHES.c.pipeline_id == pipeline_id
    count = connection.execute(select(func.count()).select_from(LATE_BATCHES).where(of_pipeline)).scalar_one()
    if count > MOST:
        oldest = select(LATE_BATCHES).where(of_pipeline).order_by(LATE_BATCHES.c.number).limit(MOST // 2)
        _join(connection, pipeline_id, connection.execute(oldest).mappings().all())


def newest(connection: Connection, pipeline_id: str) -> int:
    """Return the number of the newest batch, 0 if there is none."""
    query = select(func.max(LATE_BATCHES.c.number)).where(LATE_BATCHES.c.pipeline_id == pipeline_id)
    return connection.execute(query).scalar_one() or 0


def after(connection: Connection, pipeline_id: str, number: int, epoch: int | None) -> Sequence[LateBatch]:
    """Return the batches after a number, in order, of epochs that the pipeline has reached."""
    if epoch is None:
        return ()
    query = select(LATE_BATCHES).where(LATE_BATCHES.c.pipeline_id == pipeline_id, LATE_BATCHES.c.number > number)
    rows = connection.execute(query.order_by(LATE_BATCHES.c.number))
    return [
        LateBatch(row.lineage, row.epoch, json.loads(row.sinks), row.number)
        for row in takewhile(lambda row: row.epoch <= epoch, rows)
    ]


def forget(connection: Connection, pipeline_id: str, after_epoch: int | None, but_of: str | None = None) -> None:
    """Delete the late rows of epochs after one, or all for None: the state is restored to that epoch. Those of the
    lineage `but_of` stay. Joined batches no longer distinguish their epochs, so they stay as a whole, as of that epoch.
    """
    forgotten = [LATE_BATCHES.c.pipeline_id == pipeline_id]
    if but_of is not None:
        forgotten.append(LATE_BATCHES.c.lineage != but_of)
    if after_epoch is not None:
        is_both = and_(LATE_BATCHES.c.first_epoch <= after_epoch, LATE_BATCHES.c.epoch > after_epoch)
        connection.execute(update(LATE_BATCHES).where(*forgotten, is_both).values(epoch=after_epoch))
        forgotten.append(LATE_BATCHES.c.epoch > after_epoch)
    connection.execute(delete(LATE_BATCHES).where(*forgotten))


def forget_others(connection: Connection, pipeline_id: str, history: History) -> None:
    """Delete the late rows of epochs that do not belong to the new lineage."""
    is_lacking = history.lacks(LATE_BATCHES.c.lineage, LATE_BATCHES.c.first_epoch)
    connection.execute(delete(LATE_BATCHES).where(LATE_BATCHES.c.pipeline_id == pipeline_id, is_lacking))


def prune(connection: Connection, pipeline_id: str) -> None:
    """Delete the batches that all consumers have seen."""
    query = delete(LATE_BATCHES).where(LATE_BATCHES.c.pipeline_id == pipeline_id)
    seen = _seen_by_all(connection, pipeline_id)
    connection.execute(query if seen is None else query.where(LATE_BATCHES.c.number <= seen))


def _join(connection: Connection, pipeline_id: str, rows: Sequence[RowMapping]) -> None:
    """Join batches of one lineage that either all consumers have seen, or none has."""
    seen = sorted(set(connection.execute(_seen(pipeline_id, CONSUMERS.c.late_seen)).scalars()))
    for _, alike in groupby(rows, key=lambda row: (row["lineage"], bisect_left(seen, row["number"]))):
        *earlier, last = alike
        sinks: dict[str, list[tuple[int, int]]] = {}
        for row in (*earlier, last):
            for sink, stretches in json.loads(row["sinks"]).items():
                sinks.setdefault(sink, []).extend((begin, end) for begin, end in stretches)
        joint = {
            "sinks": _written({sink: joined(parts) for sink, parts in sinks.items()}),
            "first_epoch": min(row["first_epoch"] for row in (*earlier, last)),
        }
        numbers = [row["number"] for row in earlier]
        connection.execute(delete(LATE_BATCHES).where(LATE_BATCHES.c.number.in_(numbers)))
        connection.execute(update(LATE_BATCHES).where(LATE_BATCHES.c.number == last["number"]).values(joint))


def _written(sinks: Mapping[str, Sequence[Sequence[int]]]) -> str:
    return json.dumps(sinks, separators=(",", ":"))


def _seen(pipeline_id: str, what: ColumnElement[int]) -> Select[Any]:
    """Return a query over the last seen batches of the consumers that reopen buckets for late rows."""
    return select(what).where(CONSUMERS.c.pipeline_id == pipeline_id, CONSUMERS.c.late == "reopen")


def _seen_by_all(connection: Connection, pipeline_id: str) -> int | None:
    """Return the last batch that all consumers of late rows have seen; None if there are no such consumers."""
    seen: int | None = connection.execute(_seen(pipeline_id, func.min(CONSUMERS.c.late_seen))).scalar_one()
    return seen
