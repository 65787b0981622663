"""Options of a table that reads server-sent events."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, ClassVar

from pydantic import Field as Option
from pydantic import SecretStr, field_validator

from engine import types
from engine.connectors.addresses import WebUrl
from engine.connectors.intake.options import RECEIVED, RECEIVED_FIELD, IntakeOptions
from engine.connectors.secret_values import IN_PART
from engine.connectors.webhook.options import read_headers
from engine.schema import Field


class SseOptions(IntakeOptions):
    """URL and kinds of events."""

    # the URL and the kinds of events say which rows there are
    changeable: ClassVar[frozenset[str]] = frozenset({*IntakeOptions.model_fields, "headers", "silence"})

    endpoint: Annotated[WebUrl, IN_PART] = Option(
        description="URL of the stream. Redirects are not followed. A key in its path or parameters is written as "
        "`{{ secret:NAME }}`.",
    )
    headers: SecretStr = Option(
        SecretStr(""),
        description="Further HTTP headers, as `name: value, name: value`. They may hold secrets and are never printed.",
    )
    events: str | None = Option(
        None,
        description="Kinds of events to read, comma-separated; by default all. An event without a kind is a `message`.",
    )
    silence: timedelta = Option(
        timedelta(minutes=5),
        alias="source.silence",
        gt=timedelta(0),
        description="How long the server may send nothing, not even a comment, before the connection is opened again.",
    )

    @field_validator("headers")
    @classmethod
    def _are_headers(cls, value: SecretStr) -> SecretStr:
        read_headers(value.get_secret_value())
        return value

    @property
    def kinds(self) -> frozenset[str] | None:
        """The kinds of events to read; None for all."""
        return None if self.events is None else frozenset(name.strip() for name in self.events.split(","))


METADATA = {
    RECEIVED: RECEIVED_FIELD,
    "id": Field("id", types.TEXT),
    "event": Field("event", types.TEXT, nullable=False),
}
"""Metadata of an event: its id, if the server gives one, and its kind."""
