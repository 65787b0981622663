"""Consumers of time buckets, and their deliveries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnClause,
    Connection,
    Select,
    Table,
    Text,
    and_,
    delete,
    func,
    insert,
    literal_column,
    select,
)
from sqlalchemy import update as update_rows

from engine.errors import PartitionConsumerNotFoundError
from engine.jobs.decisions.partitions import Bucket, Consumer, DeliveryKind, History, TimeBuckets
from engine.store.columns import Instant, Length, RowValues
from engine.store.database import METADATA
from engine.store.partitions.certificates import CERTIFICATES, Certificate

CONSUMERS = Table(
    "partition_consumers",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("pipeline_id", Text, nullable=False),
    Column("sink", Text),
    Column("by_time", Text, nullable=False),
    Column("every", Length, nullable=False),
    Column("begins_later", Length, nullable=False),
    Column("time_zone", Text, nullable=False),
    Column("start", Instant, nullable=False),
    Column("until", Instant),
    Column("created_at", Instant, nullable=False),
    Column("closed_until", Instant, nullable=False),
    Column("delivered", BigInteger, nullable=False),
    Column("acked", BigInteger, nullable=False),
    Column("late", Text, nullable=False),
    Column("late_seen", BigInteger, nullable=False),
)
DELIVERIES = Table(
    "partition_deliveries",
    METADATA,
    Column("consumer_id", Text, primary_key=True),
    Column("sequence", BigInteger, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("bucket_start", Instant, nullable=False),
    Column("bucket_end", Instant, nullable=False),
    Column("at", Instant, nullable=False),
    Column("certificate_id", Text, nullable=False),
    Column("is_newest", Boolean, nullable=False),
    Column("void_since", BigInteger),
)


@dataclass(frozen=True, slots=True)
class Delivery:
    """Delivery to a consumer about a bucket, and its certificate. `void_since` is the number of the delivery that voids
    it. The certificate is None once it is no longer stored."""

    sequence: int
    kind: DeliveryKind
    bucket: Bucket
    at: datetime
    certificate_id: str
    void_since: int | None = None
    certificate: Certificate | None = None


def add(connection: Connection, consumer: Consumer) -> None:
    """Store a new consumer."""
    connection.execute(insert(CONSUMERS).values(_row(consumer)))


def find(connection: Connection, name: str) -> Consumer | None:
    """Return the consumer of that name."""
    row = connection.execute(select(CONSUMERS).where(CONSUMERS.c.name == name)).mappings().one_or_none()
    return None if row is None else _from_row(row)


def get(connection: Connection, name: str) -> Consumer:
    """Return the consumer of that name; raise if there is none."""
    consumer = find(connection, name)
    if consumer is None:
        raise PartitionConsumerNotFoundError(
            f"there is no consumer of partitions {name!r}",
            hint="`arroyo partitions list` shows them; one goes with its pipeline",
        )
    return consumer


def list_all(connection: Connection, pipeline_id: str | None = None) -> Sequence[Consumer]:
    """Return all consumers, or those of a pipeline, by name."""
    query = select(CONSUMERS).order_by(CONSUMERS.c.name)
    if pipeline_id is not None:
        query = query.where(CONSUMERS.c.pipeline_id == pipeline_id)
    return [_from_row(row) for row in connection.execute(query).mappings()]


def update(connection: Connection, consumer: Consumer) -> None:
    """Record the progress and the settings of a consumer."""
    connection.execute(update_rows(CONSUMERS).where(CONSUMERS.c.id == consumer.id).values(_row(consumer)))


def remove(connection: Connection, consumer: Consumer) -> None:
    """Delete a consumer and its deliveries."""
    connection.execute(delete(CONSUMERS).where(CONSUMERS.c.id == consumer.id))


def history(connection: Connection, consumer: Consumer) -> History:
    """Return the delivered time buckets of a consumer that are void or open again."""
    buckets = DELIVERIES.c.bucket_start, DELIVERIES.c.bucket_end
    newest = and_(DELIVERIES.c.consumer_id == consumer.id, DELIVERIES.c.is_newest)
    is_void = and_(CERTIFICATES.c.pipeline_id == consumer.pipeline_id, CERTIFICATES.c.voided_at.is_not(None))
    void = (
        select(*buckets)
        .select_from(CERTIFICATES.join(DELIVERIES, DELIVERIES.c.certificate_id == CERTIFICATES.c.id))
        .where(is_void, newest, DELIVERIES.c.kind != "voided")
        .order_by(DELIVERIES.c.bucket_start)
    )
    opened = select(*buckets).where(newest, DELIVERIES.c.kind == "voided").order_by(DELIVERIES.c.bucket_start)
    return History(_buckets(connection, void), _buckets(connection, opened))


def overtaken(connection: Connection, consumer: Consumer, epochs: Mapping[datetime, int]) -> Sequence[Bucket]:
    """Return the valid time buckets that a consumer received in an earlier version than `epochs`, ordered by their
    start."""
    if not epochs:
        return ()
    counts = and_(DELIVERIES.c.kind != "voided", CERTIFICATES.c.voided_at.is_(None))
    query = (
        select(DELIVERIES.c.bucket_start, DELIVERIES.c.bucket_end, CERTIFICATES.c.epoch)
        .select_from(DELIVERIES.outerjoin(CERTIFICATES, CERTIFICATES.c.id == DELIVERIES.c.certificate_id))
        .where(DELIVERIES.c.consumer_id == consumer.id, DELIVERIES.c.is_newest, counts)
        .where(DELIVERIES.c.bucket_start.between(min(epochs), max(epochs)))
        .order_by(DELIVERIES.c.bucket_start)
    )
    return [
        Bucket(row.bucket_start, row.bucket_end)
        for row in connection.execute(query)
        if row.bucket_start in epochs and (row.epoch is None or row.epoch < epochs[row.bucket_start])
    ]


def deliver(connection: Connection, consumer: Consumer, delivery: Delivery) -> None:
    """Record a new delivery of a time bucket, after superseding the earlier ones."""
    connection.execute(insert(DELIVERIES).values(_delivery_row(consumer, delivery)))


def supersede(connection: Connection, consumer: Consumer, start: datetime, void_since: int | None) -> str | None:
    """Record that a newer delivery supersedes those of a bucket, and voids them if it has a number for that. Return the
    certificate of the last one, if there was one."""
    of_bucket = and_(DELIVERIES.c.consumer_id == consumer.id, DELIVERIES.c.bucket_start == start)
    before = update_rows(DELIVERIES).where(of_bucket, DELIVERIES.c.is_newest).values(is_newest=False)
    certificate_id: str | None = connection.execute(before.returning(DELIVERIES.c.certificate_id)).scalar_one_or_none()
    if void_since is not None:
        counts = and_(DELIVERIES.c.kind != "voided", DELIVERIES.c.void_since.is_(None))
        connection.execute(update_rows(DELIVERIES).where(of_bucket, counts).values(void_since=void_since))
    return certificate_id


def waiting(connection: Connection, consumer: Consumer, limit: int) -> Sequence[Delivery]:
    """Return the deliveries that a consumer has not acknowledged, oldest first, without voided ones."""
    is_waiting = and_(DELIVERIES.c.sequence > consumer.acked, DELIVERIES.c.void_since.is_(None))
    query = _told(consumer).where(is_waiting).order_by(DELIVERIES.c.sequence).limit(limit)
    return [_delivery(row) for row in connection.execute(query).mappings()]


def was_void(connection: Connection, consumer: Consumer, delivery: Delivery) -> bool:
    """Whether a consumer was told before a delivery that its bucket is void."""
    query = select(DELIVERIES.c.sequence).where(
        DELIVERIES.c.consumer_id == consumer.id,
        DELIVERIES.c.bucket_start == delivery.bucket.start,
        DELIVERIES.c.kind == "voided",
        DELIVERIES.c.sequence < delivery.sequence,
    )
    return connection.execute(query.limit(1)).first() is not None


def page(connection: Connection, consumer: Consumer, limit: int) -> Sequence[Delivery]:
    """Return all deliveries of a consumer, newest first."""
    query = _told(consumer).order_by(DELIVERIES.c.sequence.desc()).limit(limit)
    return [_delivery(row) for row in connection.execute(query).mappings()]


def old(until: datetime) -> Select[Any]:
    """Return the row numbers of completed deliveries before an instant. Time buckets that are open again stay: they are
    still to be delivered."""
    is_over = and_(DELIVERIES.c.sequence <= CONSUMERS.c.acked, DELIVERIES.c.at < until)
    is_open = and_(DELIVERIES.c.is_newest, DELIVERIES.c.kind == "voided")
    of_consumers = DELIVERIES.join(CONSUMERS, CONSUMERS.c.id == DELIVERIES.c.consumer_id)
    row: ColumnClause[int] = literal_column("partition_deliveries.rowid")
    return select(row).select_from(of_consumers).where(is_over, ~is_open)


def count_waiting(connection: Connection, consumer: Consumer) -> int:
    """Count the deliveries that a consumer has not acknowledged."""
    query = select(func.count()).select_from(DELIVERIES)
    mine = DELIVERIES.c.consumer_id == consumer.id, DELIVERIES.c.sequence > consumer.acked
    return connection.execute(query.where(*mine, DELIVERIES.c.void_since.is_(None))).scalar_one()


def _told(consumer: Consumer) -> Select[Any]:
    """Select the deliveries of a consumer, joined with the stored certificates."""
    return (
        select(DELIVERIES, *(column.label(f"of_{column.name}") for column in CERTIFICATES.columns))
        .select_from(DELIVERIES.outerjoin(CERTIFICATES, CERTIFICATES.c.id == DELIVERIES.c.certificate_id))
        .where(DELIVERIES.c.consumer_id == consumer.id)
    )


def _delivery(row: RowValues) -> Delivery:
    is_kept = row["of_id"] is not None
    return Delivery(
        row["sequence"],
        row["kind"],
        Bucket(row["bucket_start"], row["bucket_end"]),
        row["at"],
        row["certificate_id"],
        row["void_since"],
        Certificate(**{column.name: row[f"of_{column.name}"] for column in CERTIFICATES.columns}) if is_kept else None,
    )


def _delivery_row(consumer: Consumer, delivery: Delivery) -> dict[str, object]:
    return {
        "consumer_id": consumer.id,
        "sequence": delivery.sequence,
        "kind": delivery.kind,
        "bucket_start": delivery.bucket.start,
        "bucket_end": delivery.bucket.end,
        "at": delivery.at,
        "certificate_id": delivery.certificate_id,
        "is_newest": True,
        "void_since": delivery.void_since,
    }


def _buckets(connection: Connection, query: Select[tuple[datetime, datetime]]) -> Sequence[Bucket]:
    return [Bucket(row.bucket_start, row.bucket_end) for row in connection.execute(query)]


def _row(consumer: Consumer) -> dict[str, object]:
    return {
        "id": consumer.id,
        "name": consumer.name,
        "pipeline_id": consumer.pipeline_id,
        "sink": consumer.table,
        "by_time": consumer.by,
        "every": consumer.buckets.every,
        "begins_later": consumer.buckets.offset,
        "time_zone": consumer.buckets.time_zone,
        "start": consumer.start,
        "until": consumer.until,
        "created_at": consumer.created_at,
        "closed_until": consumer.closed_until,
        "delivered": consumer.delivered,
        "acked": consumer.acked,
        "late": consumer.late,
        "late_seen": consumer.late_seen,
    }


def _from_row(row: RowValues) -> Consumer:
    return Consumer(
        id=row["id"],
        name=row["name"],
        pipeline_id=row["pipeline_id"],
        table=row["sink"],
        by=row["by_time"],
        buckets=TimeBuckets(row["every"], row["begins_later"], row["time_zone"]),
        start=row["start"],
        until=row["until"],
        created_at=row["created_at"],
        closed_until=row["closed_until"],
        delivered=row["delivered"],
        acked=row["acked"],
        late=row["late"],
        late_seen=row["late_seen"],
    )
