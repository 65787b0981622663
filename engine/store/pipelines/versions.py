"""Versions of pipelines, which are immutable.

Targets of pipelines: one row per target and version; rows are added and never changed.

    pipeline a    version 1    file:///out/x      owned while a has version 1, or a run of version 1 may be alive
    pipeline a    version 2    file:///out/y      owned as soon as version 2 is desired
    pipeline b    version 1    file:///out/x      refused until the last run of a's version 1 has ended

So targets need not be released: ownership follows from the versions, and a deleted pipeline owns nothing. Its rows
stay, because the next owner must know whose marks it may find at the target (`delivery/ownership.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Integer,
    Table,
    Text,
    and_,
    delete,
    insert,
    null,
    or_,
    select,
    tuple_,
)

from engine.delivery.target_names import collide, first_collision
from engine.errors import TargetTakenError
from engine.jobs.decisions.spec import Bound, Spec, Version, is_bound_alike
from engine.jobs.decisions.states import State
from engine.store.columns import Instant, Length, TextMap, Texts, Upgrades
from engine.store.database import METADATA
from engine.store.jobs.jobs import JOBS
from engine.store.pipelines.pipelines import PIPELINES

VERSIONS = Table(
    "versions",
    METADATA,
    Column("pipeline_id", Text, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("query", Text, nullable=False),
    Column("udfs", Texts, nullable=False),
    Column("settings", TextMap, nullable=False),
    Column("checkpoint_interval", Length),
    Column("digest", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("graph", Text, nullable=False),
    Column("force", Boolean, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("meaning", Text),
    Column("upgrade", Upgrades),
    Column("objects", Text),
)


@dataclass(frozen=True, slots=True)
class Plan:
    """Dependencies of a version's state, and whether the version may discard another query's state; `repeated` is as in
    `Upgrade`."""

    fingerprint: str
    force: bool
    repeated: tuple[str, ...] = ()
    objects: str | None = None


@dataclass(frozen=True, slots=True)
class Outline:
    """A version in lists. Its texts and its graph are long, and only included on request."""

    settings: Mapping[str, str]
    checkpoint_interval: timedelta | None
    fingerprint: str
    digest: str
    query: str | None
    udfs: tuple[str, ...]
    graph: str | None

    @staticmethod
    def of(version: Version) -> Outline:
        """Return the outline of a complete version."""
        spec = version.spec
        return Outline(
            spec.settings,
            spec.checkpoint_interval,
            version.fingerprint,
            spec.digest,
            spec.query,
            spec.udfs,
            version.graph,
        )


def add(connection: Connection, version: Version) -> None:
    """Store a new version."""
    connection.execute(
        insert(VERSIONS).values(
            pipeline_id=version.pipeline_id,
            number=version.number,
            query=version.spec.query,
            udfs=version.spec.udfs,
            settings=version.spec.settings,
            checkpoint_interval=version.spec.checkpoint_interval,
            digest=version.spec.digest,
            fingerprint=version.fingerprint,
            graph=version.graph,
            force=version.force,
            created_at=version.created_at,
            meaning=version.meaning,
            upgrade=version.upgrade,
            objects=version.objects,
        )
    )


def by_fingerprint(connection: Connection, pipeline_id: str, newest: int) -> Mapping[str, int]:
    """Return the newest version of each plan that a pipeline has had, up to a version; by the plan's fingerprint."""
    known = and_(VERSIONS.c.pipeline_id == pipeline_id, VERSIONS.c.number <= newest)
    rows = select(VERSIONS.c.fingerprint, VERSIONS.c.number).where(known).order_by(VERSIONS.c.number)
    return {row.fingerprint: row.number for row in connection.execute(rows)}


def newest_of_state(connection: Connection, pipeline_id: str, newest: int, state: Bound) -> int | None:
    """Return the newest version of a pipeline, up to a version, that a state belongs to; None if there is none."""
    known = and_(VERSIONS.c.pipeline_id == pipeline_id, VERSIONS.c.number <= newest)
    columns = VERSIONS.c.number, VERSIONS.c.fingerprint, VERSIONS.c.force, VERSIONS.c.objects
    rows = connection.execute(select(*columns).where(known).order_by(VERSIONS.c.number.desc()))
    plans = ((row.number, Plan(row.fingerprint, row.force, objects=row.objects)) for row in rows)
    return next((number for number, plan in plans if is_bound_alike(plan, state)), None)


