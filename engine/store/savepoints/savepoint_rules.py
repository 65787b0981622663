"""What a pipeline's savepoints are kept and taken by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import TypeAdapter
from sqlalchemy import Column, Connection, Table, Text, select
from sqlalchemy.dialects.sqlite import insert

from engine.jobs.schedules.retention import Retention
from engine.jobs.schedules.savepoint_schedule import Schedule
from engine.store.columns import Instant, RowValues
from engine.store.database import METADATA

RULES = Table(
    "savepoint_rules",
    METADATA,
    Column("pipeline_id", Text, primary_key=True),
    Column("retention", Text),
    Column("schedule", Text),
    Column("due_at", Instant),
    Column("last_at", Instant),
    Column("last_outcome", Text),
)
_RETENTION: TypeAdapter[Retention] = TypeAdapter(Retention)
_SCHEDULE: TypeAdapter[Schedule] = TypeAdapter(Schedule)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of the last instant of a schedule that was due: the savepoint, or why there is none."""

    state: Literal["taking", "drilling", "taken", "proven", "left_out", "failed"]
    savepoint_id: str | None = None
    reason: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether something is still to be done for it."""
        return self.state in ("taking", "drilling")


@dataclass(frozen=True, slots=True)
class StoredSchedule:
    """A schedule, the next instant that is due, and the last one that was."""

    schedule: Schedule
    due_at: datetime
    last_at: datetime | None = None
    last: Outcome | None = None

    def is_due(self, now: datetime) -> bool:
        """Whether there is something to do; never while the schedule is paused."""
        return not self.schedule.paused and self.due_at <= now


_OUTCOME: TypeAdapter[Outcome] = TypeAdapter(Outcome)


def retention(connection: Connection, pipeline_id: str) -> Retention | None:
    """Return the retention rule of a pipeline's savepoints; None if all are kept."""
    text = connection.execute(select(RULES.c.retention).where(RULES.c.pipeline_id == pipeline_id)).scalar()
    return None if text is None else _RETENTION.validate_json(text)


def set_retention(connection: Connection, pipeline_id: str, policy: Retention | None) -> None:
    """Keep savepoints by another policy, or all of them."""
    text = None if policy is None else _RETENTION.dump_json(policy).decode()
    row = insert(RULES).values(pipeline_id=pipeline_id, retention=text)
    connection.execute(row.on_conflict_do_update(index_elements=["pipeline_id"], set_={"retention": text}))


def with_retention(connection: Connection) -> Sequence[str]:
    """The pipelines that have a policy."""
    return list(connection.execute(select(RULES.c.pipeline_id).where(RULES.c.retention.is_not(None))).scalars())


def schedule(connection: Connection, pipeline_id: str) -> StoredSchedule | None:
    """Return the savepoint schedule of a pipeline; None if it has none."""
    query = select(RULES).where(RULES.c.pipeline_id == pipeline_id, RULES.c.schedule.is_not(None))
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else _stored(row)


def all_schedules(connection: Connection) -> Mapping[str, StoredSchedule]:
    """The schedules of all pipelines that have one, by their ids."""
    query = select(RULES).where(RULES.c.schedule.is_not(None))
    return {row["pipeline_id"]: _stored(row) for row in connection.execute(query).mappings()}


def all_retentions(connection: Connection) -> Mapping[str, Retention]:
    """The policies of all pipelines that have one, by their ids."""
    query = select(RULES.c.pipeline_id, RULES.c.retention).where(RULES.c.retention.is_not(None))
    return {name: _RETENTION.validate_json(text) for name, text in connection.execute(query)}


def _stored(row: RowValues) -> StoredSchedule:
    outcome = None if row["last_outcome"] is None else _OUTCOME.validate_json(row["last_outcome"])
    return StoredSchedule(_SCHEDULE.validate_json(row["schedule"]), row["due_at"], row["last_at"], outcome)


def set_schedule(connection: Connection, pipeline_id: str, stored: StoredSchedule | None) -> None:
    """Take savepoints at other instants, or at none; or note what was done for one."""
    values: dict[str, object] = {"schedule": None, "due_at": None, "last_at": None, "last_outcome": None}
    if stored is not None:
        values = {
            "schedule": _SCHEDULE.dump_json(stored.schedule).decode(),
            "due_at": stored.due_at,
            "last_at": stored.last_at,
            "last_outcome": None if stored.last is None else _OUTCOME.dump_json(stored.last).decode(),
        }
    row = insert(RULES).values(pipeline_id=pipeline_id, **values)
    connection.execute(row.on_conflict_do_update(index_elements=["pipeline_id"], set_=values))


def with_schedule(connection: Connection) -> Sequence[str]:
    """The pipelines whose savepoints are taken by themselves."""
    return list(connection.execute(select(RULES.c.pipeline_id).where(RULES.c.schedule.is_not(None))).scalars())
