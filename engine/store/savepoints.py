"""Tables of savepoints and their rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import TypeAdapter
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Integer,
    RowMapping,
    Table,
    Text,
    and_,
    delete,
    exists,
    insert,
    literal_column,
    not_,
    or_,
    select,
)
from sqlalchemy import update as update_rows
from sqlalchemy.dialects.sqlite import insert as insert_sqlite

from engine.errors import SavepointNotFoundError
from engine.jobs.decisions.rollback import SavedState
from engine.jobs.decisions.states import State
from engine.jobs.schedules.retention import Retention
from engine.jobs.schedules.savepoint_schedule import Schedule
from engine.store.columns import Instant, RowValues
from engine.store.database import METADATA
from engine.store.jobs.jobs import JOBS
from engine.store.pipelines.pipelines import PIPELINES

SAVEPOINTS = Table(
    "savepoints",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("pipeline_id", Text, nullable=False, index=True),
    Column("label", Text),
    Column("state", Text, nullable=False),
    Column("epoch", BigInteger),
    Column("watermark", Instant),
    Column("parallelism", Integer),
    Column("bytes", BigInteger),
    Column("created_at", Instant, nullable=False),
    Column("failure_message", Text),
    Column("version", Integer),
    Column("creator", Text),
    Column("reason", Text),
    Column("after_stop", Boolean, nullable=False),
    Column("before_version", Integer),
    Column("pinned", Boolean, nullable=False),
    Column("verified_at", Instant),
    Column("proven_at", Instant),
    Column("damage", Text),
)
_DELETING = "deleting"
"""State of a savepoint whose files are being deleted. It is not listed, and cannot be used."""
_IS_THERE = SAVEPOINTS.c.state != _DELETING
_CARED_FOR = frozenset({"pinned", "verified_at", "proven_at", "damage"})
"""Columns that others write while it is being taken."""
_ORDER: ColumnElement[int] = literal_column("savepoints.rowid")
"""Order of the requests, which does not depend on the clock."""


@dataclass(frozen=True, slots=True)
class Savepoint:
    """A savepoint, as the control plane knows it; its own manifest has its content."""

    id: str
    pipeline_id: str
    label: str | None
    created_at: datetime
    state: Literal["pending", "completed", "failed"] = "pending"
    epoch: int | None = None
    watermark: datetime | None = None
    parallelism: int | None = None
    bytes: int | None = None
    failure_message: str | None = None
    version: int | None = None
    """Version of the pipeline that the state belongs to."""
    creator: str | None = None
    reason: str | None = None
    after_stop: bool = False
    """Whether it is taken of the last epoch before the job stops."""
    before_version: int | None = None
    """Version whose driver takes it before it changes the previous version's state. If that version never runs, the
    savepoint is cancelled, because the state will have changed."""
    pinned: bool = False
    """Whether it must not be deleted."""
    verified_at: datetime | None = None
    """When all its files were last compared with its manifest."""
    proven_at: datetime | None = None
    """When its whole state was last restored and read."""
    damage: str | None = None
    """The damage that was found."""


def add(connection: Connection, savepoint: Savepoint) -> None:
    """Store a savepoint that is about to be taken."""
    connection.execute(insert(SAVEPOINTS).values(_row(savepoint)))


def settle(connection: Connection, savepoint: Savepoint) -> None:
    """Record the outcome of a savepoint."""
    outcome = {name: value for name, value in _row(savepoint).items() if name not in _CARED_FOR}
    connection.execute(update_rows(SAVEPOINTS).where(SAVEPOINTS.c.id == savepoint.id).values(outcome))


def find(connection: Connection, pipeline_id: str, savepoint_id: str) -> Savepoint | None:
    """Return a savepoint of that pipeline, if there is one."""
    same = and_(SAVEPOINTS.c.id == savepoint_id, SAVEPOINTS.c.pipeline_id == pipeline_id, _IS_THERE)
    row = connection.execute(select(SAVEPOINTS).where(same)).mappings().one_or_none()
    return None if row is None else _from_row(row)


def anywhere(connection: Connection, savepoint_id: str) -> Savepoint:
    """Return a savepoint, whatever its pipeline."""
    query = select(SAVEPOINTS).where(SAVEPOINTS.c.id == savepoint_id, _IS_THERE)
    if (row := connection.execute(query).mappings().one_or_none()) is None:
        raise SavepointNotFoundError(
            f"there is no savepoint {savepoint_id!r}", hint="`arroyo savepoints PIPELINE` lists those of a pipeline"
        )
    return _from_row(row)


def get(connection: Connection, pipeline_id: str, savepoint_id: str) -> Savepoint:
    """Return a savepoint of that pipeline."""
    if (savepoint := find(connection, pipeline_id, savepoint_id)) is None:
        raise SavepointNotFoundError(
            f"the pipeline has no savepoint {savepoint_id!r}", hint="list them with `arroyo savepoints`"
        )
    return savepoint


def epochs(connection: Connection, savepoint_ids: Sequence[str]) -> Mapping[str, int | None]:
    """Return the last epoch of each of these savepoints."""
    query = select(SAVEPOINTS.c.id, SAVEPOINTS.c.epoch).where(SAVEPOINTS.c.id.in_(savepoint_ids))
    return {row.id: row.epoch for row in connection.execute(query)}


def page(connection: Connection, pipeline_id: str, limit: int) -> Sequence[Savepoint]:
    """Return the newest savepoints of a pipeline, newest first."""
    query = select(SAVEPOINTS).where(SAVEPOINTS.c.pipeline_id == pipeline_id, _IS_THERE)
    query = query.order_by(SAVEPOINTS.c.created_at.desc(), SAVEPOINTS.c.id).limit(limit)
    return [_from_row(row) for row in connection.execute(query).mappings()]


def in_order(connection: Connection, pipeline_id: str) -> Sequence[Savepoint]:
    """Return the savepoints of a pipeline, in the order of the requests for them."""
    query = select(SAVEPOINTS).where(SAVEPOINTS.c.pipeline_id == pipeline_id, _IS_THERE).order_by(_ORDER)
    return [_from_row(row) for row in connection.execute(query).mappings()]


def pin(connection: Connection, savepoint_id: str, pinned: bool) -> None:
    """Protect a savepoint from deletion, or end the protection."""
    connection.execute(update_rows(SAVEPOINTS).where(SAVEPOINTS.c.id == savepoint_id).values(pinned=pinned))


def note_whole(connection: Connection, savepoint_id: str, at: datetime, *, is_proven: bool) -> None:
    """Record that a savepoint was read and is undamaged. Recorded damage is only cleared by a restore test: unchanged
    files do not prove that they can be used."""
    facts = {"verified_at": at} | ({"proven_at": at, "damage": None} if is_proven else {})
    connection.execute(update_rows(SAVEPOINTS).where(SAVEPOINTS.c.id == savepoint_id).values(facts))


def note_damage(connection: Connection, savepoint_id: str, at: datetime, damage: str) -> None:
    """Record the damage of a savepoint."""
    facts = {"verified_at": at, "damage": damage}
    connection.execute(update_rows(SAVEPOINTS).where(SAVEPOINTS.c.id == savepoint_id).values(facts))


def mark_deleting(connection: Connection, savepoint_id: str) -> None:
    """Record that its files are to be deleted; from now on it is hidden."""
    connection.execute(update_rows(SAVEPOINTS).where(SAVEPOINTS.c.id == savepoint_id).values(state=_DELETING))


def deleting(connection: Connection) -> Sequence[tuple[str, str]]:
    """Return the savepoints whose files are to be deleted, each with its pipeline."""
    query = select(SAVEPOINTS.c.pipeline_id, SAVEPOINTS.c.id).where(not_(_IS_THERE)).order_by(_ORDER)
    return [(row.pipeline_id, row.id) for row in connection.execute(query)]


def forget(connection: Connection, savepoint_id: str) -> None:
    """Delete the record of a savepoint whose files are gone."""
    connection.execute(delete(SAVEPOINTS).where(SAVEPOINTS.c.id == savepoint_id, not_(_IS_THERE)))


def pending_before_versions(connection: Connection, pipeline_id: str) -> Sequence[Savepoint]:
    """Return the pending savepoints of a pipeline that a driver is to take before a version."""
    is_one = and_(SAVEPOINTS.c.state == "pending", SAVEPOINTS.c.before_version.is_not(None))
    query = select(SAVEPOINTS).where(SAVEPOINTS.c.pipeline_id == pipeline_id, is_one)
    return [_from_row(row) for row in connection.execute(query).mappings()]


def before_versions(connection: Connection, pipeline_id: str) -> Sequence[SavedState]:
    """Return the states of a pipeline that were saved before another version replaced them, and can be restored."""
    is_one = and_(
        SAVEPOINTS.c.pipeline_id == pipeline_id,
        SAVEPOINTS.c.state == "completed",
        SAVEPOINTS.c.before_version.is_not(None),
        SAVEPOINTS.c.version.is_not(None),
    )
    query = select(SAVEPOINTS.c.id, SAVEPOINTS.c.before_version, SAVEPOINTS.c.version).where(is_one)
    return [SavedState(row.id, row.before_version, row.version) for row in connection.execute(query)]


def states(connection: Connection, pipeline_id: str) -> Sequence[str]:
    """Return the state of each savepoint of a pipeline."""
    return list(connection.execute(select(SAVEPOINTS.c.state).where(SAVEPOINTS.c.pipeline_id == pipeline_id)).scalars())


def waiting_for_rest() -> ColumnElement[bool]:
    """Select stopped pipelines with a savepoint that must be taken before their job may start again, since the next run
    would change the state."""
    is_of_now = or_(SAVEPOINTS.c.after_stop, SAVEPOINTS.c.before_version.is_not(None))
    return exists().where(SAVEPOINTS.c.pipeline_id == PIPELINES.c.id, SAVEPOINTS.c.state == "pending", is_of_now)


def due(connection: Connection, pipeline_id: str | None = None) -> Sequence[Savepoint]:
    """Return the savepoints that can be taken now, of one pipeline or of all. A savepoint after a stop waits until the
    job has stopped, or until the stop is cancelled. A savepoint before a version waits until a run of that version or a
    later one is up, or until the job has stopped: before that, the run may still take it."""
    rows = SAVEPOINTS.join(PIPELINES, PIPELINES.c.id == SAVEPOINTS.c.pipeline_id)
    rows = rows.join(JOBS, JOBS.c.id == PIPELINES.c.job_id)
    is_at_rest = JOBS.c.state.in_([state.value for state in State if state.is_terminal])
    may_be_last = or_(not_(SAVEPOINTS.c.after_stop), is_at_rest, PIPELINES.c.stop == "none")
    is_up = and_(JOBS.c.state == State.RUNNING.value, JOBS.c.version >= SAVEPOINTS.c.before_version)
    is_taken = or_(SAVEPOINTS.c.before_version.is_(None), is_at_rest, is_up)
    query = select(SAVEPOINTS).select_from(rows)
    query = query.where(SAVEPOINTS.c.state == "pending", may_be_last, is_taken)
    if pipeline_id is not None:
        query = query.where(SAVEPOINTS.c.pipeline_id == pipeline_id)
    return [_from_row(row) for row in connection.execute(query).mappings()]


def _from_row(row: RowMapping) -> Savepoint:
    return Savepoint(
        id=row["id"],
        pipeline_id=row["pipeline_id"],
        label=row["label"],
        created_at=row["created_at"],
        state=row["state"],
        epoch=row["epoch"],
        watermark=row["watermark"],
        parallelism=row["parallelism"],
        bytes=row["bytes"],
        failure_message=row["failure_message"],
        version=row["version"],
        creator=row["creator"],
        reason=row["reason"],
        after_stop=row["after_stop"],
        before_version=row["before_version"],
        pinned=row["pinned"],
        verified_at=row["verified_at"],
        proven_at=row["proven_at"],
        damage=row["damage"],
    )


def _row(savepoint: Savepoint) -> Mapping[str, object]:
    return {
        "id": savepoint.id,
        "pipeline_id": savepoint.pipeline_id,
        "label": savepoint.label,
        "created_at": savepoint.created_at,
        "state": savepoint.state,
        "epoch": savepoint.epoch,
        "watermark": savepoint.watermark,
        "parallelism": savepoint.parallelism,
        "bytes": savepoint.bytes,
        "failure_message": savepoint.failure_message,
        "version": savepoint.version,
        "creator": savepoint.creator,
        "reason": savepoint.reason,
        "after_stop": savepoint.after_stop,
        "before_version": savepoint.before_version,
        "pinned": savepoint.pinned,
        "verified_at": savepoint.verified_at,
        "proven_at": savepoint.proven_at,
        "damage": savepoint.damage,
    }


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
    """Result of the last due instant of a schedule: the savepoint, or why there is none."""

    state: Literal["taking", "drilling", "taken", "proven", "left_out", "failed"]
    savepoint_id: str | None = None
    reason: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether a further step is due for it."""
        return self.state in ("taking", "drilling")


