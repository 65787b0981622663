"""Consumers of partitions: told of each bucket of event time of a pipeline once it is complete, in order."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool

from engine.api import answers
from engine.api.answers import Page, micros
from engine.api.authentication import who_asks
from engine.api.bodies import Body
from engine.api.context import Context, ContextDep
from engine.api.problems import refusals
from engine.api.query_instants import read_instant
from engine.checkpoints.input_offsets import offsets_of_epoch
from engine.durations import read_duration
from engine.errors import AuthError, NotDeliveredError, PartitionConsumerDiffersError
from engine.instants import EPOCH, FAR_FUTURE, to_micros
from engine.jobs import ids
from engine.jobs.gates import Gate, GateTime, promised, reached
from engine.jobs.partitions import Consumer, Told, first_bucket, next_end, next_told
from engine.jobs.records import JobRecord
from engine.jobs.states import State
from engine.jobs.time_buckets import TimeBuckets, check_buckets, check_instant, key_of
from engine.store import certificates, partitions, pipelines
from engine.store.certificates import Certificate
from engine.store.lineages import is_state_given_up
from engine.store.partitions import Delivery
from engine.store.records import read_record

ROUTER = APIRouter(prefix="/partitions", tags=["partitions"])
_MICROSECOND = timedelta(microseconds=1)
NameDep = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", description="The name of the consumer.")]


class ConsumerRequest(Body):
    """Which buckets a consumer is told of."""

    pipeline: str = Field(description="The pipeline, by name or id.")
    every: str = Field(max_length=100, description="How long a bucket is: `1 hour`, `15 minutes`, `1 day`.")
    table: str | None = Field(default=None, description="The sink that has to be complete; without it, all of them.")
    by: GateTime = Field(default="input", description="Whether by input or by output time, as at a gate.")
    time_zone: str = Field(default="UTC", max_length=100, description="Whole days begin at midnight there.")
    offset: str = Field(default="0 seconds", max_length=100, description="How much later each bucket begins.")
    start: int | str | None = Field(
        default=None,
        description="An instant of the first bucket; without it, the oldest one that is not complete, at the latest "
        "that of now.",
    )
    until: int | str | None = Field(default=None, description="Buckets that end later are not told of.")


class PartitionConsumer(BaseModel):
    """Who is told of the buckets of a pipeline as they become complete, and how far it is."""

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
    until: int | None = Field(description="Buckets that end later are not told of.")
    created_at: int = Field(description="When the consumer was made.")
    delivered: int = Field(description="The number of the newest delivery; 0 before there is one.")
    acked: int = Field(description="The consumer is done with all deliveries up to this number.")
    closed_until: int = Field(description="Where the first bucket begins that was not closed yet.")


class PartitionDelivery(BaseModel):
    """What a consumer is told of a bucket."""

    id: str = Field(description="Never the same for two deliveries: the key to do things once by.")
    sequence: int = Field(description="Its number; acknowledge up to it.")
    kind: Literal["closed", "voided"] = Field(description="The bucket is complete; or what was told is void.")
    key: str = Field(description="Where the bucket begins, in UTC, as Airflow's partition mappers read it.")
    start: int = Field(description="Where the bucket begins.")
    end: int = Field(description="Where it ends.")
    at: int = Field(description="When it was told first.")
    certificate: answers.Certificate | None = Field(
        description="What that stands on, or stood; null once it is not kept any more."
    )


class Deliveries(BaseModel):
    """What a consumer was told and has not acknowledged, oldest first."""

    consumer: PartitionConsumer = Field(description="The consumer as it is with these.")
    data: list[PartitionDelivery] = Field(description="The deliveries; the same again until they are acknowledged.")
    has_more: bool = Field(description="Whether more can be had at once after these.")


class Acknowledgement(Body):
    """Up to which delivery a consumer is done with all."""

    up_to: int = Field(ge=0, description="The number of that delivery.")
    id: str | None = Field(default=None, description="The id of the consumer: another one of that name is refused.")


@ROUTER.put("/{name}", responses=refusals(400, 404, 409))
def create(name: NameDep, body: ConsumerRequest, context: ContextDep) -> PartitionConsumer:
    """Make a consumer. Asked again for the same one, it is left as it is; another one of that name is refused."""
    buckets = TimeBuckets(read_duration(body.every), read_duration(body.offset), body.time_zone)
    check_buckets(buckets)
    start, until = _instant("start", body.start), _instant("until", body.until)
    with context.database.writing() as connection:
        record = read_record(connection, body.pipeline)
        wanted = Consumer(
            id=ids.make("part"),
            name=name,
            pipeline_id=record.pipeline.id,
            table=body.table,
            by=body.by,
            buckets=buckets,
            start=EPOCH,
            until=until,
            created_at=context.clock(),
            closed_until=EPOCH,
        )
        until_now = _reached(connection, wanted, record)
        there = partitions.find(connection, name)
        if there is not None:
            _check_same(there, wanted, start)
            return _shown(there, record)
        begin = first_bucket(buckets, start, until_now, context.clock())
        consumer = replace(wanted, start=begin, closed_until=begin)
        partitions.add(connection, consumer)
    return _shown(consumer, record)


@ROUTER.get("", responses=refusals(404))
def list_all(
    context: ContextDep, pipeline: Annotated[str | None, Query(description="Only those of this one.")] = None
) -> Page[PartitionConsumer]:
    """List the consumers of partitions, by name."""
    with context.database.reading() as connection:
        pipeline_id = None if pipeline is None else pipelines.get(connection, pipeline).id
        consumers = partitions.list_all(connection, pipeline_id)
        shown = [_shown(consumer, read_record(connection, consumer.pipeline_id)) for consumer in consumers]
    return Page(data=shown)


@ROUTER.get("/{name}", responses=refusals(404))
def show(name: NameDep, context: ContextDep) -> PartitionConsumer:
    """Show a consumer and how far it is."""
    with context.database.reading() as connection:
        consumer = partitions.get(connection, name)
        return _shown(consumer, read_record(connection, consumer.pipeline_id))


@ROUTER.get("/{name}/next", responses=refusals(404, 409))
async def next_deliveries(
    name: NameDep,
    request: Request,
    context: ContextDep,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    timeout_seconds: Annotated[float, Query(ge=0, le=55)] = 0,
) -> Deliveries:
    """Give what the consumer has not acknowledged, oldest first, and the same again until it has. The answer waits
    until there is something, or the time is over."""
    loop = asyncio.get_running_loop()
    end = loop.time() + min(timeout_seconds, context.long_poll_max.total_seconds())
    consumer = await run_in_threadpool(_find, context, name)
    while True:
        wait = context.changes.watch(consumer.pipeline_id, lambda _: True)
        try:
            found = await run_in_threadpool(_give, context, name, limit)
            remaining = end - loop.time()
            if found.deliveries.data or remaining <= 0 or context.changes.is_closed:
                return found.deliveries
            until_end = (found.next_end - context.clock()).total_seconds()
            await asyncio.wait([wait.answer], timeout=min(remaining, until_end) if until_end > 0 else remaining)
        finally:
            context.changes.forget(consumer.pipeline_id, wait)
        if not context.admission.admits(who_asks(request), context.clock):
            raise AuthError("the token has ended while the request was held", hint="ask for another token")


@ROUTER.post("/{name}/ack", responses=refusals(400, 404, 409))
def acknowledge(name: NameDep, body: Acknowledgement, context: ContextDep) -> PartitionConsumer:
    """Be done with all deliveries up to a number. What is done with already stays so."""
    with context.database.writing() as connection:
        consumer = partitions.get(connection, name)
        if body.id not in (None, consumer.id):
            raise PartitionConsumerDiffersError(
                f"{name!r} is another consumer now: {consumer.id}", hint="it was deleted and made anew in between"
            )
        if body.up_to > consumer.delivered:
            raise NotDeliveredError(
                f"{name!r} was not given delivery {body.up_to}", hint=f"the newest one is {consumer.delivered}"
            )
        if body.up_to > consumer.acked:
            consumer = replace(consumer, acked=body.up_to)
            partitions.update(connection, consumer)
        return _shown(consumer, read_record(connection, consumer.pipeline_id))


@ROUTER.delete("/{name}", status_code=204, responses=refusals(404))
def remove(name: NameDep, context: ContextDep) -> None:
    """Delete a consumer with all that it was told; requests that are held for it end."""
    with context.database.writing() as connection:
        consumer = partitions.get(connection, name)
        partitions.remove(connection, consumer)
    context.changes.notify(consumer.pipeline_id)


@dataclass(frozen=True, slots=True)
class _Found:
    """What there is for a consumer, and when its next bucket ends."""

    deliveries: Deliveries
    next_end: datetime


@dataclass(frozen=True, slots=True)
class _Look:
    """A consumer, its pipeline, and what it is to be told now."""

    consumer: Consumer
    record: JobRecord
    reached: datetime | None
    told: Sequence[Told]
    closed_until: datetime


def _find(context: Context, name: str) -> Consumer:
    with context.database.reading() as connection:
        return partitions.get(connection, name)


def _give(context: Context, name: str, limit: int) -> _Found:
    """What a consumer has not acknowledged, with what is to be told now, which is written down before it is given."""
    with context.database.reading() as connection:
        look = _look(connection, context, name, limit)
        if not look.told:
            return _found(connection, context, look, limit)
    with context.database.writing() as connection:
        look = _look(connection, context, name, limit)
        _tell(connection, context, look)
        return _found(connection, context, _look(connection, context, name, limit), limit)


def _look(connection: Connection, context: Context, name: str, limit: int) -> _Look:
    consumer = partitions.get(connection, name)
    record = read_record(connection, consumer.pipeline_id)
    until = _reached(connection, consumer, record)
    most = max(0, limit - partitions.count_waiting(connection, consumer))
    history = partitions.history(connection, consumer)
    told, closed_until = next_told(consumer, history, until, context.clock(), most)
    return _Look(consumer, record, until, told, closed_until)


def _reached(connection: Connection, consumer: Consumer, record: JobRecord) -> datetime | None:
    """How far the output is complete that a consumer follows. Refused where that can never be known."""
    is_given_up = is_state_given_up(connection, record)
    until = reached(Gate(EPOCH, consumer.table, consumer.by), promised(record.status, is_given_up=is_given_up))
    is_finished = record.status.state is State.FINISHED and not is_given_up
    return FAR_FUTURE if is_finished else until


def _tell(connection: Connection, context: Context, look: _Look) -> None:
    """Write down what a consumer is told."""
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
            id=_delivery_id(consumer, sequence),
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
        partitions.deliver(connection, consumer, Delivery(sequence, "closed", bucket, at, certificate.id))
    certificates.add(connection, given)
    partitions.update(
        connection,
        replace(consumer, delivered=consumer.delivered + len(look.told), closed_until=look.closed_until),
    )


def _found(connection: Connection, context: Context, look: _Look, limit: int) -> _Found:
    waiting = partitions.waiting(connection, look.consumer, limit + 1)
    history = partitions.history(connection, look.consumer)
    more, _ = next_told(look.consumer, history, look.reached, context.clock(), 1)
    deliveries = Deliveries(
        consumer=_shown(look.consumer, look.record),
        data=[_delivery(look.consumer, delivery) for delivery in waiting[:limit]],
        has_more=len(waiting) > limit or bool(more),
    )
    return _Found(deliveries, next_end(look.consumer))


def _check_same(there: Consumer, wanted: Consumer, start: datetime | None) -> None:
    begin = there.start if start is None else wanted.buckets.holding(start)
    same = replace(
        wanted,
        id=there.id,
        start=begin,
        created_at=there.created_at,
        closed_until=there.closed_until,
        delivered=there.delivered,
        acked=there.acked,
    )
    if same != there:
        raise PartitionConsumerDiffersError(
            f"the consumer of partitions {there.name!r} follows other buckets",
            hint="choose another name, or delete that one first",
        )


def _instant(name: str, value: int | str | None) -> datetime | None:
    if value is None:
        return None
    instant = read_instant(name, str(value))
    check_instant(name, instant)
    return instant


def _shown(consumer: Consumer, record: JobRecord) -> PartitionConsumer:
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
        created_at=to_micros(consumer.created_at),
        delivered=consumer.delivered,
        acked=consumer.acked,
        closed_until=to_micros(consumer.closed_until),
    )


def _delivery(consumer: Consumer, delivery: Delivery) -> PartitionDelivery:
    certificate = delivery.certificate
    return PartitionDelivery(
        id=_delivery_id(consumer, delivery.sequence),
        sequence=delivery.sequence,
        kind=delivery.kind,
        key=key_of(delivery.bucket.start),
        start=to_micros(delivery.bucket.start),
        end=to_micros(delivery.bucket.end),
        at=to_micros(delivery.at),
        certificate=None if certificate is None else answers.certificate(certificate),
    )


def _delivery_id(consumer: Consumer, sequence: int) -> str:
    return f"{consumer.id}-{sequence}"
