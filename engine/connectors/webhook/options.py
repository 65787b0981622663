"""What a table that posts its rows may be told."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field as Option
from pydantic import SecretStr, field_validator

from engine.connectors.addresses import WebUrl
from engine.connectors.base import Options


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
    for header in filter(None, (part.strip() for part in text.split(","))):
        name, colon, value = header.partition(":")
        if not colon or not name.strip() or any(mark in header for mark in "\r\n"):
            raise ValueError("headers are written as 'name: value, name: value'")
        headers[name.strip()] = value.strip()
    return headers
