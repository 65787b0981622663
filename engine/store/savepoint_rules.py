"""What a pipeline's savepoints are kept and taken by."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import TypeAdapter
from sqlalchemy import Column, Connection, Table, Text, select
from sqlalchemy.dialects.sqlite import insert

from engine.jobs.retention import Retention
from engine.store.columns import Instant
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


def retention(connection: Connection, pipeline_id: str) -> Retention | None:
    """What of a pipeline's savepoints is kept; None where everything is."""
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
