"""Push targets of consumers of time buckets, and their progress."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import BigInteger, Boolean, Column, Connection, Table, Text, and_, select
from sqlalchemy.dialects.sqlite import insert

from engine.jobs.decisions.partitions import Consumer, Doubt, Push, Pushed, PushState
from engine.store.columns import Instant, RowValues
from engine.store.database import METADATA
from engine.store.partitions.partitions import CONSUMERS

PUSHES = Table(
    "partition_pushes",
    METADATA,
    Column("consumer_id", Text, primary_key=True),
    Column("url", Text, nullable=False),
    Column("asset", Text, nullable=False),
    Column("with_keys", Boolean, nullable=False),
    Column("username", Text),
    Column("password", Text),
    Column("token", Text),
    Column("failures", BigInteger, nullable=False),
    Column("error", Text),
    Column("error_code", Text),
    Column("failing_since", Instant),
    Column("due", Instant),
    Column("pushed_at", Instant),
    Column("doubt_of", BigInteger),
    Column("doubt_after", BigInteger),
    Column("doubt_since", Instant),
    Column("newest", BigInteger),
    Column("is_off", Boolean, nullable=False),
)


def find(connection: Connection, consumer: Consumer) -> Pushed | None:
    """Return where the deliveries of a consumer are pushed to; None if they are pulled."""
    pushed = find_last(connection, consumer)
    return None if pushed is None or pushed.is_off else pushed


def find_last(connection: Connection, consumer: Consumer) -> Pushed | None:
    """Return where the deliveries of a consumer are pushed to, or were pushed to last if they are now pulled."""
    row = connection.execute(select(PUSHES).where(PUSHES.c.consumer_id == consumer.id)).mappings().one_or_none()
    return None if row is None else _from_row(row)


def names(connection: Connection) -> Sequence[tuple[str, str]]:
    """Return the names of the consumers whose deliveries are pushed, and the pipelines that they follow."""
    is_on = and_(PUSHES.c.consumer_id == CONSUMERS.c.id, PUSHES.c.is_off.is_(False))
    query = select(CONSUMERS.c.name, CONSUMERS.c.pipeline_id).join(PUSHES, is_on)
    return [(row.name, row.pipeline_id) for row in connection.execute(query.order_by(CONSUMERS.c.name))]


def put(connection: Connection, consumer: Consumer, pushed: Pushed) -> None:
    """Set where the deliveries of a consumer are pushed, or that they are pulled."""
    row = {"consumer_id": consumer.id, **_row(pushed)}
    upsert = insert(PUSHES).values(row)
    connection.execute(upsert.on_conflict_do_update(index_elements=["consumer_id"], set_=_row(pushed)))


def _row(pushed: Pushed) -> dict[str, object]:
    push, state, doubt = pushed.push, pushed.state, pushed.state.doubt
    return {
        "url": push.url,
        "asset": push.asset,
        "with_keys": push.with_keys,
        "username": push.username,
        "password": push.password,
        "token": push.token,
        "failures": state.failures,
        "error": state.error,
        "error_code": state.error_code,
        "failing_since": state.failing_since,
        "due": state.due,
        "pushed_at": state.pushed_at,
        "doubt_of": None if doubt is None else doubt.sequence,
        "doubt_after": None if doubt is None else doubt.after,
        "doubt_since": None if doubt is None else doubt.since,
        "newest": state.newest,
        "is_off": pushed.is_off,
    }


def _from_row(row: RowValues) -> Pushed:
    doubt = None
    if row["doubt_of"] is not None:
        doubt = Doubt(row["doubt_of"], row["doubt_after"], row["doubt_since"])
    push = Push(row["url"], row["asset"], row["with_keys"], row["username"], row["password"], row["token"])
    state = PushState(
        row["failures"],
        row["error"],
        row["error_code"],
        row["failing_since"],
        row["due"],
        row["pushed_at"],
        doubt,
        row["newest"],
    )
    return Pushed(push, state, row["is_off"])
