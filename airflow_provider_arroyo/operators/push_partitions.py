"""Let the control plane emit an asset event for each complete time bucket."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import Asset

from airflow_provider_arroyo import consumers
from airflow_provider_arroyo.airflow_versions import conf
from airflow_provider_arroyo.conditions import GateTime
from airflow_provider_arroyo.consumers import ConsumerSpec, PushSpec, to_edge, to_length
from airflow_provider_arroyo.operators.base import PipelineOperator
from airflow_provider_arroyo.requests import LateMode
from airflow_provider_arroyo.secret_sources import NAME

if TYPE_CHECKING:
    from airflow.sdk import Context


class PushPartitionsOperator(PipelineOperator):
    """Have the control plane push each complete time bucket to Airflow, as an event of an asset.

    The task registers this and ends. From then on no task waits, no DAG runs for it, and there is no watcher. Each
    bucket is one event, in order and once, even if the control plane is killed or Airflow is down. By default an event
    has the start of the bucket as its partition key, and starts the DAGs on
    `PartitionedAssetTimetable(assets=partitions)`.

    If the task runs again, pushing continues where it was, and failed pushes are retried at once. The asset is no
    outlet of the task: that would emit an event without a bucket when the task ends.

    :param pipeline: name or id of the pipeline (templated).
    :param partitions: the asset that gets the events. A DAG must refer to it.
    :param every: length of a bucket: `1 hour`, `15 minutes`, a timedelta, or a number, of whole seconds.
    :param consumer: the name of this position in the control plane (templated).
    :param url: URL of Airflow's API server, as the control plane reaches it; by default `[api] base_url` (templated).
    :param username: user of the login, with `password_secret`; without a login Airflow must admit everybody
        (templated).
    :param password_secret: the name of the secret with the password: one that the pipeline was deployed with, or
        `ARROYO_SECRET_NAME` in the environment of the control plane.
    :param token_secret: the name of the secret with a token, instead of a user and a password.
    :param with_keys: whether events have partition keys; those without start the DAGs that are scheduled on the asset.
    :param push: False ends pushing: deliveries are pulled from then on. Deliveries with an unknown result are
        remembered.
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

    template_fields: Sequence[str] = (
        *PipelineOperator.template_fields,
        "consumer",
        "url",
        "username",
        "table",
        "start",
        "until",
    )

    def __init__(
        self,
        *,
        pipeline: str,
        partitions: Asset,
        every: timedelta | float | str,
        consumer: str,
        url: str | None = None,
        username: str | None = None,
        password_secret: str | None = None,
        token_secret: str | None = None,
        with_keys: bool = True,
        push: bool = True,
        table: str | None = None,
        by: GateTime = "input",
        time_zone: str = "UTC",
        offset: timedelta | float | str | None = None,
        start: datetime | str | None = None,
        until: datetime | str | None = None,
        late: LateMode | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(pipeline=pipeline, **kwargs)
        if (username is None) != (password_secret is None) or (password_secret and token_secret):
            raise ValueError("credentials are username with password_secret, or token_secret alone")
        for secret in (password_secret, token_secret):
            if secret is not None and not NAME.fullmatch(secret):  # not repeated: it may be the secret itself
                raise ValueError("password_secret and token_secret are names of secrets, such as AIRFLOW")
        self.partitions = partitions
        self.every = every
        self.consumer = consumer
        self.url = url
        self.username = username
        self.password_secret = password_secret
        self.token_secret = token_secret
        self.with_keys = with_keys
        self.push = push
        self.table = table
        self.by = by
        self.time_zone = time_zone
        self.offset = offset
        self.start = start
        self.until = until
        self.late = late

    def execute(self, context: Context) -> dict[str, Any]:
        """Request the push."""
        push = self._push() if self.push else None
        consumer = self.send(consumers.put_pushed_consumer(self.consumer, self._spec(), push))
        self.note(context, consumer.pipeline_id)
        where = f"are pushed to {self.partitions.uri} at {push.url}" if push else "are pulled"
        self.log.info("The deliveries of consumer %s %s", consumer.name, where)
        return {
            "consumer": consumer.name,
            "consumer_id": consumer.id,
            "pipeline_id": consumer.pipeline_id,
            "pushed_to": push and push.url,
            "delivered": consumer.delivered,
            "acked": consumer.acked,
        }

    def _push(self) -> PushSpec:
        url = self.url or conf.get("api", "base_url", fallback="")
        if not url:
            raise ValueError("no address under which the control plane reaches Airflow: set url, or [api] base_url")
        return PushSpec(
            url, self.partitions.uri, self.with_keys, self.username, self.password_secret, self.token_secret
        )

    def _spec(self) -> ConsumerSpec:
        offset = None if self.offset is None else to_length(self.offset)
        start, until = to_edge(self.start, "start"), to_edge(self.until, "until")
        return ConsumerSpec(
            self.pipeline,
            to_length(self.every),
            self.table,
            self.by,
            self.time_zone,
            offset,
            start,
            until,
            self.late,
        )
