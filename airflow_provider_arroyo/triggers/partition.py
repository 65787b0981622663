"""Trigger of watchers: each complete time bucket becomes an event of the watched asset.

complete until    05:00           06:00           restored, 05:00     06:00
events            04:00 closed    05:00 closed    05:00 voided        05:00 closed
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Hashable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from airflow_provider_arroyo import consumers
from airflow_provider_arroyo.airflow_versions import AdvanceItem, SharedStreamProducer
from airflow_provider_arroyo.change_stream import Limits, SharedConnection
from airflow_provider_arroyo.conditions import GateTime, UntilPartition
from airflow_provider_arroyo.consumers import (
    ConsumerSpec,
    Deliveries,
    PartitionConsumer,
    PartitionDelivery,
    to_edge,
    to_length,
    to_payload,
)
from airflow_provider_arroyo.errors import ArroyoError, NotHandedOnError
from airflow_provider_arroyo.hooks.arroyo import HOLD, ArroyoHook
from airflow_provider_arroyo.protocols import Backoff, ask_until_answered, utc_now
from airflow_provider_arroyo.requests import LateMode

LOG = logging.getLogger(__name__)

BACKOFF = Backoff(timedelta(seconds=1), timedelta(minutes=1))
AT_ONCE = 50
"""Number of deliveries that are emitted before they are acknowledged."""


@dataclass(slots=True, eq=False)
class Handed:
    """A delivery on its way to Airflow, and whether Airflow has stored its event. If a trigger is cancelled during
    that, Airflow counts it as done although the event is lost."""

    consumer: PartitionConsumer
    delivery: PartitionDelivery
    is_taken: bool = False


class WatermarkEventTrigger(BaseEventTrigger):
    """For an `AssetWatcher`: one event of the asset for each complete time bucket, in order.

    The control plane stores the position as a consumer of partitions, and creates it if necessary. A delivery is
    acknowledged once Airflow has stored its event. If the triggerer dies before that, it comes again with the same
    `delivery` in its payload. After a restore there is an event of `kind` `voided` for each bucket that was reported
    too early, and another `closed` when it is complete again.

    Events of watchers have no partition key: use `NextPartitionOperator` for partitioned DAGs.

    :param pipeline: name or id of the pipeline.
    :param every: length of a bucket: `1 hour`, `15 minutes`, a timedelta, or a number, of whole seconds.
    :param consumer: the name of the consumer. Watchers with the same name share its deliveries.
    :param arroyo_conn_id: the connection; secrets stay in it.
    :param table: the sink that has to be complete; without it, all of them.
    :param by: `input` or `output` time, as in a `WatermarkSensor`.
    :param time_zone: whole days begin at midnight there.
    :param offset: how much later each bucket begins.
    :param start: an instant of the first bucket; without it, the oldest one that is not complete when the consumer is
        created.
    :param until: buckets that end later are skipped.
    :param late: `reopen` reports a bucket again, as `reopened`, when rows for it arrive in the table of late rows.
        Without it, an existing consumer is unchanged, and a new one ignores late rows.
    """

    def __init__(
        self,
        *,
        pipeline: str,
        every: timedelta | float | str,
        consumer: str,
        arroyo_conn_id: str = ArroyoHook.default_conn_name,
        table: str | None = None,
        by: GateTime = "input",
        time_zone: str = "UTC",
        offset: timedelta | float | str | None = None,
        start: datetime | str | None = None,
        until: datetime | str | None = None,
        late: LateMode | None = None,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Airflow leaves it untyped
        self.arroyo_conn_id = arroyo_conn_id
        self.consumer = consumer
        self.spec = ConsumerSpec(
            pipeline,
            to_length(every),
            table,
            by,
            time_zone,
            None if offset is None else to_length(offset),
            to_edge(start, "start"),
            to_edge(until, "until"),
            late,
        )

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the arguments that recreate the trigger; equal for two triggers with the same deliveries."""
        return f"{type(self).__module__}.{type(self).__qualname__}", {
            "arroyo_conn_id": self.arroyo_conn_id,
            "consumer": self.consumer,
            **self.spec.to_json(),
        }

    def shared_stream_key(self) -> Hashable:
        """Return the key by which triggers share a stream: those with the same consumer do."""
        return ("arroyo-partitions", *sorted(self.serialize()[1].items()))

    @classmethod
    def create_shared_stream_producer(cls, kwargs: dict[str, Any]) -> SharedStreamProducer:
        """Return the producer that receives deliveries and acknowledges those whose events Airflow has stored."""
        return DeliveryProducer(cls(**kwargs))

    async def filter_shared_stream(self, shared_stream: AsyncIterator[Handed]) -> AsyncIterator[TriggerEvent]:
        """Yield one event for each delivery."""
        async for handed in shared_stream:
            yield _event(handed)
            handed.is_taken = True

    async def run(self) -> AsyncGenerator[TriggerEvent, None]:
        """Yield events without sharing: a yielded one is acknowledged when the next one is requested."""
        producer = DeliveryProducer(self)
        async with aclosing(producer.open_stream()) as stream:
            async for _, handed in stream:
                yield _event(handed)
                await producer.acknowledge(handed)


