"""Options of a table that reads a WebSocket."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, SecretStr, field_validator, model_validator
from pydantic import Field as Option

from engine import types
from engine.connectors.addresses import web_url
from engine.connectors.intake.options import RECEIVED, RECEIVED_FIELD, IntakeOptions
from engine.connectors.secret_values import IN_PART
from engine.connectors.webhook.options import read_headers
from engine.schema import Field
from engine.values.option_values import ByteCount

_HTTP = {"ws://": "http://", "wss://": "https://"}


def to_http(url: str) -> str:
    """Return the URL of HTTP with which the connection of a WebSocket begins."""
    for scheme, http in _HTTP.items():
        if url.lower().startswith(scheme):
            return http + url[len(scheme) :]
    raise ValueError("must begin with ws:// or wss://, followed by a host")


def _websocket_url(value: str) -> str:
    web_url(to_http(value))
    return value


def _numbered(number: int) -> Any:
    return Option(
        None,
        alias=f"subscription_messages.{number}",
        description=f"Message number {number} to send after connecting; numbers begin at 0.",
    )


_Text = Annotated[str | None, IN_PART]


class WebsocketOptions(IntakeOptions):
    """URL, and messages to send after connecting."""

    # the URL and the subscriptions say which rows there are
    changeable: ClassVar[frozenset[str]] = frozenset(
        {*IntakeOptions.model_fields, "headers", "ping_interval", "max_message"}
    )

    endpoint: Annotated[str, AfterValidator(_websocket_url), IN_PART] = Option(
        description="URL of the server, `ws://...` or `wss://...`. Redirects to another server are not followed. A key "
        "in its path or parameters is written as `{{ secret:NAME }}`.",
    )
    headers: SecretStr = Option(
        SecretStr(""),
        description="Further HTTP headers, as `name: value, name: value`. They may hold secrets and are never printed.",
    )
    subscription_message: _Text = Option(
        None, description="Message to send after connecting. It may name secrets as `{{ secret:NAME }}`."
    )
    message_0: _Text = _numbered(0)
    message_1: _Text = _numbered(1)
    message_2: _Text = _numbered(2)
    message_3: _Text = _numbered(3)
    message_4: _Text = _numbered(4)
    message_5: _Text = _numbered(5)
    message_6: _Text = _numbered(6)
    message_7: _Text = _numbered(7)
    message_8: _Text = _numbered(8)
    message_9: _Text = _numbered(9)
    ping_interval: timedelta = Option(
        timedelta(seconds=20),
        alias="source.ping_interval",
        gt=timedelta(0),
        description="How often the server is pinged. If it does not answer within the same time, the connection is "
        "opened again.",
    )
    max_message: ByteCount = Option(
        16 * 1024 * 1024, alias="source.max_message_bytes", ge=1, description="Size of the largest message."
    )

    @field_validator("headers")
    @classmethod
    def _are_headers(cls, value: SecretStr) -> SecretStr:
        read_headers(value.get_secret_value())
        return value

    @model_validator(mode="after")
    def _one_way_to_subscribe(self) -> WebsocketOptions:
        numbered = [getattr(self, f"message_{number}") for number in range(10)]
        if self.subscription_message is not None and any(text is not None for text in numbered):
            raise ValueError("'subscription_message' and 'subscription_messages.0' exclude each other")
        return self

    @property
    def subscriptions(self) -> tuple[str, ...]:
        """The messages to send, in their order."""
        numbered = (getattr(self, f"message_{number}") for number in range(10))
        return tuple(text for text in (self.subscription_message, *numbered) if text is not None)


METADATA = {RECEIVED: RECEIVED_FIELD, "kind": Field("kind", types.TEXT, nullable=False)}
"""Metadata of a message. `kind` is `text` or `binary`."""
