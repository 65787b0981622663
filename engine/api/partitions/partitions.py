"""Consumers of time buckets: they get a delivery for each complete bucket of a pipeline, in order."""

from __future__ import annotations

import asyncio
import os
import re
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Path, Query, Request
from pydantic import Field
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool

from engine.api.answers import Page
from engine.api.http.authentication import is_let_in
from engine.api.http.bodies import Body
from engine.api.http.problems import ContextDep, refusals
from engine.api.http.query_parameters import read_instant
from engine.api.partitions.partition_deliveries import (
    Deliveries,
    PartitionConsumer,
    PartitionDelivery,
    described,
    find,
    give,
    output_reached,
    shown_deliveries,
)
from engine.connectors.addresses import WebUrl, check_url
from engine.control.context import Context
from engine.errors import (
    AuthError,
    LateRowsUnknownError,
    NotDeliveredError,
    PartitionConsumerDiffersError,
    PushedConsumerError,
    PushLoginError,
    TargetUnavailableError,
)
from engine.jobs import disk
from engine.jobs.actors import JobRecord
from engine.jobs.decisions.effects import GateTime
from engine.jobs.decisions.partitions import (
    Consumer,
    LateMode,
    Push,
    Pushed,
    PushState,
    TimeBuckets,
    check_buckets,
    check_instant,
    first_bucket,
    takes_late_rows,
)
from engine.store.jobs.records import read_record
from engine.store.partitions import late_batches, partitions, pushes
from engine.store.pipelines import pipelines, versions
from engine.values.durations import read_duration
from engine.values.instants import EPOCH
from engine.values.secret_references import NAME, references, replace_references


class PushRequest(Body):
    """An asset of an Airflow that gets an event for each delivery."""

    url: WebUrl = Field(
        max_length=2000, description="The API server of the Airflow, such as `https://airflow.example`."
    )
    asset: str = Field(min_length=1, max_length=1500, description="The asset, by URI or name.")
    with_keys: bool = Field(
        default=True,
        description="Whether events have partition keys: those start DAGs by partitions, the others DAGs by assets.",
    )
    username: str | None = Field(default=None, min_length=1, max_length=500, description="The user who logs in.")
    password: str | None = Field(
        default=None,
        max_length=300,
        description="The secret that has the password of the user, as `{{ secret:NAME }}`.",
    )
    token: str | None = Field(
        default=None, max_length=300, description="The secret that has a token, instead of a user with a password."
    )

    def read(self) -> Push:
        """Return the requested push; raise if it is impossible, or would reach an address that pipelines may not."""
        if (self.username is None) != (self.password is None) or (self.password and self.token):
            raise PushLoginError(
                "credentials are a username with a password, or a token alone",
                hint="name the one or the other, or neither where Airflow lets everybody in",
            )
        for name, value in (("password", self.password), ("token", self.token)):
            if value is not None:
                _check_reference(name, value)
        if urlsplit(self.url).query or urlsplit(self.url).fragment:
            raise PushLoginError("the URL of an API server has no query", hint="leave out what follows the `?`")
        with suppress(TargetUnavailableError):  # an unknown name may be known later
            check_url(self.url, os.environ)
        return Push(
            self.url.rstrip("/"),
            self.asset,
            self.with_keys,
            self.username,
            _spelled(self.password),
            _spelled(self.token),
        )


def _check_reference(name: str, value: str) -> None:
    named = references(value)
    rest = replace_references(value, lambda _: "").strip()
    if rest or len(named) != 1 or not named[0].is_secret or not re.fullmatch(NAME, named[0].name):
        raise PushLoginError(
            f"the {name} has to be a reference to a secret, since it is kept and shown",
            hint="write {{ secret:NAME }}, and deploy the pipeline with that secret, or set ARROYO_SECRET_NAME "
            "where the control plane is started",
        )


def _spelled(value: str | None) -> str | None:
    """Return a reference in its usual spelling."""
    return None if value is None else f"{{{{ secret:{references(value)[0].name} }}}}"


_MINUTE = timedelta(minutes=1)
ROUTER = APIRouter(prefix="/partitions", tags=["partitions"])
NameDep = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", description="The name of the consumer.")]


class ConsumerRequest(Body):
    """The buckets that a consumer receives."""

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
    until: int | str | None = Field(default=None, description="Buckets that end later are not reported.")
    late: LateMode | None = Field(
        default=None,
        description="Whether closed buckets are reported again, as `reopened`, when rows came late for them. "
        "Without it a new consumer ignores these, and an existing one is unchanged.",
    )
    push: PushRequest | None = Field(
        default=None,
        description="Where the control plane is to push deliveries, which it acknowledges itself then; null has them "
        "pulled. Without it, an existing consumer is unchanged.",
    )


