"""Savepoints: which there are, and what came of taking them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

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

from engine.errors import SavepointNotFoundError
from engine.jobs.decisions.rollback import SavedState
from engine.jobs.decisions.states import State
from engine.store.columns import Instant
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
"""The state of one whose files go. It is not listed any more, and nobody can use it."""
_IS_THERE = SAVEPOINTS.c.state != _DELETING
_CARED_FOR = frozenset({"pinned", "verified_at", "proven_at", "damage"})
"""What others write while it is being taken."""
_ORDER: ColumnElement[int] = literal_column("savepoints.rowid")
"""That in which they were asked for: a clock may be set back."""


@dataclass(frozen=True, slots=True)
class Savepoint:
    """A savepoint as the control plane knows it; what it holds is in its own manifest."""

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
    """The pipeline's version that the state belongs to."""
    creator: str | None = None
    reason: str | None = None
    after_stop: bool = False
    """Whether it is to be of the last epoch before the job stops."""
    before_version: int | None = None
    """The version whose driver takes it, before it changes the state of the version before. Where that never runs, it
    is called off: what it would be of is another state by then."""
    pinned: bool = False
    """Whether nothing may delete it."""
    verified_at: datetime | None = None
    """When all its files were read and compared with its manifest."""
    proven_at: datetime | None = None
    """When its whole state was last restored and read."""
    damage: str | None = None
    """What was wrong with it then."""


def add(connection: Connection, savepoint: Savepoint) -> None:
    """Store a savepoint that is about to be taken."""
    connection.execute(insert(SAVEPOINTS).values(_row(savepoint)))


def settle(connection: Connection, savepoint: Savepoint) -> None:
    """Write what came of it."""
    outcome = {name: value for name, value in _row(savepoint).items() if name not in _CARED_FOR}
    connection.execute(update_rows(SAVEPOINTS).where(SAVEPOINTS.c.id == savepoint.id).values(outcome))


def find(connection: Connection, pipeline_id: str, savepoint_id: str) -> Savepoint | None:
    """A savepoint of that pipeline, if there is one."""
    same = and_(SAVEPOINTS.c.id == savepoint_id, SAVEPOINTS.c.pipeline_id == pipeline_id, _IS_THERE)
    row = connection.execute(select(SAVEPOINTS).where(same)).mappings().one_or_none()
    return None if row is None else _from_row(row)


def anywhere(connection: Connection, savepoint_id: str) -> Savepoint:
    """A savepoint, of whichever pipeline it is."""
    query = select(SAVEPOINTS).where(SAVEPOINTS.c.id == savepoint_id, _IS_THERE)
    if (row := connection.execute(query).mappings().one_or_none()) is None:
        raise SavepointNotFoundError(
            f"there is no savepoint {savepoint_id!r}", hint="`arroyo savepoints PIPELINE` lists those of a pipeline"
        )
    return _from_row(row)


def get(connection: Connection, pipeline_id: str, savepoint_id: str) -> Savepoint:
    """A savepoint of that pipeline."""
    if (savepoint := find(connection, pipeline_id, savepoint_id)) is None:
        raise SavepointNotFoundError(
            f"the pipeline has no savepoint {savepoint_id!r}", hint="list them with `arroyo savepoints`"
        )
    return savepoint


def epochs(connection: Connection, savepoint_ids: Sequence[str]) -> Mapping[str, int | None]:
    """The last epoch that each of these holds."""
    query = select(SAVEPOINTS.c.id, SAVEPOINTS.c.epoch).where(SAVEPOINTS.c.id.in_(savepoint_ids))
    return {row.id: row.epoch for row in connection.execute(query)}


def page(connection: Connection, pipeline_id: str, limit: int) -> Sequence[Savepoint]:
    """The newest savepoints of a pipeline, newest first."""
    query = select(SAVEPOINTS).where(SAVEPOINTS.c.pipeline_id == pipeline_id, _IS_THERE)
    query = query.order_by(SAVEPOINTS.c.created_at.desc(), SAVEPOINTS.c.id).limit(limit)
    return [_from_row(row) for row in connection.execute(query).mappings()]


def in_order(connection: Connection, pipeline_id: str) -> Sequence[Savepoint]:
    """The savepoints of a pipeline, in the order in which they were asked for."""
    query = select(SAVEPOINTS).where(SAVEPOINTS.c.pipeline_id == pipeline_id, _IS_THERE).order_by(_ORDER)
    return [_from_row(row) for row in connection.execute(query).mappings()]


def pin(connection: Connection, savepoint_id: str, pinned: bool) -> None:
    """Keep everything from deleting it, or no more."""
    connection.execute(update_rows(SAVEPOINTS).where(SAVEPOINTS.c.id == savepoint_id).values(pinned=pinned))


def note_whole(connection: Connection, savepoint_id: str, at: datetime, *, is_proven: bool) -> None:
    """Write down that a savepoint was read and is whole. Damage that was found is only taken back by a proof: that the
    files are as they were written does not say that they can be used."""
    facts = {"verified_at": at} | ({"proven_at": at, "damage": None} if is_proven else {})
    connection.execute(update_rows(SAVEPOINTS).where(SAVEPOINTS.c.id == savepoint_id).values(facts))


def note_damage(connection: Connection, savepoint_id: str, at: datetime, damage: str) -> None:
    """Write down what is wrong with a savepoint."""
    facts = {"verified_at": at, "damage": damage}
    connection.execute(update_rows(SAVEPOINTS).where(SAVEPOINTS.c.id == savepoint_id).values(facts))


def mark_deleting(connection: Connection, savepoint_id: str) -> None:
    """Write down that its files are to go; from now on it is not there for anybody."""
    connection.execute(update_rows(SAVEPOINTS).where(SAVEPOINTS.c.id == savepoint_id).values(state=_DELETING))


def deleting(connection: Connection) -> Sequence[tuple[str, str]]:
    """Return the savepoints whose files are to be deleted, each with its pipeline."""
    query = select(SAVEPOINTS.c.pipeline_id, SAVEPOINTS.c.id).where(not_(_IS_THERE)).order_by(_ORDER)
    return [(row.pipeline_id, row.id) for row in connection.execute(query)]


def forget(connection: Connection, savepoint_id: str) -> None:
    """Forget one whose files are gone."""
    connection.execute(delete(SAVEPOINTS).where(SAVEPOINTS.c.id == savepoint_id, not_(_IS_THERE)))


def pending_before_versions(connection: Connection, pipeline_id: str) -> Sequence[Savepoint]:
    """Return the pending savepoints of a pipeline that a driver is to take before a version."""
    is_one = and_(SAVEPOINTS.c.state == "pending", SAVEPOINTS.c.before_version.is_not(None))
    query = select(SAVEPOINTS).where(SAVEPOINTS.c.pipeline_id == pipeline_id, is_one)
    return [_from_row(row) for row in connection.execute(query).mappings()]


def before_versions(connection: Connection, pipeline_id: str) -> Sequence[SavedState]:
    """The states of a pipeline that were saved before another version took their place, and can be gone back to."""
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
