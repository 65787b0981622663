"""Moves of pipelines between control planes, as each of them records them.

    source                           target
    leaving     it is stopping
    exported    its state is exported
                                     arrived     it is imported, and may not run
    released    it never runs again
                                     started     it may run
    over        it runs there

Only one may run it at any time: the source until `released`, the target from `started` on, which comes later.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from sqlalchemy import BigInteger, Boolean, Column, Connection, Table, Text, delete, insert, select

from engine.errors import PipelineMovingError
from engine.store.columns import Instant
from engine.store.database import METADATA

MOVES = Table(
    "moves",
    METADATA,
    Column("pipeline_id", Text, primary_key=True),
    Column("move", Text, nullable=False),
    Column("step", Text, nullable=False),
    Column("place", Text, nullable=False),
    Column("peer", Text, nullable=False),
    Column("runs", Boolean, nullable=False),
    Column("key", Text, nullable=False),
    Column("committed", BigInteger),
    Column("planned", BigInteger),
    Column("began_at", Instant, nullable=False),
)
MoveStep: TypeAlias = Literal["leaving", "exported", "released", "over", "arrived", "started"]
"""Progress of a move: the first four steps at the source, the last two at the target."""


@dataclass(frozen=True, slots=True)
class Move:
    """A move of a pipeline; both control planes know its id `move`. `peer` is the other one, `runs` says whether the
    pipeline is to run there; `committed` and `planned` are the newest epochs of the state at the export. `key` permits
    the start at the target, which only knows its digest."""

    pipeline_id: str
    move: str
    step: MoveStep
    place: str
    peer: str
    runs: bool
    began_at: datetime
    key: str = field(repr=False)
    committed: int | None = None
    planned: int | None = None


def find(connection: Connection, pipeline_id: str) -> Move | None:
    """Return the current or last move of a pipeline."""
    row = connection.execute(select(MOVES).where(MOVES.c.pipeline_id == pipeline_id)).mappings().one_or_none()
    return None if row is None else Move(**row)


def put(connection: Connection, move: Move) -> None:
    """Store a move, in place of the pipeline's previous one."""
    remove(connection, move.pipeline_id)
    values = {column.name: getattr(move, column.name) for column in MOVES.columns}
    connection.execute(insert(MOVES).values(values))


def remove(connection: Connection, pipeline_id: str) -> None:
    """Delete a pipeline's move."""
    connection.execute(delete(MOVES).where(MOVES.c.pipeline_id == pipeline_id))


def refuse_changes(connection: Connection, pipeline_id: str) -> None:
    """Refuse to change a pipeline that is being moved: it may be running elsewhere."""
    move = find(connection, pipeline_id)
    match move and move.step:
        case "leaving" | "exported" | "released":
            assert move is not None
            raise PipelineMovingError(
                f"the pipeline is being moved to {move.peer}", hint="`arroyo move` finishes that, or takes it back"
            )
        case "over":
            assert move is not None
            raise PipelineMovingError(f"the pipeline has moved to {move.peer}", hint="change it there; delete it here")
        case "arrived":
            raise PipelineMovingError(
                "the pipeline is being moved to this control plane, and may still run where it was",
                hint="`arroyo move` there finishes that, or takes it back",
            )
