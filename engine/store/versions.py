"""Versions of pipelines; written once."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Boolean, Column, Connection, Integer, Table, Text, and_, insert, select

from engine.jobs.spec import Spec, Version
from engine.store.columns import Instant, Length, TextMap, Texts
from engine.store.database import METADATA

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
        )
    )


def by_fingerprint(connection: Connection, pipeline_id: str, newest: int) -> Mapping[str, int]:
    """The newest version of each plan that a pipeline has had, up to a version; by the plan's fingerprint."""
    known = and_(VERSIONS.c.pipeline_id == pipeline_id, VERSIONS.c.number <= newest)
    rows = select(VERSIONS.c.fingerprint, VERSIONS.c.number).where(known).order_by(VERSIONS.c.number)
    return {row.fingerprint: row.number for row in connection.execute(rows)}


def get(connection: Connection, pipeline_id: str, number: int) -> Version:
    """A version that must be there."""
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
    )
