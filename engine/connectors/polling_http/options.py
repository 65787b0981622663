"""Options of a table that requests a URL at an interval."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, ClassVar, Literal

from pydantic import Field as Option
from pydantic import SecretStr, field_validator, model_validator

from engine import types
from engine.connectors.addresses import WebUrl
from engine.connectors.intake.options import RECEIVED, RECEIVED_FIELD, IntakeOptions
from engine.connectors.secret_values import IN_PART
from engine.connectors.webhook.options import read_headers
from engine.schema import Field


class PollingHttpOptions(IntakeOptions):
    """URL, request and interval."""

    # the URL and the request say which rows there are
    changeable: ClassVar[frozenset[str]] = frozenset(
        {*IntakeOptions.model_fields, "headers", "poll_interval_ms", "timeout"}
    )

    endpoint: Annotated[WebUrl, IN_PART] = Option(
        description="URL to request. Redirects are not followed. A key in its path or parameters is written as "
        "`{{ secret:NAME }}`.",
    )
    headers: SecretStr = Option(
        SecretStr(""),
        description="Further HTTP headers, as `name: value, name: value`. They may hold secrets and are never printed.",
    )
    method: Literal["GET", "POST", "PUT", "PATCH"] = Option("GET", description="Method of the requests.")
    body: str | None = Option(None, description="Body of the requests.")
    poll_interval_ms: int = Option(
        1000, ge=1, description="Milliseconds from the begin of one request to the begin of the next."
    )
    emit_behavior: Literal["all", "changed"] = Option(
        "all",
        description="Whether every answer becomes a message, or only one that differs from the previous one. With "
        "`changed`, requests carry the `ETag` of the previous answer.",
    )
    timeout: timedelta = Option(
        timedelta(seconds=30), alias="source.timeout", description="How long to wait for an answer."
    )

    @field_validator("headers")
    @classmethod
    def _are_headers(cls, value: SecretStr) -> SecretStr:
        read_headers(value.get_secret_value())
        return value

    @model_validator(mode="after")
    def _body_fits(self) -> PollingHttpOptions:
        if self.body is not None and self.method == "GET":
            raise ValueError("'body' needs a 'method' other than GET")
        return self


METADATA = {
    RECEIVED: RECEIVED_FIELD,
    "status": Field("status", types.INT),
    "etag": Field("etag", types.TEXT),
}
"""Metadata of an answer."""
