"""Find the last delivery that Airflow has stored as an asset event, since an event in Airflow is the proof of delivery.

newest event of the consumer is of delivery 12     13 is next; 12 is acknowledged if that is missing
no event                                           the first delivery is next
it was closed until 05:00, now 03:00 is closed     reported before a restore, and void since: marked so
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from airflow.sdk import Asset
from airflow.sdk.execution_time.context import InletEventsAccessors

from airflow_provider_arroyo.consumers import PartitionConsumer, PartitionDelivery, to_payload
from airflow_provider_arroyo.errors import NoPartitionsError

if TYPE_CHECKING:
    from airflow.sdk import Context

_LOOKED_AT = 100
"""Number of an asset's newest events to read, since other producers may have emitted some."""


@dataclass(frozen=True, slots=True)
class Emission:
    """Delivery in a consumer's newest event, and the end of its last reported bucket."""

    sequence: int
    closed_until: datetime


def refuse_without_partitions(events: object) -> None:
    """Raise if this Airflow's events of assets have no partitions: they do from Airflow 3.3 on."""
    if not hasattr(events, "add_partitions"):
        raise NoPartitionsError("events of assets have no partitions in this version of Airflow")


def newest_emission(asset: Asset, consumer: PartitionConsumer) -> Emission | None:
    """Return the newest event that Airflow has stored for this consumer; events of an earlier consumer of the same name
    do not count."""
    newest = find_emission((event.extra for event in _newest_events(asset, 1)), consumer)
    return newest or find_emission((event.extra for event in _newest_events(asset, _LOOKED_AT)), consumer)


def find_emission(extras: Iterable[Mapping[str, Any]], consumer: PartitionConsumer) -> Emission | None:
    """Return the first of these events that belongs to this consumer."""
    for extra in extras:
        if extra.get("consumer_id") == consumer.id:
            return Emission(extra["sequence"], datetime.fromisoformat(extra["closed_until"]))
    return None


def emit(
    context: Context, asset: Asset, consumer: PartitionConsumer, delivery: PartitionDelivery, before: Emission | None
) -> dict[str, Any]:
    """Store an event of the partition together with the end of the task. Return its extra."""
    was_told = before is not None and delivery.end <= before.closed_until
    until = before.closed_until if before is not None and was_told else delivery.end
    extra = {
        **to_payload(consumer, delivery),
        "voided": was_told and delivery.kind == "closed",
        "closed_until": until.isoformat(),
    }
    events = context["outlet_events"][asset]
    events.extra = extra
    events.add_partitions(delivery.key)
    return extra


def _newest_events(asset: Asset, count: int) -> Iterable[Any]:
    # an inlet of the task would do as well, but is a circle in Airflow's graph of assets
    return InletEventsAccessors([asset])[asset].ascending(ascending=False).limit(count)
