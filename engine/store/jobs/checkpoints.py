"""Committed epochs: the newest hundred of each job, and those of earlier lineages that are part of the current
state.

lineage c from epoch 9 on, which descends from a at 8 of a                   epochs up to 8; of c all b, from a at 3,
at 5   none of b: the state was reset to before it began
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Float,
    Integer,
    RowMapping,
    Table,
    Text,
    and_,
    bindparam,
    delete,
    false,
    or_,
    select,
)
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.types import TypeEngine

from engine.checkpoints.lineage import KEPT_PARENTS
from engine.jobs.decisions.totals import EpochRows
from engine.store.columns import (
    Counts,
    FiguresOfOperators,
    FiguresOfTables,
    Instant,
    Length,
    Lengths,
    SinkFigures,
    Watermarks,
)
from engine.store.database import METADATA
from engine.store.jobs.jobs import JOBS
from engine.values.epoch_report import SENT, DeclaredFigure, EpochReport, OperatorFigures, SinkProgress, TableFigures

_LIMIT = 100
"""Number of epochs to retain, as many as Arroyo shows; the state directory has its own retention."""

_TYPES: Mapping[object, type[TypeEngine[Any]]] = {
    int: BigInteger,
    str: Text,
    float: Float,
    datetime: Instant,
    timedelta: Length,
    Mapping[str, datetime | None]: Watermarks,
    Mapping[str, SinkProgress]: SinkFigures,
    Mapping[str, TableFigures]: FiguresOfTables,
    Mapping[str, OperatorFigures]: FiguresOfOperators,
    Mapping[str, timedelta]: Lengths,
    Mapping[str, int]: Counts,
}


def _column(declared: DeclaredFigure) -> Column[Any]:
    kind, is_key = _TYPES[declared.kind], declared.name == "epoch"
    return Column(declared.column, kind, primary_key=is_key, nullable=declared.is_optional)


_EPOCH, *_FIGURES = (_column(declared) for declared in SENT)
CHECKPOINTS = Table(
    "checkpoints",
    METADATA,
    Column("job_id", Text, primary_key=True),
    _EPOCH,
    Column("generation", Integer, nullable=False),
    *_FIGURES,
)


_ADDED = insert(CHECKPOINTS)
_UPSERT = _ADDED.on_conflict_do_update(
    index_elements=["job_id", "epoch"],
    set_={column.name: column for column in _ADDED.excluded if column.name not in ("job_id", "epoch")},
)
_DELETE_OLD = delete(CHECKPOINTS).where(
    CHECKPOINTS.c.job_id == bindparam("of_job"), CHECKPOINTS.c.epoch <= bindparam("last")
)
# Made once, since drivers report many times a second, and making a statement takes longer than executing it.


def add(connection: Connection, job_id: str, generation: int, reports: Sequence[EpochReport]) -> None:
    """Store epochs and delete the oldest. One that is reported twice is stored once."""
    if not reports:
        return
    rows = [{**_to_row(report), "job_id": job_id, "generation": generation} for report in reports]
    connection.execute(_UPSERT, rows)
    newest = max(report.epoch for report in reports)
    connection.execute(_DELETE_OLD, {"of_job": job_id, "last": newest - _LIMIT})


def forget(connection: Connection, job_id: str, since: int = 0) -> None:
    """Delete a job's epochs from a number on: another lineage of its state begins, and uses the numbers again."""
    connection.execute(delete(CHECKPOINTS).where(CHECKPOINTS.c.job_id == job_id, CHECKPOINTS.c.epoch >= since))


def latest(connection: Connection, job_id: str, limit: int) -> Sequence[EpochReport]:
    """Return the newest epochs, newest first."""
    query = select(CHECKPOINTS).where(CHECKPOINTS.c.job_id == job_id)
    query = query.order_by(CHECKPOINTS.c.epoch.desc()).limit(limit)
    return [_from_row(row) for row in connection.execute(query).mappings()]


def rows_written(connection: Connection, job_id: str) -> Mapping[int, Mapping[str, int]]:
    """Return the rows that each sink got in each stored epoch."""
    query = select(CHECKPOINTS.c.epoch, CHECKPOINTS.c.tables).where(CHECKPOINTS.c.job_id == job_id)
    return {
        row.epoch: {name: table.rows_out for name, table in row.tables.items() if table.rows_out is not None}
        for row in connection.execute(query)
    }


def newest_two(connection: Connection, job_ids: Sequence[str]) -> Mapping[str, Sequence[EpochRows]]:
    """Return the rows that the two newest epochs of each job have read, newest first, in one statement."""
    columns = CHECKPOINTS.c.job_id, CHECKPOINTS.c.at, CHECKPOINTS.c.rows_in
    newest = CHECKPOINTS.join(JOBS, and_(JOBS.c.id == CHECKPOINTS.c.job_id, CHECKPOINTS.c.epoch > JOBS.c.epoch - 2))
    query = select(*columns).select_from(newest).where(JOBS.c.id.in_(job_ids)).order_by(CHECKPOINTS.c.epoch.desc())
    epochs: dict[str, list[EpochRows]] = {}
    for row in connection.execute(query):
        epochs.setdefault(row.job_id, []).append(EpochRows(row.at, row.rows_in))
    return epochs


def _to_row(report: EpochReport) -> dict[str, object]:
    return {declared.column: getattr(report, declared.name) for declared in SENT}


def _from_row(row: RowMapping) -> EpochReport:
    return EpochReport(**{declared.name: row[declared.column] for declared in SENT})


@dataclass(frozen=True, slots=True)
class History:
    """A lineage, its first epoch, and its ancestors, nearest first, each with the last epoch that was taken over; None
    if unknown."""

    id: str
    first_epoch: int
    parents: Sequence[tuple[str, int]] | None = None

    def lacks(self, lineage: Column[str], epoch: Column[int]) -> ColumnElement[bool]:
        """Whether an epoch does not belong to this lineage, as far as that is known."""
        is_other = lineage.is_distinct_from(self.id)
        comes_again = epoch >= self.first_epoch
        if self.parents is None:
            return and_(is_other, comes_again)
        is_parent = lineage.in_([parent for parent, _ in self.parents])
        is_kept = or_(false(), *(and_(lineage == parent, epoch <= last) for parent, last in self.parents))
        # where as many are named as ever are, it may have come from further ones
        left = ~is_kept if len(self.parents) < KEPT_PARENTS else and_(is_parent, ~is_kept)
        return and_(is_other, or_(comes_again, left))