class SavedState(Bound, Protocol):
    """Script and function files of a state; None if it does not record them."""

    @property
    def sql(self) -> str | None:
        """The script."""

    @property
    def udfs(self) -> tuple[str, ...]:
        """The files."""


def of_saved(
    connection: Connection, pipeline_id: str, newest: int, state: SavedState, number: int | None = None
) -> int | None:
    """Return the version of a pipeline, up to a version, that a state belongs to; None if there is none. Of several,
    prefer the one whose text is that of the state, then the `number` that it had when it was saved, then the newest."""
    known = and_(
        VERSIONS.c.pipeline_id == pipeline_id,
        VERSIONS.c.number <= newest,
        VERSIONS.c.fingerprint == state.fingerprint,
    )
    columns = VERSIONS.c.number, VERSIONS.c.force, VERSIONS.c.objects, VERSIONS.c.query, VERSIONS.c.udfs
    candidates = [
        ((row.query, tuple(row.udfs)) == (state.sql, state.udfs), row.number == number, row.number)
        for row in connection.execute(select(*columns).where(known))
        if is_bound_alike(Plan(state.fingerprint, row.force, objects=row.objects), state)
    ]
    return max(candidates)[-1] if candidates else None


def all_plans(connection: Connection, pipeline_id: str, newest: int) -> Mapping[int, str]:
    """Return the identity of the state of each version of a pipeline, up to a version: its fingerprint, the reader of
    its objects, and the hand-over that it came from, since a hand-over replaces the state whatever the query."""
    known = and_(VERSIONS.c.pipeline_id == pipeline_id, VERSIONS.c.number <= newest)
    columns = VERSIONS.c.number, VERSIONS.c.fingerprint, VERSIONS.c.objects, VERSIONS.c.upgrade
    rows = connection.execute(select(*columns).where(known).order_by(VERSIONS.c.number)).all()
    bound = _bound([(row.number, row.fingerprint, row.objects) for row in rows])
    plans: dict[int, str] = {}
    handed_over = ""
    for row in rows:
        if row.upgrade is not None and row.upgrade.of_history is not None:
            handed_over = f" {row.upgrade.of_history}"
        plans[row.number] = f"{bound[row.number]}{handed_over}"
    return plans


def _bound(versions: Sequence[tuple[int, str, str | None]]) -> Mapping[int, str]:
    """Return a text for the fingerprint and the objects of each version. A version without recorded objects counts as
    equal to the next one of its plan that has them."""
    bound: dict[int, str] = {}
    next_objects: dict[str, str] = {}
    for number, fingerprint, written in reversed(versions):
        objects = next_objects.get(fingerprint, "") if written is None else written
        next_objects[fingerprint] = objects
        bound[number] = f"{fingerprint} {objects}"
    return bound


def upgraded(connection: Connection, pipeline_id: str) -> Sequence[int]:
    """Return the versions of a pipeline that take over, or have taken over, the previous state of the same pipeline."""
    is_one = and_(VERSIONS.c.pipeline_id == pipeline_id, VERSIONS.c.upgrade.is_not(None))
    rows = connection.execute(select(VERSIONS.c.number, VERSIONS.c.upgrade).where(is_one))
    return [row.number for row in rows if row.upgrade.of_history is None]


def plans(connection: Connection, numbers: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], Plan]:
    """Return the plans of some versions, by pipeline and number."""
    same = tuple_(VERSIONS.c.pipeline_id, VERSIONS.c.number).in_(numbers)
    bound = VERSIONS.c.fingerprint, VERSIONS.c.objects
    query = select(VERSIONS.c.pipeline_id, VERSIONS.c.number, *bound, VERSIONS.c.force, VERSIONS.c.upgrade)
    return {
        (row.pipeline_id, row.number): Plan(
            row.fingerprint, row.force, () if row.upgrade is None else row.upgrade.repeated, row.objects
        )
        for row in connection.execute(query.where(same))
    }


