"""A webhook: every row is one POST."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from pydantic import Field as Option
from pydantic import SecretStr, field_validator

from engine.connectors.addresses import WebUrl
from engine.connectors.base import Connector, Options, SinkPlace, Table

if TYPE_CHECKING:
    from engine.connectors.webhook.sink import WebhookSink


class WebhookOptions(Options):
    """Where rows are posted to, and how patiently."""

    endpoint: WebUrl = Option(description="The URL that rows are posted to; a redirect is not followed.")
    headers: SecretStr = Option(
        SecretStr(""), description="Further headers, `name: value, name: value`; they may hold secrets and never print."
    )
    max_in_flight: int = Option(
        50,
        alias="sink.max_in_flight",
        ge=1,
        le=1000,
        description="How many rows are on their way at once; 1 keeps order.",
    )
    timeout: timedelta = Option(
        timedelta(seconds=30),
        alias="sink.timeout",
        description="How long one answer may take before it is asked again.",
    )
    retry_timeout: timedelta = Option(
        timedelta(minutes=5),
        alias="sink.retry_timeout",
        description="How long one row is tried again when the answer is 408, 429, 5xx or none; then the run stops.",
    )

    @field_validator("headers")
    @classmethod
    def _are_headers(cls, value: SecretStr) -> SecretStr:
        read_headers(value.get_secret_value())
        return value


def read_headers(text: str) -> dict[str, str]:
    """The headers of `name: value, name: value`."""
    headers = {}
    for one in filter(None, (part.strip() for part in text.split(","))):
        name, colon, value = one.partition(":")
        if not colon or not name.strip() or any(mark in one for mark in "\r\n"):
            raise ValueError("headers are written as 'name: value, name: value'")
        headers[name.strip()] = value.strip()
    return headers


def _open_sink(table: Table, place: SinkPlace) -> WebhookSink:
    from engine.connectors.webhook.sink import WebhookSink  # noqa: PLC0415 - checks must not pay for Arrow

    assert isinstance(table.options, WebhookOptions)
    return WebhookSink(table, table.options, place.directory)


WEBHOOK = Connector(
    name="webhook",
    summary="Posts each row to a URL, with a key by which the receiver can tell a row that is sent again.",
    options={"sink": WebhookOptions},
    formats=frozenset({"json", "debezium_json", "raw_string"}),
    default_format="json",
    open_sink=_open_sink,
    guarantee="at-least-once",
    limits=(
        "A row that is posted again, by a retry or after a crash, has the same `Idempotency-Key`, by which the "
        "receiver can leave it out; the key is a hash of history, table, epoch and the row's place in the epoch.",
        "Rows arrive in order only with `sink.max_in_flight = 1`.",
        "A row that the receiver refuses (4xx, but for 408, 425 and 429) stops the job, or is left out with "
        "`bad_data = 'drop'` and kept with `bad_data = 'dead_letter'`.",
        "Hosts that are not public must be named where the job is started: `ARROYO_NET_ALLOW=host,10.0.0.0/8`.",
    ),
    may_refuse_rows=True,
)
