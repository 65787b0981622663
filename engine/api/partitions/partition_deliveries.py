"""Next deliveries of a consumer of time buckets: computed on request, and stored before they are returned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from pydantic import BaseModel, Field
from sqlalchemy import Connection

from engine.api import answers
from engine.api.answers import micros
from engine.checkpoints.spark_log import offsets_of_epoch
from engine.control.context import Context
from engine.control.preview_room import run_behind
from engine.errors import EngineError
from engine.jobs.actors import JobRecord
from engine.jobs.decisions.effects import Gate, GateTime, promised, reached
from engine.jobs.decisions.partitions import (
    Consumer,
    DeliveryKind,
    LateBatch,
    LateMode,
    Pushed,
    Told,
    key_of,
    late_epochs,
    next_end,
    next_told,
    takes_late_rows,
)
from engine.jobs.decisions.states import State
from engine.openlineage.runs import ParentRun
from engine.store.jobs.records import read_record
from engine.store.partitions import certificates, late_batches, partitions, pushes
from engine.store.partitions.certificates import Certificate
from engine.store.partitions.partitions import Delivery
from engine.store.pipelines import versions
from engine.store.pipelines.lineages import is_state_given_up
from engine.values.instants import EPOCH, FAR_FUTURE, to_micros

_MICROSECOND = timedelta(microseconds=1)


class PartitionPush(BaseModel):
    """Push target of a consumer, and its progress."""

    url: str = Field(description="The API server of the Airflow.")
    asset: str = Field(description="The asset that gets an event for each delivery, by URI or name.")
    with_keys: bool = Field(description="Whether the events have partition keys.")
    username: str | None = Field(description="The user who logs in.")
    password: str | None = Field(description="The secret that has the password of the user.")
    token: str | None = Field(description="The secret that has a token.")
    waiting: int = Field(description="How many deliveries are still to be pushed; of over a thousand, a thousand.")
    failures: int = Field(description="How often in a row the next one could not be pushed.")
    error: str | None = Field(description="Why not, the last time.")
    error_code: str | None = Field(description="The code of that error.")
    failing_since: int | None = Field(description="When it could not be pushed first.")
    due: int | None = Field(description="When it is tried again.")
    pushed_at: int | None = Field(description="When Airflow has stored an event last.")


class PartitionConsumer(BaseModel):
    """A consumer of a pipeline's complete time buckets, and its progress."""

    id: str
    name: str = Field(description="What it is called in paths.")
    pipeline_id: str = Field(description="The pipeline that it follows.")
    pipeline: str = Field(description="The name of the pipeline.")
    table: str | None = Field(description="The sink that has to be complete; null for all of them.")
    by: GateTime = Field(description="Whether by input or by output time.")
    every_micros: int = Field(description="How long a bucket is.")
    time_zone: str = Field(description="Where days begin at midnight.")
    offset_micros: int = Field(description="How much later each bucket begins.")
    start: int = Field(description="Where the first bucket begins.")
    until: int | None = Field(description="Buckets that end later are not reported.")
    late: LateMode = Field(description="Whether buckets are reported again when rows came late for them.")
    late_known: bool | None = Field(
        description="Whether a table of the pipeline takes late rows, and so may report late ones; null with `ignore`."
    )
    created_at: int = Field(description="When the consumer was made.")
    delivered: int = Field(description="The number of the newest delivery; 0 before there is one.")
    acked: int = Field(description="The consumer is done with all deliveries up to this number.")
    closed_until: int = Field(description="Where the first bucket begins that was not closed yet.")
    push: PartitionPush | None = Field(description="Where deliveries are pushed to; null when they are pulled.")


class PartitionDelivery(BaseModel):
    """A delivery to a consumer about a bucket."""

    id: str = Field(description="Never the same for two deliveries: the key to do things once by.")
    sequence: int = Field(description="Its number; acknowledge up to it.")
    kind: DeliveryKind = Field(
        description="The bucket is complete; what was reported is void; rows came late for it, so read it again."
    )
    key: str = Field(description="Where the bucket begins, in UTC, as Airflow's partition mappers read it.")
    start: int = Field(description="Where the bucket begins.")
    end: int = Field(description="Where it ends.")
    at: int = Field(description="When it was first reported.")
    certificate: answers.Certificate | None = Field(
        description="The certificate behind it; null once that is no longer stored."
    )


