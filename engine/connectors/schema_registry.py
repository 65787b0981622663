"""Client of a Confluent schema registry, and the options of tables that use one."""

from __future__ import annotations

import logging
import os
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pydantic import Field as Option
from pydantic import SecretStr

from engine.connectors.addresses import WebUrl, check_url, shown_url
from engine.connectors.base import Options, Table
from engine.errors import MissingPackageError, SchemaRefusedError, SchemaRegistryError, message_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import httpx2

    from engine.formats.base import FormatOptions
    from engine.formats.schema_registry import SchemaKind


# it logs each request with its whole URL, in which a key may stand
logging.getLogger("httpx2").setLevel(logging.WARNING)


class RegistryOptions(Options):
    """Schema registry of the records, and login."""

    registry_endpoint: WebUrl | None = Option(
        None, alias="schema_registry.endpoint", description="URL of the schema registry."
    )
    registry_key: str | None = Option(
        None, alias="schema_registry.api_key", description="User, or API key, for the schema registry."
    )
    registry_secret: SecretStr | None = Option(
        None, alias="schema_registry.api_secret", description="Password, or API secret, for the schema registry."
    )
    value_subject: str | None = Option(
        None,
        alias="value.subject",
        min_length=1,
        description="Subject under which the registry knows the table's records. The default is the topic "
        "followed by `-value`.",
    )


@runtime_checkable
class RegistryFormat(Protocol):
    """Options of a format whose records may begin with the registry's five-byte prefix."""

    confluent_schema_registry: bool


@dataclass(frozen=True, slots=True)
class TableSubject:
    """Subject of a table's records in a registry."""

    registry: HttpRegistry
    name: str


def registry_complaint(table: Table) -> str | None:
    """Return why a table needs a registry to be read or written, or None."""
    assert isinstance(table.options, RegistryOptions)
    form = table.format
    if form is None or not _uses_registry(form) or table.options.registry_endpoint is not None:
        return None
    if form.format == "avro" or table.direction == "sink":
        return f"'{form.format}.confluent_schema_registry' needs a schema registry: set 'schema_registry.endpoint'"
    return None


def refused_registry(table: Table) -> str | None:
    """Return why a table of a connector without a registry cannot have its format, or None."""
    form = table.format
    if form is None or not _uses_registry(form):
        return None
    return f"'{form.format}.confluent_schema_registry' is for connectors with a schema registry, such as kafka"


def _uses_registry(form: FormatOptions) -> bool:
    return isinstance(form, RegistryFormat) and form.confluent_schema_registry


def subject_of(table: Table, topic: str) -> TableSubject | None:
    """Return the registry subject of a table's records; None if it uses no registry."""
    options = table.options
    assert isinstance(options, RegistryOptions)
    if options.registry_endpoint is None or table.format is None or not _uses_registry(table.format):
        return None
    secret = "" if options.registry_secret is None else options.registry_secret.get_secret_value()
    return TableSubject(
        _registry(options.registry_endpoint.rstrip("/"), options.registry_key or "", secret),
        options.value_subject or f"{topic}-value",
    )


def ask_for_columns(table: Table, topic: str) -> str | None:
    """Ask the registry whether the records of a sink may have its new columns, and return the answer; None if the sink
    uses no registry. Raise SchemaRefusedError if they may not, SchemaRegistryError if the registry does not answer."""
    if (subject := subject_of(table, topic)) is None:
        return None
    from engine.formats import make_encoder  # noqa: PLC0415 - `arroyo check` must not pay for Arrow

    assert table.format is not None
    make_encoder(table.format, table.schema, _Asked(_OnlyAsked(subject.registry), subject.name))
    return f"the schema registry takes their schema as the next version of {subject.name}"


@dataclass(frozen=True, slots=True)
class _Asked:
    """A subject that is only read."""

    registry: _OnlyAsked
    name: str


@dataclass(frozen=True, slots=True)
class _OnlyAsked:
    """A registry without registration: compatibility is only checked."""

    asked: HttpRegistry

    def schema_of(self, number: int) -> str:
        """Return the text of a schema."""
        return self.asked.schema_of(number)

    def register(self, subject: str, kind: SchemaKind, schema: str) -> int:
        """Return 0 as the number; raise if the registry would refuse the schema."""
        if not self.asked.may_follow(subject, kind, schema):
            raise SchemaRefusedError(
                f"the schema registry refuses the columns as the next version of {subject}", hint=_HINTS["POST"]
            )
        return 0


