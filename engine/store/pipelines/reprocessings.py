"""Pipelines that read another one's input again, and the progress of their hand-over.

    step        the original       the copy
    apart       runs               runs, or is used otherwise
    waiting     runs               reads history, or catches up
    holding     runs               is stopping
    passing     runs               is stopped; the original reads up to where it stopped, or further
    stopping    is stopping        is stopped
    finishing   completes the      is stopped
                planned epoch,
                and stays stopped
    meeting     is stopped         reads up to where the original stopped, and stays there
    met         is stopped         is stopping there, and its state is saved
    switching   starts from that   is stopped
    over        has the copy's     is stopped
                query and state

Only the original ever writes to its targets. Until `switching` it can continue unchanged: `given_up` makes it do so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from sqlalchemy import Column, Connection, Integer, Table, Text, delete, insert, or_, select

from engine.errors import HandOverError
from engine.store.columns import Instant
from engine.store.database import METADATA

REPROCESSINGS = Table(
    "reprocessings",
    METADATA,
    Column("copy_id", Text, primary_key=True),
    Column("origin_id", Text, nullable=False),
    Column("step", Text, nullable=False),
    Column("since", Instant, nullable=False),
    Column("origin_version", Integer),
    Column("copy_version", Integer),
    Column("savepoint_id", Text),
    Column("new_version", Integer),
    Column("told", Text),
    Column("asked_by", Text),
)
HandOverStep: TypeAlias = Literal[
    "apart", "waiting", "holding", "passing", "stopping", "finishing", "meeting", "met", "switching", "over", "given_up"
]
"""Progress of a hand-over."""
MEETING: frozenset[HandOverStep] = frozenset({"holding", "passing", "stopping", "finishing", "meeting", "met"})
"""Steps in which one of the two does not run, and other changes of both are refused."""
UNDER_WAY: frozenset[HandOverStep] = MEETING | {"waiting", "switching"}


@dataclass(frozen=True, slots=True)
class Reprocessing:
    """A pipeline that reads another one's input again. For a hand-over, `origin_version` and `copy_version` are the
    versions at the time of the request; `told` says what it waits for, or why it was abandoned."""

    copy_id: str
    origin_id: str
    step: HandOverStep
    since: datetime
    """When this step began."""
    origin_version: int | None = None
    copy_version: int | None = None
    savepoint_id: str | None = None
    """Savepoint of the copy from which the original continues."""
    new_version: int | None = None
    """Version of the original that continues from it."""
    told: str | None = None
    asked_by: str | None = None

    @property
    def is_under_way(self) -> bool:
        """Whether a hand-over is in progress."""
        return self.step in UNDER_WAY


def find(connection: Connection, copy_id: str) -> Reprocessing | None:
    """Return the record of a pipeline that reads another one's input again; None for any other pipeline."""
    row = connection.execute(select(REPROCESSINGS).where(REPROCESSINGS.c.copy_id == copy_id)).mappings().one_or_none()
    return None if row is None else Reprocessing(**row)


def put(connection: Connection, reprocessing: Reprocessing) -> None:
    """Store the record, in place of the previous one."""
    connection.execute(delete(REPROCESSINGS).where(REPROCESSINGS.c.copy_id == reprocessing.copy_id))
    values = {column.name: getattr(reprocessing, column.name) for column in REPROCESSINGS.columns}
    connection.execute(insert(REPROCESSINGS).values(values))


def under_way(connection: Connection, pipeline_id: str | None = None) -> Sequence[Reprocessing]:
    """Return the hand-overs in progress: all, or those in which a pipeline takes part."""
    query = select(REPROCESSINGS).where(REPROCESSINGS.c.step.in_(sorted(UNDER_WAY)))
    if pipeline_id is not None:
        query = query.where(or_(REPROCESSINGS.c.copy_id == pipeline_id, REPROCESSINGS.c.origin_id == pipeline_id))
    return [Reprocessing(**row) for row in connection.execute(query).mappings()]


def refuse_changes(connection: Connection, pipeline_id: str, *, also_later: bool = False) -> None:
    """Refuse to change a pipeline that is being brought to another one's position; with `also_later` until that one
    continues from there."""
    for reprocessing in under_way(connection, pipeline_id):
        if reprocessing.step in MEETING or (also_later and reprocessing.step == "switching"):
            raise HandOverError(
                "the pipeline is handing its name over, or taking one over",
                hint="wait until that is done, or take it back: `arroyo reprocess PIPELINE --into PREFIX --stay-apart`",
            )