class Deliveries(BaseModel):
    """Unacknowledged deliveries of a consumer, oldest first."""

    consumer: PartitionConsumer = Field(description="The consumer as it is with these.")
    data: list[PartitionDelivery] = Field(description="The deliveries; the same again until they are acknowledged.")
    has_more: bool = Field(description="Whether more can be had at once after these.")


def shown(
    consumer: Consumer, record: JobRecord, pushed: Pushed | None, waiting: int, *, late_known: bool | None
) -> PartitionConsumer:
    """Return a consumer in the form of the API."""
    return PartitionConsumer(
        id=consumer.id,
        name=consumer.name,
        pipeline_id=consumer.pipeline_id,
        pipeline=record.pipeline.name,
        table=consumer.table,
        by=consumer.by,
        every_micros=consumer.buckets.every // _MICROSECOND,
        time_zone=consumer.buckets.time_zone,
        offset_micros=consumer.buckets.offset // _MICROSECOND,
        start=to_micros(consumer.start),
        until=micros(consumer.until),
        late=consumer.late,
        late_known=late_known,
        created_at=to_micros(consumer.created_at),
        delivered=consumer.delivered,
        acked=consumer.acked,
        closed_until=to_micros(consumer.closed_until),
        push=None if pushed is None else _push_shown(pushed, waiting),
    )


def _push_shown(pushed: Pushed, waiting: int) -> PartitionPush:
    push, state = pushed.push, pushed.state
    return PartitionPush(
        url=push.url,
        asset=push.asset,
        with_keys=push.with_keys,
        username=push.username,
        password=push.password,
        token=push.token,
        waiting=waiting,
        failures=state.failures,
        error=state.error,
        error_code=state.error_code,
        failing_since=micros(state.failing_since),
        due=micros(state.due),
        pushed_at=micros(state.pushed_at),
    )


def delivery_shown(consumer: Consumer, delivery: Delivery, run: ParentRun | None) -> PartitionDelivery:
    """Return a delivery in the form of the API, with the run of its certificate."""
    certificate = delivery.certificate
    return PartitionDelivery(
        id=delivery_id(consumer, delivery.sequence),
        sequence=delivery.sequence,
        kind=delivery.kind,
        key=key_of(delivery.bucket.start),
        start=to_micros(delivery.bucket.start),
        end=to_micros(delivery.bucket.end),
        at=to_micros(delivery.at),
        certificate=None if certificate is None else answers.certificate(certificate, run),
    )


def delivery_id(consumer: Consumer, sequence: int) -> str:
    """Return the id of a delivery, which is unique; its certificate has the same id."""
    return f"{consumer.id}-{sequence}"


_COUNTED = 1000


@dataclass(frozen=True, slots=True)
class Found:
    """Deliveries of a consumer, and when its next bucket ends."""

    deliveries: Deliveries
    next_end: datetime


@dataclass(frozen=True, slots=True)
class _Look:
    """A consumer, its pipeline, and its new deliveries."""

    consumer: Consumer
    record: JobRecord
    reached: datetime | None
    told: Sequence[Told]
    closed_until: datetime
    late_seen: int

    @property
    def is_news(self) -> bool:
        """Whether there is something to store."""
        return bool(self.told) or self.late_seen > self.consumer.late_seen


def find(context: Context, name: str) -> Consumer:
    """Return the consumer of that name."""
    with context.database.reading() as connection:
        return partitions.get(connection, name)


def give(context: Context, name: str, limit: int) -> Found:
    """Return the unacknowledged deliveries of a consumer, and new ones, which are stored before they are returned."""
    with context.database.reading() as connection:
        look = _look(connection, context, name, limit)
        if not look.is_news:
            return _found(connection, context, look, limit)
    with context.database.writing() as connection:
        look = _look(connection, context, name, limit)
        _tell(connection, context, look)
        return _found(connection, context, _look(connection, context, name, limit), limit)


def described(connection: Connection, context: Context, consumer: Consumer, record: JobRecord) -> PartitionConsumer:
    """Return a consumer in the form of the API."""
    pushed = pushes.find(connection, consumer)
    waiting = 0 if pushed is None else waiting_for(connection, context, consumer, record)
    late_known = None
    if consumer.late == "reopen":
        graph = versions.get(connection, record.pipeline.id, record.pipeline.version).graph
        late_known = takes_late_rows(graph, consumer.table)
    return shown(consumer, record, pushed, waiting, late_known=late_known)


