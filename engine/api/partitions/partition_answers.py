"""Responses about consumers of time buckets, and their deliveries."""

from __future__ import annotations

from datetime import timedelta

from pydantic import BaseModel, Field

from engine.api import answers
from engine.api.answers import micros
from engine.jobs.authors import JobRecord
from engine.jobs.decisions.effects import GateTime
from engine.jobs.decisions.partitions import Consumer, DeliveryKind, LateMode, Pushed, key_of
from engine.openlineage.runs import ParentRun
from engine.store.partitions.partitions import Delivery
from engine.values.instants import to_micros

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
    """A consumer as it is answered."""
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
    """A delivery as it is answered, with the run that it stands on."""
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
