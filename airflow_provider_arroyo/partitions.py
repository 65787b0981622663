"""Arguments of time buckets in DAGs, and the content of their events: the payload of a watcher's event, and the extra
of an asset's event."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from airflow_provider_arroyo.consumers import PartitionConsumer, PartitionDelivery
from airflow_provider_arroyo.durations import to_duration
from airflow_provider_arroyo.gate_instants import to_instant


def to_length(value: timedelta | float | str) -> str:
    """Return a length of time as the control plane reads it; a text may be a template, and is left as it is."""
    if isinstance(value, str):
        return value
    value = to_duration(value, "a length of time")
    if value % timedelta(seconds=1):
        raise ValueError(f"a length of whole seconds is needed, such as '1 hour', and not {value}")
    return f"{value // timedelta(seconds=1)} seconds"


def to_edge(value: datetime | str | None, name: str) -> str | None:
    """An instant as the control plane reads it; a text may be a template, and is left as it is."""
    return to_instant(value, name).isoformat() if isinstance(value, datetime) else value


def to_payload(consumer: PartitionConsumer, delivery: PartitionDelivery) -> dict[str, Any]:
    """A delivery as plain JSON. `delivery` is never the same for two of them: the key to do things once by."""
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
