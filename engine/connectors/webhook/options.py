"""Options of a table whose rows are posted to a URL."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from pydantic import Field as Option
from pydantic import SecretStr, field_validator

from engine.connectors.addresses import WebUrl
from engine.connectors.base import Options
from engine.connectors.secret_values import IN_PART


class WebhookOptions(Options):
    """URL to post rows to, headers, timeouts and retries."""

    endpoint: Annotated[WebUrl, IN_PART] = Option(
        description="URL to which rows are posted. Redirects are not followed. A key in its path or parameters is "
        "written as `{{ secret:NAME }}`.",
    )
    headers: SecretStr = Option(
        SecretStr(""),
        description="Further HTTP headers, as `name: value, name: value`. They may hold secrets and are never printed.",
    )
    max_in_flight: int = Option(
        50,
        alias="sink.max_in_flight",
        ge=1,
        le=1000,
        description="Maximum number of requests at the same time; with 1, rows arrive in order.",
    )
    timeout: timedelta = Option(
        timedelta(seconds=30),
        alias="sink.timeout",
        description="How long to wait for an answer before the request is repeated.",
    )
    retry_timeout: timedelta = Option(
        timedelta(minutes=5),
        alias="sink.retry_timeout",
        description="How long a row is retried when there is no answer, or the answer is 408, 425, 429 or "
        "5xx. After that the run stops.",
    )

    @field_validator("headers")
    @classmethod
    def _are_headers(cls, value: SecretStr) -> SecretStr:
        read_headers(value.get_secret_value())
        return value


def read_headers(text: str) -> dict[str, str]:
    """Parse the headers in `name: value, name: value`."""
    headers = {}
    for header in filter(None, (part.strip() for part in text.split(","))):
        name, colon, value = header.partition(":")
        if not colon or not name.strip() or any(mark in header for mark in "\r\n"):
            raise ValueError("must be written as 'name: value, name: value'")
        headers[name.strip()] = value.strip()
    return headers