class Acknowledgement(Body):
    """Number of the last processed delivery."""

    up_to: int = Field(ge=0, description="The number of that delivery.")
    id: str | None = Field(default=None, description="The id of the consumer: another one of that name is refused.")


@ROUTER.put("/{name}", responses=refusals(400, 404, 409))
def create(name: NameDep, body: ConsumerRequest, context: ContextDep) -> PartitionConsumer:
    """Create a consumer. Idempotent; refused if another consumer has this name."""
    buckets = TimeBuckets(read_duration(body.every), read_duration(body.offset), body.time_zone)
    check_buckets(buckets)
    start, until = _instant("start", body.start), _instant("until", body.until)
    push = None if body.push is None else body.push.read()
    with context.database.writing() as connection:
        record = read_record(connection, body.pipeline)
        there = partitions.find(connection, name)
        wanted = Consumer(
            id=disk.make("part"),
            name=name,
            pipeline_id=record.pipeline.id,
            table=body.table,
            by=body.by,
            buckets=buckets,
            start=EPOCH,
            until=until,
            created_at=context.clock(),
            closed_until=EPOCH,
            late=body.late or (there.late if there is not None else "ignore"),
            late_seen=late_batches.newest(connection, record.pipeline.id),
        )
        if body.late == "reopen":
            _check_late(connection, wanted, record)
        until_now = output_reached(connection, wanted, record)
        if there is not None:
            _check_same(there, wanted, start)
            if there.late != wanted.late:
                there = replace(there, late=wanted.late, late_seen=wanted.late_seen)
                partitions.update(connection, there)
                late_batches.prune(connection, record.pipeline.id)
            consumer = there
        else:
            begin = first_bucket(buckets, start, until_now, context.clock())
            consumer = replace(wanted, start=begin, closed_until=begin)
            partitions.add(connection, consumer)
        if "push" in body.model_fields_set:
            _let_be_pushed(connection, consumer, push)
        answer = described(connection, context, consumer, record)
    context.pushes_changed.set()
    return answer


@ROUTER.get("", responses=refusals(404))
def list_all(
    context: ContextDep, pipeline: Annotated[str | None, Query(description="Only those of this one.")] = None
) -> Page[PartitionConsumer]:
    """List the consumers of partitions, by name."""
    with context.database.reading() as connection:
        pipeline_id = None if pipeline is None else pipelines.get(connection, pipeline).id
        consumers = partitions.list_all(connection, pipeline_id)
        answers = [_described(connection, context, consumer) for consumer in consumers]
    return Page(data=answers)


@ROUTER.get("/{name}", responses=refusals(404))
def show(name: NameDep, context: ContextDep) -> PartitionConsumer:
    """Show a consumer and its position."""
    with context.database.reading() as connection:
        return _described(connection, context, partitions.get(connection, name))


@ROUTER.get("/{name}/next", responses=refusals(404, 409))
async def next_deliveries(
    name: NameDep,
    request: Request,
    context: ContextDep,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    timeout_seconds: Annotated[float, Query(ge=0, le=55)] = 0,
) -> Deliveries:
    """Return the consumer's unacknowledged deliveries, oldest first. The response waits until there is one, or a
    timeout."""
    loop = asyncio.get_running_loop()
    end = loop.time() + min(timeout_seconds, context.long_poll_max.total_seconds())
    consumer = await run_in_threadpool(find, context, name)
    while True:
        wait = context.changes.watch(consumer.pipeline_id, lambda _: True)
        try:
            found = await run_in_threadpool(give, context, name, limit)
            remaining = end - loop.time()
            if found.deliveries.data or remaining <= 0 or context.changes.is_closed:
                return found.deliveries
            until_end = (found.next_end - context.clock()).total_seconds()
            await asyncio.wait([wait.answer], timeout=min(remaining, until_end) if until_end > 0 else remaining)
        finally:
            context.changes.forget(consumer.pipeline_id, wait)
        if not is_let_in(request):
            raise AuthError("the token has ended while the request was held", hint="ask for another token")