class HttpRegistry:
    """A registry, accessed with Confluent's client. The client caches responses, since the schema of an id never
    changes, and retries if there is no response or a temporary error."""

    def __init__(self, endpoint: str, key: str, secret: str, environ: Mapping[str, str] = os.environ) -> None:
        try:
            import httpx2  # noqa: PLC0415 - `arroyo check` must not pay for it
            from confluent_kafka.schema_registry import SchemaRegistryClient  # noqa: PLC0415
        except ImportError as missing:
            raise MissingPackageError(
                f"a schema registry needs the Python package {missing.name}",
                hint="pip install 'airflow-provider-arroyo[kafka]'",
            ) from missing

        self._shown = shown_url(endpoint)
        login = {"basic.auth.user.info": f"{key}:{secret}"} if key else {}
        self._client = SchemaRegistryClient({"url": endpoint, **_PATIENCE, **login})
        # it has no option for who looks at its requests, and would go through a proxy that the environment names
        talk = self._client._rest_client  # noqa: SLF001
        hooks: Mapping[str, list[Callable[..., object]]] = {"request": [partial(_go_where_it_was_checked, environ)]}
        talk.session = httpx2.Client(auth=talk.auth, timeout=talk.timeout, trust_env=False, event_hooks=hooks)

    def schema_of(self, number: int) -> str:
        """Return the text of a schema."""
        with self._explaining("GET"):
            text = self._client.get_schema(number).schema_str
            if text is None:
                raise TypeError("a schema without a text")
            return text

    def newest_of(self, subject: str) -> str:
        """Return the text of the newest schema of a subject."""
        with self._explaining("GET"):
            text = self._client.get_latest_version(subject).schema.schema_str
            if text is None:
                raise TypeError("a schema without a text")
            return text

    def register(self, subject: str, kind: SchemaKind, schema: str) -> int:
        """Return the number of a schema of a subject, which becomes its newest version unless it is a version
        already."""
        from confluent_kafka.schema_registry import Schema  # noqa: PLC0415

        with self._explaining("POST"):
            return int(self._client.register_schema(subject, Schema(schema, kind)))

    def may_follow(self, subject: str, kind: SchemaKind, schema: str) -> bool:
        """Whether a schema may become the newest version of a subject, which is not changed; a new subject may begin
        with any."""
        from confluent_kafka.schema_registry import Schema  # noqa: PLC0415
        from confluent_kafka.schema_registry.error import SchemaRegistryError as Refusal  # noqa: PLC0415

        with self._explaining("POST"):
            try:
                return bool(self._client.test_compatibility_all_versions(subject, Schema(schema, kind)))
            except Refusal as wrong:
                if wrong.error_code == _UNKNOWN:
                    return True
                raise

    @contextmanager
    def _explaining(self, method: str) -> Iterator[None]:
        import httpx2  # noqa: PLC0415
        from confluent_kafka.schema_registry.error import SchemaRegistryError as Refusal  # noqa: PLC0415

        try:
            yield
        except (httpx2.TransportError, ValueError, TypeError, LookupError, AttributeError) as wrong:  # no answer of one
            raise SchemaRegistryError(
                f"the schema registry {self._shown} does not answer: {message_of(wrong)}",
                hint="check that it is up and that the URL is right",
            ) from wrong
        except Refusal as wrong:
            status = wrong.http_status_code
            if status in _AWAY or status >= 500:
                raise SchemaRegistryError(
                    f"the schema registry {self._shown} does not answer: {status} {wrong.error_message}",
                    hint="check that it is up",
                ) from wrong
            hint = "check api_key and api_secret" if status in (401, 403) else _HINTS[method]
            raise SchemaRefusedError(
                f"the schema registry {self._shown} refuses a request: {status} {wrong.error_message}", hint=hint
            ) from wrong


_UNKNOWN = 40401
"""Error codes of a registry for an unknown subject."""
_AWAY = frozenset({408, 425, 429})
_PATIENCE = {"timeout": 10.0, "max.retries": 3, "retries.wait.ms": 200}
_HINTS = {
    "GET": "check whether the record was written with another registry",
    "POST": "a schema must be compatible with earlier ones; change the columns, or use another 'value.subject'",
}


def _go_where_it_was_checked(environ: Mapping[str, str], request: httpx2.Request) -> None:
    """Send a request to the current address of its host, if scripts may reach that, and to no other."""
    address = check_url(str(request.url), environ)
    request.url = request.url.join(address.url)
    request.extensions = {**request.extensions, "sni_hostname": address.server_name}


@cache
def _registry(endpoint: str, key: str, secret: str) -> HttpRegistry:
    """Return the client of a registry, one per process."""
    return HttpRegistry(endpoint, key, secret)
