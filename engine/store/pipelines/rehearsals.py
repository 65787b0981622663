"""Rehearsals of new queries, and their results.

waiting    in the queue
running    a process is running it
done       it has ended, and the rows were compared
failed     nothing was compared; `code` says why
stopped    a user has cancelled it
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias

from pydantic import TypeAdapter
from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Integer,
    RowMapping,
    Table,
    Text,
    delete,
    insert,
    literal_column,
    select,
)
from sqlalchemy import update as update_rows

from engine.errors import EngineError, NoSuchRehearsalError
from engine.jobs.decisions.rollback import RehearsedChange
from engine.store.columns import Instant, Length
from engine.store.database import METADATA

REHEARSALS = Table(
    "rehearsals",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("pipeline_id", Text, nullable=False, index=True),
    Column("state", Text, nullable=False),
    Column("change", Text, nullable=False),
    Column("plan_id", Text, nullable=False),
    Column("version", Integer),
    Column("savepoint_id", Text),
    Column("creator", Text),
    Column("created_at", Instant, nullable=False),
    Column("time_limit", Length, nullable=False),
    Column("started_at", Instant),
    Column("ended_at", Instant),
    Column("report", Text),
    Column("shown", Text),
    Column("code", Text),
    Column("message", Text),
    Column("hint", Text),
)
RehearsalState: TypeAlias = Literal["waiting", "running", "done", "failed", "stopped"]
"""State of a rehearsal."""
OPEN: tuple[RehearsalState, ...] = ("waiting", "running")
"""States of a rehearsal that has not ended."""
_ORDER: ColumnElement[int] = literal_column("rehearsals.rowid")
"""Order of the requests, which does not depend on the clock."""
_CHANGE: TypeAdapter[RehearsedChange] = TypeAdapter(RehearsedChange)


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A rehearsal, as the control plane knows it."""

    id: str
    pipeline_id: str
    change: RehearsedChange
    plan_id: str
    """Upgrade plan of the state, at the time of the request."""
    created_at: datetime
    time_limit: timedelta
    state: RehearsalState = "waiting"
    version: int | None = None
    """Version of the pipeline that was running at the time of the request."""
    savepoint_id: str | None = None
    """Savepoint from which it starts; without one, the newest epoch when it begins."""
    creator: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    report: Mapping[str, Any] | None = None
    shown: str | None = None
    """Report for users."""
    code: str | None = None
    message: str | None = None
    hint: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether it has not ended."""
        return self.state in OPEN

    def played(self, at: datetime, report: Mapping[str, Any], shown: str) -> Rehearsal:
        """Return the rehearsal as completed."""
        return replace(self, state="done", ended_at=at, report=report, shown=shown)

    def failed(self, at: datetime, code: str, message: str, hint: str | None) -> Rehearsal:
        """Return the rehearsal as failed."""
        return replace(self, state="failed", ended_at=at, code=code, message=message, hint=hint)

    def given_up(self, at: datetime, error: EngineError) -> Rehearsal:
        """Return the rehearsal as ended for that reason."""
        return self.failed(at, error.code, error.message, error.hint)


def add(connection: Connection, rehearsal: Rehearsal, kept: int) -> None:
    """Store a new rehearsal; of the ended ones of the pipeline, that many are retained."""
    connection.execute(insert(REHEARSALS).values(_row(rehearsal)))
    mine = REHEARSALS.c.pipeline_id == rehearsal.pipeline_id
    over = select(REHEARSALS.c.id).where(mine, REHEARSALS.c.state.not_in(OPEN)).order_by(_ORDER.desc()).offset(kept)
    connection.execute(delete(REHEARSALS).where(REHEARSALS.c.id.in_(over)))


def find(connection: Connection, pipeline_id: str, rehearsal_id: str) -> Rehearsal | None:
    """Return a rehearsal of that pipeline, if there is one."""
    query = select(REHEARSALS).where(REHEARSALS.c.id == rehearsal_id, REHEARSALS.c.pipeline_id == pipeline_id)
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else _from_row(row)


def get(connection: Connection, pipeline_id: str, rehearsal_id: str) -> Rehearsal:
    """Return a rehearsal of that pipeline."""
    if (rehearsal := find(connection, pipeline_id, rehearsal_id)) is None:
        raise NoSuchRehearsalError(
            f"the pipeline has no rehearsal {rehearsal_id!r}", hint="list them with `arroyo rehearsals`"
        )
    return rehearsal


def page(connection: Connection, pipeline_id: str, limit: int) -> Sequence[Rehearsal]:
    """Return the newest rehearsals of a pipeline, newest first."""
    query = select(REHEARSALS).where(REHEARSALS.c.pipeline_id == pipeline_id).order_by(_ORDER.desc()).limit(limit)
    return [_from_row(row) for row in connection.execute(query).mappings()]


def not_over(connection: Connection, pipeline_id: str | None = None) -> Sequence[Rehearsal]:
    """Return the rehearsals that wait or run, of one pipeline or of all, in the order of their requests."""
    query = select(REHEARSALS).where(REHEARSALS.c.state.in_(OPEN)).order_by(_ORDER)
    if pipeline_id is not None:
        query = query.where(REHEARSALS.c.pipeline_id == pipeline_id)
    return [_from_row(row) for row in connection.execute(query).mappings()]


def move_on(connection: Connection, rehearsal: Rehearsal) -> bool:
    """Update a rehearsal; return False if it has ended already, or was deleted."""
    still_open = REHEARSALS.c.id == rehearsal.id, REHEARSALS.c.state.in_(OPEN)
    done = connection.execute(update_rows(REHEARSALS).where(*still_open).values(_row(rehearsal)))
    return done.rowcount == 1


def reading(connection: Connection, savepoint_id: str) -> bool:
    """Whether a rehearsal that has not ended uses that savepoint."""
    query = select(REHEARSALS.c.id).where(REHEARSALS.c.savepoint_id == savepoint_id, REHEARSALS.c.state.in_(OPEN))
    return connection.execute(query).first() is not None


def _from_row(row: RowMapping) -> Rehearsal:
    report = row["report"]
    values = {**row, "change": _CHANGE.validate_json(row["change"]), "report": report and json.loads(report)}
    return Rehearsal(**values)


def _row(rehearsal: Rehearsal) -> Mapping[str, object]:
    values = {column.name: getattr(rehearsal, column.name) for column in REHEARSALS.columns}
    report = None if rehearsal.report is None else json.dumps(dict(rehearsal.report))
    return {**values, "change": _CHANGE.dump_json(rehearsal.change).decode(), "report": report}