@dataclass(frozen=True, slots=True)
class StoredSchedule:
    """A schedule, its next due instant, and the last one."""

    schedule: Schedule
    due_at: datetime
    last_at: datetime | None = None
    last: Outcome | None = None

    def is_due(self, now: datetime) -> bool:
        """Whether a step is due; never while the schedule is paused."""
        return not self.schedule.paused and self.due_at <= now


_OUTCOME: TypeAdapter[Outcome] = TypeAdapter(Outcome)


def retention(connection: Connection, pipeline_id: str) -> Retention | None:
    """Return the retention rule of a pipeline's savepoints; None if all are kept."""
    text = connection.execute(select(RULES.c.retention).where(RULES.c.pipeline_id == pipeline_id)).scalar()
    return None if text is None else _RETENTION.validate_json(text)


def set_retention(connection: Connection, pipeline_id: str, policy: Retention | None) -> None:
    """Set another retention policy, or none."""
    text = None if policy is None else _RETENTION.dump_json(policy).decode()
    row = insert_sqlite(RULES).values(pipeline_id=pipeline_id, retention=text)
    connection.execute(row.on_conflict_do_update(index_elements=["pipeline_id"], set_={"retention": text}))


def with_retention(connection: Connection) -> Sequence[str]:
    """Return the pipelines that have a policy."""
    return list(connection.execute(select(RULES.c.pipeline_id).where(RULES.c.retention.is_not(None))).scalars())