def _event(handed: Handed) -> TriggerEvent:
    payload = to_payload(handed.consumer, handed.delivery)
    return TriggerEvent(payload)  # type: ignore[no-untyped-call]  # Airflow leaves it untyped


class DeliveryProducer(SharedStreamProducer):
    """Fetches the deliveries of one consumer, page by page. The next page is requested once the previous one is done,
    so that a process never emits a repeated delivery twice."""

    def __init__(self, trigger: WatermarkEventTrigger) -> None:
        self._hook = ArroyoHook(trigger.arroyo_conn_id)
        self._name = trigger.consumer
        self._spec = trigger.spec
        self._acked = 0
        self._moved = asyncio.Event()

    async def open_stream(self) -> AsyncGenerator[tuple[Handed, Handed], None]:
        """Yield deliveries for ever. A control plane that is unreachable or refuses is asked again."""
        wait = UntilPartition(self._spec.pipeline, self._name)
        limits, failures, is_there = Limits(timedelta(seconds=5)), 0, False
        async with self._hook.share(wait, limits) as connection:
            while True:
                try:
                    if not is_there:
                        await connection.send(consumers.put_consumer(self._name, self._spec))
                    given, is_there, failures = await self._take(connection), True, 0
                except ArroyoError as error:
                    failures, is_there = failures + 1, False
                    LOG.warning("%s gets no partitions now; trying again: %s", self._name, error)
                    await asyncio.sleep(BACKOFF.pause(failures).length.total_seconds())
                    continue
                for delivery in given.data:
                    handed = Handed(given.consumer, delivery)
                    yield handed, handed
                if given.data:
                    await self._until_acked(given.data[-1].sequence)
                else:
                    await connection.pause(limits.poll)

    async def advance(self, batch: Sequence[AdvanceItem]) -> None:
        """Acknowledge the deliveries whose events Airflow has stored, up to the first one that it has not."""
        done: Handed | None = None
        for item in batch:
            if item.outcome.failed or not item.broker_payload.is_taken:
                break
            done = item.broker_payload
        if done is not None:
            await self.acknowledge(done)
        if done is not batch[-1].broker_payload:
            raise NotHandedOnError(f"an event of consumer {self._name} was not stored")

    async def acknowledge(self, handed: Handed) -> None:
        """Acknowledge all deliveries up to this one."""
        sequence = handed.delivery.sequence
        await self._hook.arun(ask_until_answered(consumers.acknowledge(handed.consumer, sequence), utc_now))
        self._acked = sequence
        self._moved.set()

    async def _take(self, connection: SharedConnection) -> Deliveries:
        hold = timedelta(0) if await connection.has_stream() else HOLD
        return await connection.send(consumers.next_deliveries(self._name, AT_ONCE, hold))

    async def _until_acked(self, sequence: int) -> None:
        while self._acked < sequence:
            self._moved.clear()
            await self._moved.wait()
