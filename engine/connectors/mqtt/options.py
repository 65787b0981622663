"""Options of MQTT tables, and the metadata of their messages."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, SecretStr, model_validator
from pydantic import Field as Option

from engine import types
from engine.connectors.addresses import web_url
from engine.connectors.client_tls import TlsOptions
from engine.connectors.intake.options import RECEIVED, RECEIVED_FIELD, IntakeOptions
from engine.connectors.secret_values import IN_PART
from engine.schema import Field
from engine.values.option_values import ByteCount

_PLAIN, _ENCRYPTED = ("mqtt", "tcp"), ("mqtts", "ssl", "tls")
LEVELS = {"AtMostOnce": 0, "AtLeastOnce": 1, "ExactlyOnce": 2}
Level = Literal["AtMostOnce", "AtLeastOnce", "ExactlyOnce"]


def to_http(url: str) -> str:
    """Return the URL of HTTP with the host and port of a broker, to be checked."""
    scheme, mark, rest = url.partition("://")
    if not mark or scheme.lower() not in (*_PLAIN, *_ENCRYPTED):
        raise ValueError("must begin with mqtt://, mqtts://, tcp:// or ssl://, followed by a host")
    http = f"https://{rest}" if is_encrypted(url) else f"http://{rest}"
    parts = urlsplit(http)
    if parts.hostname and parts.port is None:
        http = parts._replace(netloc=f"{parts.netloc}:{8883 if is_encrypted(url) else 1883}").geturl()
    return http


def is_encrypted(url: str) -> bool:
    """Whether a URL names an encrypted connection."""
    return url.partition("://")[0].lower() in _ENCRYPTED


def _broker_url(value: str) -> str:
    if urlsplit(web_url(to_http(value))).path.strip("/"):
        raise ValueError("must be a host and a port, without a path")
    return value


def _filter(value: str) -> str:
    levels = value.split("/")
    is_wrong = any(("#" in level and level != "#") or ("+" in level and level != "+") for level in levels)
    if not value or "\0" in value or is_wrong or "#" in levels[:-1]:
        raise ValueError("must be a topic filter, in which '+' is a whole level, and '#' the last one")
    if levels[0] == "$share" and (len(levels) < 3 or not levels[1] or levels[1] in ("+", "#")):
        raise ValueError("must be '$share/group/filter' for a shared subscription")
    return value


def _topic(value: str) -> str:
    if not value or any(mark in value for mark in "#+\0"):
        raise ValueError("must be a topic without the wildcards '+' and '#'")
    return value


class MqttOptions(TlsOptions):
    """Broker and login."""

    url: Annotated[str, AfterValidator(_broker_url), IN_PART] = Option(
        description="Broker: `mqtt://host:port` or `tcp://host:port`, encrypted `mqtts://host:port` or "
        "`ssl://host:port`. The default ports are 1883 and 8883.",
    )
    username: str | None = Option(None, description="User who logs in.")
    password: SecretStr | None = Option(None, description="Password of that user.")
    version: Literal["5", "3.1.1"] = Option(
        "5", alias="mqtt.version", description="Version of the protocol. Message properties need version 5."
    )
    client_prefix: str = Option(
        "arroyo-mqtt",
        min_length=1,
        max_length=64,
        description="Beginning of the client id. The rest belongs to the intake log of the table, or is random.",
    )
    max_packet_size: ByteCount = Option(
        16 * 1024 * 1024,
        ge=1024,
        le=268_435_455,
        description="Size of the largest message that the broker may send, with version 5. The broker drops larger "
        "ones.",
    )
    qos: Level = Option(
        "AtLeastOnce",
        description="Quality of service: `AtMostOnce` (0), `AtLeastOnce` (1) or `ExactlyOnce` (2). A broker sends a "
        "message with at most the quality of service that it was published with.",
    )

    @model_validator(mode="after")
    def _are_for_tls(self) -> MqttOptions:
        if (self.tls_ca or self.tls_cert) and not is_encrypted(self.url):
            raise ValueError("'tls.ca' and 'tls.cert' need a URL that begins with mqtts:// or ssl://")
        if self.password is not None and self.username is None:
            raise ValueError("'password' needs 'username'")
        return self


class MqttSourceOptions(MqttOptions, IntakeOptions):
    """Subscription, and the session that the broker stores."""

    # the broker and the topics determine which rows there are
    changeable: ClassVar[frozenset[str]] = frozenset({*MqttOptions.model_fields, *IntakeOptions.model_fields}) - {
        "url"
    } | {"session_expiry"}

    topic: Annotated[str, AfterValidator(_filter)] = Option(
        description="Topic filter, with the wildcards `+` and `#`. `$share/group/filter` is a shared subscription: "
        "each subscriber in the group gets a part of the messages.",
    )
    session_expiry: timedelta = Option(
        timedelta(days=1),
        alias="source.session_expiry",
        ge=timedelta(0),
        le=timedelta(seconds=2**32 - 2),
        description="How long the broker stores the session, and messages for it, while the pipeline is not connected. "
        "The broker may have lower limits. With version 3.1.1, 0 asks for no session, and other values are ignored.",
    )


class MqttSinkOptions(MqttOptions):
    """Topic of the written messages."""

    topic: Annotated[str, AfterValidator(_topic)] = Option(description="Topic of the messages.")
    retain: bool = Option(
        False,
        alias="sink.retain",
        description="Whether the broker stores the last message of the topic for new subscribers.",
    )
    retry_timeout: timedelta = Option(
        timedelta(minutes=5),
        alias="sink.retry_timeout",
        gt=timedelta(0),
        description="How long an epoch is sent again while the broker does not answer. After that the run stops.",
    )


METADATA = {
    RECEIVED: RECEIVED_FIELD,
    "topic": Field("topic", types.TEXT, nullable=False),
    "qos": Field("qos", types.INT, nullable=False),
    "retain": Field("retain", types.BOOLEAN, nullable=False),
    "content_type": Field("content_type", types.TEXT),
    "response_topic": Field("response_topic", types.TEXT),
    "correlation_data": Field("correlation_data", types.TEXT),
    "user_properties": Field("user_properties", types.TEXT),
}
"""Metadata of a message. The last four are properties of version 5, and NULL without them: `correlation_data` as
base64, `user_properties` as a JSON object."""
