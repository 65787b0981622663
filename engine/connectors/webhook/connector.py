"""Declaration of the webhook connector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.connectors.base import SinkContext, Table
from engine.connectors.kinds import Connector, SinkKind
from engine.connectors.webhook.options import WebhookOptions
from engine.formats.base import RecordKind

if TYPE_CHECKING:
    from engine.connectors.webhook.sink import WebhookSink


def _open_sink(table: Table, context: SinkContext) -> WebhookSink:
    from engine.connectors.webhook.sink import WebhookSink  # noqa: PLC0415 - checks must not pay for Arrow

    assert isinstance(table.options, WebhookOptions)
    return WebhookSink(table, table.options, context.directory)


WEBHOOK = Connector(
    name="webhook",
    summary="Posts each row to a URL, with a key by which the receiver recognizes a row that is sent again.",
    sink=SinkKind(
        options=WebhookOptions,
        open=_open_sink,
        records_stand_alone=True,
        guarantee="at-least-once",
        limits=(
            "A row that is posted again, by a retry or after a crash, has the same `Idempotency-Key`, by "
            "which the receiver can ignore it. The key is a hash of the pipeline's history, the table, "
            "the epoch and the row's position in the epoch.",
            "Rows arrive in order only with `sink.max_in_flight = 1`.",
            "A row that the receiver refuses (4xx other than 408, 425 and 429) stops the job, or is left "
            "out with `bad_data = 'drop'` and kept with `bad_data = 'dead_letter'`.",
            "Hosts with addresses that are not public must be allowed where the job is started: "
            "`ARROYO_NET_ALLOW=host,10.0.0.0/8`.",
        ),
        may_refuse_rows=True,
    ),
    carries=frozenset({RecordKind.JSON, RecordKind.TEXT}),
    default_format="json",
)