def schedule(connection: Connection, pipeline_id: str) -> StoredSchedule | None:
    """Return the savepoint schedule of a pipeline; None if it has none."""
    query = select(RULES).where(RULES.c.pipeline_id == pipeline_id, RULES.c.schedule.is_not(None))
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else _stored(row)


def all_schedules(connection: Connection) -> Mapping[str, StoredSchedule]:
    """Return the schedules of all pipelines that have one, by their ids."""
    query = select(RULES).where(RULES.c.schedule.is_not(None))
    return {row["pipeline_id"]: _stored(row) for row in connection.execute(query).mappings()}


def all_retentions(connection: Connection) -> Mapping[str, Retention]:
    """Return the policies of all pipelines that have one, by their ids."""
    query = select(RULES.c.pipeline_id, RULES.c.retention).where(RULES.c.retention.is_not(None))
    return {name: _RETENTION.validate_json(text) for name, text in connection.execute(query)}


def _stored(row: RowValues) -> StoredSchedule:
    outcome = None if row["last_outcome"] is None else _OUTCOME.validate_json(row["last_outcome"])
    return StoredSchedule(_SCHEDULE.validate_json(row["schedule"]), row["due_at"], row["last_at"], outcome)


def set_schedule(connection: Connection, pipeline_id: str, stored: StoredSchedule | None) -> None:
    """Set or remove the schedule of savepoints, or record its last step."""
    values: dict[str, object] = {"schedule": None, "due_at": None, "last_at": None, "last_outcome": None}
    if stored is not None:
        values = {
            "schedule": _SCHEDULE.dump_json(stored.schedule).decode(),
            "due_at": stored.due_at,
            "last_at": stored.last_at,
            "last_outcome": None if stored.last is None else _OUTCOME.dump_json(stored.last).decode(),
        }
    row = insert_sqlite(RULES).values(pipeline_id=pipeline_id, **values)
    connection.execute(row.on_conflict_do_update(index_elements=["pipeline_id"], set_=values))


def with_schedule(connection: Connection) -> Sequence[str]:
    """Return the pipelines with a savepoint schedule."""
    return list(connection.execute(select(RULES.c.pipeline_id).where(RULES.c.schedule.is_not(None))).scalars())