def outlines(
    connection: Connection, numbers: Sequence[tuple[str, int]], *, with_texts: bool, with_graph: bool
) -> Mapping[str, Outline]:
    """Return some versions, by pipeline, without the long fields unless they are requested."""
    short = [VERSIONS.c.pipeline_id, VERSIONS.c.settings, VERSIONS.c.checkpoint_interval]
    texts = [VERSIONS.c.query, VERSIONS.c.udfs] if with_texts else [null().label("query"), null().label("udfs")]
    graph = VERSIONS.c.graph if with_graph else null().label("graph")
    query = select(*short, VERSIONS.c.fingerprint, VERSIONS.c.digest, *texts, graph)
    rows = connection.execute(query.where(tuple_(VERSIONS.c.pipeline_id, VERSIONS.c.number).in_(numbers)))
    return {
        row.pipeline_id: Outline(
            row.settings, row.checkpoint_interval, row.fingerprint, row.digest, row.query, row.udfs or (), row.graph
        )
        for row in rows
    }


def get(connection: Connection, pipeline_id: str, number: int) -> Version:
    """Return an existing version."""
    same = and_(VERSIONS.c.pipeline_id == pipeline_id, VERSIONS.c.number == number)
    row = connection.execute(select(VERSIONS).where(same)).mappings().one()
    return Version(
        pipeline_id=pipeline_id,
        number=number,
        spec=Spec(row["query"], row["udfs"], row["settings"], row["checkpoint_interval"]),
        fingerprint=row["fingerprint"],
        graph=row["graph"],
        created_at=row["created_at"],
        force=row["force"],
        meaning=row["meaning"],
        upgrade=row["upgrade"],
        objects=row["objects"],
    )


TARGETS = Table(
    "targets",
    METADATA,
    Column("pipeline_id", Text, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("target", Text, primary_key=True),
)
UNREAD = "?"
"""Marks the targets of a version that is older than this table."""
_RESTING = [state.value for state in State if state.is_terminal]
_HELD = or_(
    TARGETS.c.version == PIPELINES.c.version,
    and_(TARGETS.c.version == JOBS.c.version, JOBS.c.state.not_in(_RESTING)),
)


def claim(connection: Connection, pipeline_id: str, version: int, names: Sequence[str]) -> None:
    """Make a version of a pipeline the owner of these targets; raise if another pipeline owns one of them."""
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
    """Record the targets of a version, in place of the previous record."""
    same = and_(TARGETS.c.pipeline_id == pipeline_id, TARGETS.c.version == version)
    connection.execute(delete(TARGETS).where(same))
    for name in dict.fromkeys(names):
        connection.execute(insert(TARGETS).values(pipeline_id=pipeline_id, version=version, target=name))


def pass_on(connection: Connection, pipeline_id: str, before: int, after: int) -> None:
    """Let a version with the targets of the one before it own them, too."""
    same = and_(TARGETS.c.pipeline_id == pipeline_id, TARGETS.c.version == before)
    write(connection, pipeline_id, after, connection.execute(select(TARGETS.c.target).where(same)).scalars().all())


def of_version(connection: Connection, pipeline_id: str, version: int) -> Sequence[str]:
    """Return the targets of a version."""
    same = and_(TARGETS.c.pipeline_id == pipeline_id, TARGETS.c.version == version)
    return connection.execute(select(TARGETS.c.target).where(same)).scalars().all()


def predecessors(connection: Connection, pipeline_id: str, version: int) -> tuple[str, ...]:
    """Return the other pipelines that this control plane has known to write to the targets of a version. None of them
    does so now, since the version owns its targets."""
    same = and_(TARGETS.c.pipeline_id == pipeline_id, TARGETS.c.version == version)
    names = connection.execute(select(TARGETS.c.target).where(same)).scalars().all()
    of_others = select(TARGETS.c.pipeline_id, TARGETS.c.target).where(TARGETS.c.pipeline_id != pipeline_id).distinct()
    rows = connection.execute(of_others).all() if names else ()
    return tuple(dict.fromkeys(former for former, place in rows if any(collide(place, name) for name in names)))


def unread(connection: Connection) -> Sequence[tuple[str, int]]:
    """Return the versions whose targets are not recorded yet."""
    query = select(TARGETS.c.pipeline_id, TARGETS.c.version).where(TARGETS.c.target == UNREAD)
    return [(pipeline_id, version) for pipeline_id, version in connection.execute(query)]
