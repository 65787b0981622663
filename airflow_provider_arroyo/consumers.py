"""Requests about consumers of time buckets, and their responses.

Arguments of time buckets in DAGs, and the content of their events: the payload of a watcher's event, and the extra
of an asset's event.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from airflow_provider_arroyo.conditions import GateTime
from airflow_provider_arroyo.durations import to_duration, to_instant
from airflow_provider_arroyo.requests import ApiCall, Json, LateMode, segment
from airflow_provider_arroyo.responses import Instant, read
from airflow_provider_arroyo.watermarks import Certificate


def to_length(value: timedelta | float | str) -> str:
    """Return a duration in the form of the control plane; a text may be a template, and is unchanged."""
    if isinstance(value, str):
        return value
    value = to_duration(value, "a length of time")
    if value % timedelta(seconds=1):
        raise ValueError(f"a length of whole seconds is needed, such as '1 hour', and not {value}")
    return f"{value // timedelta(seconds=1)} seconds"


def to_edge(value: datetime | str | None, name: str) -> str | None:
    """Return an instant in the form of the control plane; a text may be a template, and is unchanged."""
    return to_instant(value, name).isoformat() if isinstance(value, datetime) else value


def to_payload(consumer: PartitionConsumer, delivery: PartitionDelivery) -> dict[str, Any]:
    """Return a delivery as plain JSON. `delivery` is unique: use it as an idempotency key."""
    certificate = delivery.certificate
    return {
        "delivery": delivery.id,
        "consumer": consumer.name,
        "consumer_id": consumer.id,
        "sequence": delivery.sequence,
        "kind": delivery.kind,
        "key": delivery.key,
        "pipeline": consumer.pipeline,
        "start": delivery.start.isoformat(),
        "end": delivery.end.isoformat(),
        "certificate": None if certificate is None else certificate.summary(),
        "openlineage": None if certificate is None else certificate.openlineage,
    }


@dataclass(frozen=True, slots=True)
class ConsumerSpec:
    """Settings of a consumer of time buckets."""

    pipeline: str
    every: str
    table: str | None = None
    by: GateTime = "input"
    time_zone: str = "UTC"
    offset: str | None = None
    start: str | None = None
    until: str | None = None
    late: LateMode | None = None
    """None leaves an existing consumer unchanged."""

    def to_json(self) -> dict[str, Json]:
        """Return the body that creates the consumer; empty if all settings are the defaults."""
        parts: dict[str, Json] = {
            "pipeline": self.pipeline,
            "every": self.every,
            "table": self.table,
            "by": self.by,
            "time_zone": self.time_zone,
            "offset": self.offset,
            "start": self.start,
            "until": self.until,
            "late": self.late,
        }
        return {name: part for name, part in parts.items() if part is not None}


@dataclass(frozen=True, slots=True)
class PushSpec:
    """Asset that gets an event for each delivery, in which Airflow, and the names of the secrets for the login."""

    url: str
    asset: str
    with_keys: bool = True
    username: str | None = None
    password_secret: str | None = None
    token_secret: str | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the push's part of a consumer."""
        parts: dict[str, Json] = {
            "url": self.url,
            "asset": self.asset,
            "with_keys": self.with_keys,
            "username": self.username,
            "password": _secret(self.password_secret),
            "token": _secret(self.token_secret),
        }
        return {name: part for name, part in parts.items() if part is not None}


@dataclass(frozen=True, slots=True)
class PartitionConsumer:
    """A consumer of a pipeline's complete time buckets, and its progress."""

    id: str
    name: str
    pipeline_id: str
    pipeline: str
    delivered: int
    acked: int


@dataclass(frozen=True, slots=True)
class PartitionDelivery:
    """Notice to a consumer about a time bucket: it is complete (`closed`), or an earlier notice is void (`voided`). A
    newer control plane may have other kinds."""

    id: str
    sequence: int
    kind: str
    key: str
    start: Instant
    end: Instant
    certificate: Certificate | None = None


@dataclass(frozen=True, slots=True)
class Deliveries:
    """Unacknowledged deliveries of a consumer, oldest first."""

    consumer: PartitionConsumer
    data: tuple[PartitionDelivery, ...]


def put_consumer(name: str, spec: ConsumerSpec) -> ApiCall[PartitionConsumer]:
    """Create a consumer of time buckets; an existing one continues from its position."""
    return ApiCall("PUT", _consumer(name), partial(read, PartitionConsumer), body=spec.to_json())


def put_pushed_consumer(name: str, spec: ConsumerSpec, push: PushSpec | None) -> ApiCall[PartitionConsumer]:
    """Create or change a consumer whose deliveries are pushed to `push`, or pulled if it is None."""
    body = {**spec.to_json(), "push": None if push is None else push.to_json()}
    return ApiCall("PUT", _consumer(name), partial(read, PartitionConsumer), body=body)


def next_deliveries(name: str, limit: int, hold: timedelta = timedelta(0)) -> ApiCall[Deliveries]:
    """Ask for new or unacknowledged deliveries; the answer waits until there are any, or for `hold`."""
    query: dict[str, str | int] = {"limit": limit, "timeout_seconds": int(hold.total_seconds())}
    return ApiCall("GET", f"{_consumer(name)}/next", partial(read, Deliveries), query=query, hold=hold)


def acknowledge(consumer: PartitionConsumer, up_to: int) -> ApiCall[PartitionConsumer]:
    """Acknowledge all deliveries of this consumer, and of no other of its name, up to a number."""
    body: dict[str, Json] = {"up_to": up_to, "id": consumer.id}
    return ApiCall("POST", f"{_consumer(consumer.name)}/ack", partial(read, PartitionConsumer), body=body)


def _secret(name: str | None) -> str | None:
    return None if name is None else f"{{{{ secret:{name} }}}}"


def _consumer(name: str) -> str:
    return f"/partitions/{segment(name)}"