def waiting_for(connection: Connection, context: Context, consumer: Consumer, record: JobRecord) -> int:
    """Count the deliveries that a consumer has not acknowledged or would now receive; at most a thousand."""
    try:
        until = output_reached(connection, consumer, record)
    except EngineError:  # the progress of its sink can never be known: there is nothing to wait for
        until = None
    told, _ = next_told(consumer, partitions.history(connection, consumer), until, context.clock(), _COUNTED)
    return min(_COUNTED, len(told) + partitions.count_waiting(connection, consumer))


def shown_deliveries(
    connection: Connection, context: Context, consumer: Consumer, record: JobRecord, deliveries: Sequence[Delivery]
) -> list[PartitionDelivery]:
    """Return deliveries in the form of the API."""
    return [
        delivery_shown(consumer, each, run_behind(connection, context.lineage_namespace, record, each.certificate))
        for each in deliveries
    ]


def _look(connection: Connection, context: Context, name: str, limit: int) -> _Look:
    consumer = partitions.get(connection, name)
    record = read_record(connection, consumer.pipeline_id)
    until = output_reached(connection, consumer, record)
    most = max(0, limit - partitions.count_waiting(connection, consumer))
    history = partitions.history(connection, consumer)
    late = _late(connection, consumer, record)
    history = replace(history, late=partitions.overtaken(connection, consumer, late_epochs(consumer, late)))
    told, closed_until = next_told(consumer, history, until, context.clock(), most)
    seen = late[-1].number if late else consumer.late_seen
    return _Look(consumer, record, until, told, closed_until, seen)


def _late(connection: Connection, consumer: Consumer, record: JobRecord) -> Sequence[LateBatch]:
    """Return the late rows that were not yet considered for a consumer."""
    if consumer.late == "ignore" or is_state_given_up(connection, record):
        return ()
    return late_batches.after(connection, consumer.pipeline_id, consumer.late_seen, record.status.progress.epoch)


def output_reached(connection: Connection, consumer: Consumer, record: JobRecord) -> datetime | None:
    """Return how far the output that a consumer follows is complete. Raise if that can never be known."""
    is_given_up = is_state_given_up(connection, record)
    until = reached(Gate(EPOCH, consumer.table, consumer.by), promised(record.status, is_given_up=is_given_up))
    is_finished = record.status.state is State.FINISHED and not is_given_up
    return FAR_FUTURE if is_finished else until


def _tell(connection: Connection, context: Context, look: _Look) -> None:
    """Store the new deliveries of a consumer."""
    consumer, at = look.consumer, context.clock()
    status, progress = look.record.status, look.record.status.progress
    offsets = offsets_of_epoch(context.directory.state(consumer.pipeline_id), progress.lineage, progress.epoch)
    given: list[Certificate] = []
    for sequence, told in enumerate(look.told, consumer.delivered + 1):
        bucket = told.bucket
        if told.kind == "voided":
            before = partitions.supersede(connection, consumer, bucket.start, sequence)
            partitions.deliver(connection, consumer, Delivery(sequence, "voided", bucket, at, before or ""))
            continue
        partitions.supersede(connection, consumer, bucket.start, None)
        certificate = Certificate(
            id=delivery_id(consumer, sequence),
            pipeline_id=consumer.pipeline_id,
            version=status.version,
            lineage=progress.lineage,
            epoch=progress.epoch,
            past=bucket.end,
            complete_until=look.reached or bucket.end,
            sink=consumer.table,
            by_time=consumer.by,
            dag_id="partitions",
            run_id=f"{consumer.name}/{key_of(bucket.start)}",
            at=at,
            offsets=offsets,
        )
        given.append(certificate)
        partitions.deliver(connection, consumer, Delivery(sequence, told.kind, bucket, at, certificate.id))
    certificates.add(connection, given)
    delivered = consumer.delivered + len(look.told)
    partitions.update(
        connection,
        replace(consumer, delivered=delivered, closed_until=look.closed_until, late_seen=look.late_seen),
    )
    if look.late_seen > consumer.late_seen:
        late_batches.prune(connection, consumer.pipeline_id)


def _found(connection: Connection, context: Context, look: _Look, limit: int) -> Found:
    waiting = partitions.waiting(connection, look.consumer, limit + 1)
    history = partitions.history(connection, look.consumer)
    more, _ = next_told(look.consumer, history, look.reached, context.clock(), 1)
    deliveries = Deliveries(
        consumer=described(connection, context, look.consumer, look.record),
        data=shown_deliveries(connection, context, look.consumer, look.record, waiting[:limit]),
        has_more=len(waiting) > limit or bool(more),
    )
    return Found(deliveries, next_end(look.consumer))
