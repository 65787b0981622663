"""Targets: who writes where. A row for each place of each version; rows are added and never changed.

    pipeline a    version 1    file:///out/x      held while a has version 1, or a run of version 1 may be alive
    pipeline a    version 2    file:///out/y      held from the moment a is to be version 2
    pipeline b    version 1    file:///out/x      refused until the last run of a's version 1 has ended

So nothing has to be given back: what a pipeline holds follows from its versions, and a deleted one holds nothing. Its
rows stay, since the next owner must know whose marks it may find at the target (`delivery/ownership.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Column, Connection, Integer, Table, Text, and_, delete, insert, or_, select

from engine.delivery.target_names import collide, first_collision
from engine.errors import TargetTakenError
from engine.jobs.decisions.states import State
from engine.store.database import METADATA
from engine.store.jobs.jobs import JOBS
from engine.store.pipelines.pipelines import PIPELINES

TARGETS = Table(
    "targets",
    METADATA,
    Column("pipeline_id", Text, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("target", Text, primary_key=True),
)
UNREAD = "?"
"""Stands for the targets of a version that was deployed before there was this table."""
_RESTING = [state.value for state in State if state.is_terminal]
_HELD = or_(
    TARGETS.c.version == PIPELINES.c.version,
    and_(TARGETS.c.version == JOBS.c.version, JOBS.c.state.not_in(_RESTING)),
)


def claim(connection: Connection, pipeline_id: str, version: int, names: Sequence[str]) -> None:
    """Make a version of a pipeline the owner of these targets; refused when another pipeline holds one of them."""
    rows = PIPELINES.join(JOBS, JOBS.c.id == PIPELINES.c.job_id).join(TARGETS, TARGETS.c.pipeline_id == PIPELINES.c.id)
    of_others = TARGETS.c.pipeline_id != pipeline_id
    holders = select(PIPELINES.c.name, TARGETS.c.target).select_from(rows).where(of_others, _HELD)
    for holder, held in connection.execute(holders) if names else ():
        if (collision := first_collision(names, [held])) is not None:
            name = collision[0]
            place = held if name == held else f"{held}, and {name} is in its way"
            raise TargetTakenError(
                f"pipeline {holder!r} writes to {place}",
                hint=f"write to another place; or first delete pipeline {holder!r}, or deploy it without that table",
            )
    write(connection, pipeline_id, version, names)


def write(connection: Connection, pipeline_id: str, version: int, names: Sequence[str]) -> None:
    """Write down where a version writes, in the place of what was written down of it before."""
    same = and_(TARGETS.c.pipeline_id == pipeline_id, TARGETS.c.version == version)
    connection.execute(delete(TARGETS).where(same))
    for name in dict.fromkeys(names):
        connection.execute(insert(TARGETS).values(pipeline_id=pipeline_id, version=version, target=name))


def pass_on(connection: Connection, pipeline_id: str, before: int, after: int) -> None:
    """Let a version that writes where the one before it does hold its targets, too."""
    same = and_(TARGETS.c.pipeline_id == pipeline_id, TARGETS.c.version == before)
    write(connection, pipeline_id, after, connection.execute(select(TARGETS.c.target).where(same)).scalars().all())


def of_version(connection: Connection, pipeline_id: str, version: int) -> Sequence[str]:
    """The targets of a version."""
    same = and_(TARGETS.c.pipeline_id == pipeline_id, TARGETS.c.version == version)
    return connection.execute(select(TARGETS.c.target).where(same)).scalars().all()


def predecessors(connection: Connection, pipeline_id: str, version: int) -> tuple[str, ...]:
    """The other pipelines that this control plane has known to write to the targets of a version. None of them does so
    any more, since the version holds its targets."""
    same = and_(TARGETS.c.pipeline_id == pipeline_id, TARGETS.c.version == version)
    names = connection.execute(select(TARGETS.c.target).where(same)).scalars().all()
    of_others = select(TARGETS.c.pipeline_id, TARGETS.c.target).where(TARGETS.c.pipeline_id != pipeline_id).distinct()
    rows = connection.execute(of_others).all() if names else ()
    return tuple(dict.fromkeys(former for former, place in rows if any(collide(place, name) for name in names)))


def unread(connection: Connection) -> Sequence[tuple[str, int]]:
    """The versions of which nobody has written down yet where they write."""
    query = select(TARGETS.c.pipeline_id, TARGETS.c.version).where(TARGETS.c.target == UNREAD)
    return [(pipeline_id, version) for pipeline_id, version in connection.execute(query)]
