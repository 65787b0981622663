"""A schema registry, as Confluent's speaks over HTTP: which one a table uses, and asking it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import quote

from pydantic import Field as Option
from pydantic import SecretStr

from engine.connectors.addresses import WebUrl, check_url
from engine.connectors.base import Options, Table
from engine.errors import SchemaRegistryError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engine.formats.registry import SchemaKind

_SECONDS = 10.0


class RegistryOptions(Options):
    """Which schema registry describes the records, and who asks it."""

    registry_endpoint: WebUrl | None = Option(
        None, alias="schema_registry.endpoint", description="The URL of the schema registry."
    )
    registry_key: str | None = Option(None, alias="schema_registry.api_key", description="Who asks it.")
    registry_secret: SecretStr | None = Option(
        None, alias="schema_registry.api_secret", description="With which password."
    )
    value_subject: str | None = Option(
        None,
        alias="value.subject",
        min_length=1,
        description="The name under which it knows a table's records; without it the topic and `-value`.",
    )


@dataclass(frozen=True, slots=True)
class TableSubject:
    """Where a registry knows a table's records."""

    registry: HttpRegistry
    name: str


def registry_complaint(table: Table) -> str | None:
    """Why a table cannot be read or written without a registry, or None."""
    assert isinstance(table.options, RegistryOptions)
    form = table.format
    if not getattr(form, "confluent_schema_registry", False) or table.options.registry_endpoint is not None:
        return None
    if form is not None and (form.format == "avro" or table.direction == "sink"):
        return f"'{form.format}.confluent_schema_registry' needs a registry: name it with 'schema_registry.endpoint'"
    return None


def subject_of(table: Table, topic: str) -> TableSubject | None:
    """Where a registry knows the records of a table; None when it uses none."""
    options = table.options
    assert isinstance(options, RegistryOptions)
    if options.registry_endpoint is None or not getattr(table.format, "confluent_schema_registry", False):
        return None
    secret = "" if options.registry_secret is None else options.registry_secret.get_secret_value()
    return TableSubject(
        _registry(options.registry_endpoint.rstrip("/"), options.registry_key or "", secret),
        options.value_subject or f"{topic}-value",
    )


@dataclass(slots=True)
class HttpRegistry:
    """Asks the registry, and remembers what it said: a number stands for one schema for ever."""

    endpoint: str
    key: str
    secret: str = field(repr=False)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    _schemas: dict[int, str] = field(default_factory=dict)
    _numbers: dict[tuple[str, str], int] = field(default_factory=dict)

    def schema_of(self, number: int) -> str:
        """The text of a schema."""
        if number not in self._schemas:
            self._schemas[number] = str(self._ask("GET", f"/schemas/ids/{number}", None)["schema"])
        return self._schemas[number]

    def register(self, subject: str, kind: SchemaKind, schema: str) -> int:
        """The number of a schema of a subject, which becomes its newest version unless it is one already."""
        if (subject, schema) not in self._numbers:
            body = {"schema": schema, **({} if kind == "AVRO" else {"schemaType": kind})}
            answer = self._ask("POST", f"/subjects/{quote(subject, safe='')}/versions", body)
            self._numbers[subject, schema] = int(str(answer["id"]))
        return self._numbers[subject, schema]

    def _ask(self, method: str, path: str, body: object) -> dict[str, object]:
        import httpx  # noqa: PLC0415 - `arroyo check` must not pay for it

        place = check_url(f"{self.endpoint}{path}", self.environ)
        try:
            with httpx.Client(timeout=_SECONDS, trust_env=False) as client:
                answer = client.request(
                    method,
                    place.url,
                    content=None if body is None else json.dumps(body),
                    headers={"host": place.host, "content-type": "application/vnd.schemaregistry.v1+json"},
                    auth=(self.key, self.secret) if self.key else None,
                    extensions={"sni_hostname": place.server_name},
                )
            content = answer.json()
        except (httpx.TransportError, ValueError) as wrong:
            raise SchemaRegistryError(
                f"the schema registry {self.endpoint} does not answer: {wrong}", hint="is it up, and the URL right?"
            ) from wrong
        if answer.is_success and isinstance(content, dict):
            return content
        said = content.get("message", "") if isinstance(content, dict) else ""
        hint = "are api_key and api_secret right?" if answer.status_code in (401, 403) else _HINTS.get(method)
        raise SchemaRegistryError(
            f"the schema registry {self.endpoint} refuses {path}: {answer.status_code} {said}".rstrip(), hint=hint
        )


_HINTS = {
    "GET": "was the record written with another registry?",
    "POST": "a schema must be compatible with those before it; change the columns, or take another 'value.subject'",
}


@cache
def _registry(endpoint: str, key: str, secret: str) -> HttpRegistry:
    """One for every registry in a process, so that it is asked once."""
    return HttpRegistry(endpoint, key, secret)
