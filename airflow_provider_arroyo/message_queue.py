"""Pipelines as message queues, for the `MessageQueueTrigger` of Airflow's common-messaging provider.

    MessageQueueTrigger(scheme="arroyo+https", pipeline="orders", every="1 hour", consumer="hours")
    MessageQueueTrigger(queue="arroyo+https://arroyo_default/orders?every=1 hour&consumer=hours")

Both create a `WatermarkEventTrigger` with these arguments. The host of the URI is the id of the connection, which has
the address of the control plane (including http or https) and its token.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from airflow.triggers.base import BaseEventTrigger

from airflow_provider_arroyo.triggers.partition import WatermarkEventTrigger

SCHEMES = ("arroyo+http", "arroyo+https")
_OPTIONS = ("every", "consumer", "table", "by", "time_zone", "offset", "start", "until", "late")


class ArroyoMessageQueue:
    """Finds the trigger of a scheme or a queue. It has the methods of `BaseMessageQueueProvider` without being a
    subclass, so that the common-messaging package is optional."""

    scheme: str | None = None

    def scheme_matches(self, scheme: str) -> bool:
        """Whether a scheme is ours."""
        return scheme in SCHEMES

    def queue_matches(self, queue: str) -> bool:
        """Whether the URI of a queue is ours."""
        return urlsplit(queue).scheme in SCHEMES

    def trigger_class(self) -> type[BaseEventTrigger]:
        """Return the trigger that waits for the messages."""
        return WatermarkEventTrigger

    def trigger_kwargs(self, queue: str, **kwargs: Any) -> dict[str, Any]:
        """Return the arguments from the URI of a queue, in addition to the given ones."""
        parts = urlsplit(queue)
        options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
        pipeline = unquote(parts.path.removeprefix("/"))
        if parts.fragment or "@" in parts.netloc or ":" in parts.netloc or not parts.netloc or not pipeline:
            raise ValueError(
                f"the queue {parts.scheme}:... has to name a connection and a pipeline: "
                f"'{parts.scheme}://connection/pipeline?every=1 hour&consumer=name'; "
                "address and token stay in the connection"
            )
        if unknown := sorted(options.keys() - set(_OPTIONS)):
            raise ValueError(f"a queue has no {', '.join(unknown)}; it has {', '.join(_OPTIONS)}")
        named = {"arroyo_conn_id": parts.netloc, "pipeline": pipeline, **options}
        if twice := sorted(named.keys() & kwargs.keys()):
            raise ValueError(f"{', '.join(twice)} is set both in the queue's URI and as an argument")
        return named