@ROUTER.get("/{name}/deliveries", responses=refusals(404))
def list_deliveries(
    name: NameDep, context: ContextDep, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> Page[PartitionDelivery]:
    """List the deliveries of a consumer, newest first: acknowledged, waiting and voided ones. Acknowledged ones are
    stored as long as certificates."""
    with context.database.reading() as connection:
        consumer = partitions.get(connection, name)
        newest = partitions.page(connection, consumer, limit + 1)
        record = read_record(connection, consumer.pipeline_id)
        data = shown_deliveries(connection, context, consumer, record, newest[:limit])
    return Page(data=data, has_more=len(newest) > limit)


@ROUTER.post("/{name}/ack", responses=refusals(400, 404, 409))
def acknowledge(name: NameDep, body: Acknowledgement, context: ContextDep) -> PartitionConsumer:
    """Acknowledge all deliveries up to a number. Idempotent."""
    with context.database.writing() as connection:
        consumer = partitions.get(connection, name)
        if body.id not in (None, consumer.id):
            raise PartitionConsumerDiffersError(
                f"{name!r} is another consumer now: {consumer.id}", hint="it was deleted and created again in between"
            )
        if pushes.find(connection, consumer) is not None:
            raise PushedConsumerError(
                f"the deliveries of {name!r} are pushed, and acknowledged once Airflow has their events",
                hint="make another consumer to pull them, or have this one pulled: PUT it with push=null",
            )
        if body.up_to > consumer.delivered:
            raise NotDeliveredError(
                f"{name!r} was not given delivery {body.up_to}", hint=f"the newest one is {consumer.delivered}"
            )
        if body.up_to > consumer.acked:
            consumer = replace(consumer, acked=body.up_to)
            partitions.update(connection, consumer)
        return _described(connection, context, consumer)


@ROUTER.delete("/{name}", status_code=204, responses=refusals(404))
def remove(name: NameDep, context: ContextDep) -> None:
    """Delete a consumer with its deliveries; waiting requests end."""
    with context.database.writing() as connection:
        consumer = partitions.get(connection, name)
        partitions.remove(connection, consumer)
        late_batches.prune(connection, consumer.pipeline_id)
    context.changes.notify(consumer.pipeline_id)


def _described(connection: Connection, context: Context, consumer: Consumer) -> PartitionConsumer:
    return described(connection, context, consumer, read_record(connection, consumer.pipeline_id))


def _let_be_pushed(connection: Connection, consumer: Consumer, push: Push | None) -> None:
    """Set where deliveries are pushed from now on; if that is unchanged, the next one is tried immediately. With
    another login, and after a time without pushes, uncertain deliveries stay uncertain."""
    before = pushes.find_last(connection, consumer)
    if push is None:
        if before is not None:
            pushes.put(connection, consumer, replace(before, is_off=True))
        return
    is_there = before is not None and (before.push.url, before.push.asset) == (push.url, push.asset)
    if before is None or not is_there:
        pushes.put(connection, consumer, Pushed(push))
    elif before.push == push:
        pushes.put(connection, consumer, Pushed(push, replace(before.state, due=None)))
    else:
        state = PushState(doubt=before.state.doubt, newest=before.state.newest)
        pushes.put(connection, consumer, Pushed(push, state))


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
        late=there.late,
        late_seen=there.late_seen,
    )
    if same != there:
        raise PartitionConsumerDiffersError(
            f"the consumer of partitions {there.name!r} follows other buckets",
            hint="choose another name, or delete that one first",
        )


def _check_late(connection: Connection, consumer: Consumer, record: JobRecord) -> None:
    """Refuse to report late rows if they are unknown."""
    if consumer.by == "output":
        raise LateRowsUnknownError(
            "in which buckets of output time late rows would have been is not known",
            hint="follow buckets of input time (by=input), or say late=ignore",
        )
    if consumer.buckets.every % _MINUTE or consumer.buckets.offset % _MINUTE:
        raise LateRowsUnknownError(
            "of late rows only the minute is known", hint="make buckets of whole minutes, or say late=ignore"
        )
    graph = versions.get(connection, record.pipeline.id, record.pipeline.version).graph
    if not takes_late_rows(graph, consumer.table):
        sink = "the sinks" if consumer.table is None else repr(consumer.table)
        raise LateRowsUnknownError(
            f"no table takes the rows that come late for {sink} of {record.pipeline.name!r}",
            hint="name one with the option late_rows of the source table, or say late=ignore",
        )


def _instant(name: str, value: int | str | None) -> datetime | None:
    if value is None:
        return None
    instant = read_instant(name, str(value))
    check_instant(name, instant)
    return instant
