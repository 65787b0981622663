"""Emit the next complete time bucket as a partitioned asset event.

every = 1 hour
complete until    05:00           06:00           08:00
run               04:00 closed    05:00 closed    06:00 closed, and 07:00 closed in the next run
batches           key 04:00       key 05:00       key 06:00, key 07:00
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import Asset
from airflow.sdk.exceptions import AirflowRuntimeError, ErrorType

from airflow_provider_arroyo import consumers, lineage
from airflow_provider_arroyo.conditions import GateTime, UntilPartition
from airflow_provider_arroyo.consumers import ConsumerSpec, PartitionConsumer, PartitionDelivery, to_edge, to_length
from airflow_provider_arroyo.emissions import Emission, emit, newest_emission, refuse_without_partitions
from airflow_provider_arroyo.errors import ConsumerBehindError
from airflow_provider_arroyo.operators.base import PipelineOperator, reached
from airflow_provider_arroyo.requests import LateMode

if TYPE_CHECKING:
    from airflow.sdk import Context

_AT_ONCE = 50


class NextPartitionOperator(PipelineOperator):
    """Wait for the next complete time bucket, and end with one event of an asset for its partition.

    Use it in its own DAG with `schedule="@continuous"`: each run turns one bucket into one event, in order, without
    gaps, even if the task is retried, killed or cleared. The event starts DAGs on
    `PartitionedAssetTimetable(assets=partitions)`. It waits without a limit, by default without a worker.

    Airflow stores the event and the end of the task in one transaction. The next try reads what is stored and
    acknowledges it first. The event's key is the start of the bucket in UTC, as Airflow's partition mappers read it.
    Its extra, and the task's result, have `kind`, `start`, `end`, the `certificate`, and `voided`, which is true for a
    bucket that is reported again after a restore.

    :param pipeline: name or id of the pipeline (templated).
    :param partitions: the asset; it becomes an outlet of the task.
    :param every: length of a bucket: `1 hour`, `15 minutes`, a timedelta, or a number, of whole seconds.
    :param consumer: the name of this position in the control plane; one per asset (templated).
    :param table: the sink that has to be complete; without it, all of them.
    :param by: `input` or `output` time, as in a `WatermarkSensor`.
    :param time_zone: whole days begin at midnight there.
    :param offset: how much later each bucket begins.
    :param start: an instant of the first bucket; without it, the oldest one that is not complete at the first run
        (templated).
    :param until: buckets that end later are skipped (templated).
    :param late: `reopen` reports a bucket again, as `reopened`, when rows for it arrive in the table of late rows.
        Without it, an existing consumer is unchanged, and a new one ignores late rows.
    """

    template_fields: Sequence[str] = (*PipelineOperator.template_fields, "consumer", "table", "start", "until")

    def __init__(
        self,
        *,
        pipeline: str,
        partitions: Asset,
        every: timedelta | float | str,
        consumer: str,
        table: str | None = None,
        by: GateTime = "input",
        time_zone: str = "UTC",
        offset: timedelta | float | str | None = None,
        start: datetime | str | None = None,
        until: datetime | str | None = None,
        late: LateMode | None = None,
        **kwargs: Any,
    ) -> None:
        outlets = [*kwargs.pop("outlets", ()), partitions]
        defaults = {"deferrable": True, "wait_timeout": None, "max_active_tis_per_dag": 1}
        super().__init__(pipeline=pipeline, outlets=outlets, **{**defaults, **kwargs})
        self.partitions = partitions
        self.every = every
        self.consumer = consumer
        self.table = table
        self.by = by
        self.time_zone = time_zone
        self.offset = offset
        self.start = start
        self.until = until
        self.late = late
        self._told: dict[str, Any] | None = None

    def execute(self, context: Context) -> dict[str, Any]:
        """Pass on the next delivery; wait for it if necessary."""
        refuse_without_partitions(context["outlet_events"][self.partitions])
        return self._hand_on(context, self.deadline())

    def execute_complete(self, context: Context, event: object = None, deadline: str | None = None) -> dict[str, Any]:
        """Complete the task when its trigger fires, before the deadline of the whole wait."""
        reached(event)
        return self._hand_on(context, self.deadline() if deadline is None else datetime.fromisoformat(deadline))

    def _hand_on(self, context: Context, deadline: datetime | None) -> dict[str, Any]:
        consumer = self.send(consumers.put_consumer(self.consumer, self._spec()))
        self.note(context, consumer.pipeline_id)
        emitted = self._emitted(consumer)
        if emitted is not None and emitted.sequence > consumer.delivered:
            raise ConsumerBehindError(
                f"Airflow has the event of delivery {emitted.sequence} of consumer {consumer.name!r}, and the control "
                f"plane has made {consumer.delivered}: it was restored from a backup",
                hint=f"Delete the consumer (`arroyo partitions delete {consumer.name}`), and name where it goes on: "
                f"start={emitted.closed_until.isoformat()!r}. Buckets that rows came late for meanwhile, or that a "
                "restore of the pipeline made void, are for you to read again.",
            )
        if emitted is not None and emitted.sequence > consumer.acked:
            self.send(consumers.acknowledge(consumer, emitted.sequence))
        while (delivery := self._next(consumer)) is None:
            until = UntilPartition(consumer.pipeline_id, consumer.name)
            kept = {} if deadline is None else {"deadline": deadline.isoformat()}
            self.wait_until(deadline, until, "execute_complete", **kept)
        self.log.info("The bucket that begins at %s is complete", delivery.start.isoformat())
        self._told = emit(context, self.partitions, consumer, delivery, emitted)
        return self._told

    def get_openlineage_facets_on_complete(self, task_instance: object) -> lineage.TaskLineage | None:
        """Return the lineage of the task: the tables whose time bucket is complete, and its certificate."""
        return None if self._told is None else lineage.of_readers(self.hook, [(self.pipeline, self.table)], self._told)

    def _emitted(self, consumer: PartitionConsumer) -> Emission | None:
        """Return the newest emitted event. While a run is queued that an event has started, Airflow 3.3 fails to list
        it."""
        while True:
            try:
                return newest_emission(self.partitions, consumer)
            except AirflowRuntimeError as error:
                status = (error.error.detail or {}).get("status_code")
                if error.error.error is not ErrorType.API_SERVER_ERROR or (status is not None and status < 500):
                    raise
                self.log.warning("Airflow cannot list what was handed on yet; trying again: %s", error)
            self._pause(timedelta(seconds=self.poll_interval))

    def _next(self, consumer: PartitionConsumer) -> PartitionDelivery | None:
        """Return the next delivery to emit. A void bucket is only logged: its event follows when it is complete."""
        while given := self.send(consumers.next_deliveries(consumer.name, _AT_ONCE)).data:
            for delivery in given:
                if delivery.kind != "voided":
                    return delivery
                self.log.warning("The bucket that begins at %s was complete, and is void", delivery.start.isoformat())
                self.send(consumers.acknowledge(consumer, delivery.sequence))
        return None

    def _spec(self) -> ConsumerSpec:
        offset = None if self.offset is None else to_length(self.offset)
        start, until = to_edge(self.start, "start"), to_edge(self.until, "until")
        return ConsumerSpec(
            self.pipeline, to_length(self.every), self.table, self.by, self.time_zone, offset, start, until, self.late
        )
