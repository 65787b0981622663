"""Find literal secrets in a script. A stored script must use references instead, because others can see it.

password = 'hunter2'                                refused on a control plane
password = '{{ secret:KAFKA }}'                     substituted where the job starts
endpoint = 'https://a.example/?token=hunter2'       refused as well; a warning if the script is not stored
endpoint = 'https://a.example/in/T0uK4zJ8pQ1vX6wR2s'   the same: a path segment looks like a key
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from sqlglot import exp

from engine.connectors import CONNECTORS, find_connector
from engine.connectors.options import WithOption, name_of
from engine.connectors.secret_values import (
    has_key_in_path,
    is_secret,
    key_in_url,
    refers_to_secret,
    takes_secret_in_part,
)
from engine.errors import LiteralSecretError, PluginError
from engine.formats import FORMATS
from engine.sql.catalog import Complaints
from engine.sql.tables.written_options import given_options
from engine.sql.text.parse import Script
from engine.values.secret_references import SECRET_PREFIX


def literal_secrets(script: Script) -> list[LiteralSecretError]:
    """Return an error for every secret that a statement of the script contains."""
    options = list(_options(script))
    others = _names_of_others(options, is_secret)
    return [
        LiteralSecretError(
            f"option '{option.name}' holds a secret, which would be stored and shown with the script",
            hint=f"write '{{{{ secret:NAME }}}}' and set {SECRET_PREFIX}NAME where jobs are started",
            at=option.at,
        )
        for option in options
        if _has_url_with_key(option) or _is_literal_secret(option, others)
    ]


def keys_in_urls(script: Script) -> list[LiteralSecretError]:
    """Return a warning for every URL of the script that contains a key. Every reader of the script or of its options
    sees the key."""
    return [
        LiteralSecretError(
            f"option '{option.name}' holds a key in its URL, which plans, pages and files of the script show",
            hint=f"write the key as '{{{{ secret:NAME }}}}' and set {SECRET_PREFIX}NAME; a control plane refuses it "
            "as it is",
            at=option.at,
        )
        for option in _options(script)
        if _has_url_with_key(option)
    ]


def _options(script: Script) -> Iterator[WithOption]:
    for statement in script.statements:
        if isinstance(statement.node, exp.Create):
            yield from given_options(statement.node, script, Complaints(), statement.at)


def _has_url_with_key(option: WithOption) -> bool:
    if not isinstance(option.value, str):
        return False
    is_in_path = option.name in _names(takes_secret_in_part) and has_key_in_path(option.value)
    return is_in_path or key_in_url(option.value) is not None


def _is_literal_secret(option: WithOption, others: frozenset[str]) -> bool:
    return option.name in _names(is_secret) | others and bool(option.value) and not refers_to_secret(option.value)


@cache
def _names(is_meant: Callable[[FieldInfo], bool]) -> frozenset[str]:
    """Return the secret options of built-in connectors and formats."""
    models = [model for connector in CONNECTORS for model in connector.options.values()]
    return _meant((*models, *(form.options for form in FORMATS)), is_meant)


def _names_of_others(options: Sequence[WithOption], is_meant: Callable[[FieldInfo], bool]) -> frozenset[str]:
    """Return the secret options of those connectors of other packages that a script names."""
    models: list[type[BaseModel]] = []
    for name in {str(option.value) for option in options if option.name == "connector"}:
        with suppress(PluginError):  # the compiler refuses it
            connector = find_connector(name)
            models += () if connector is None else connector.options.values()
    return _meant(models, is_meant)


def _meant(models: Iterable[type[BaseModel]], is_meant: Callable[[FieldInfo], bool]) -> frozenset[str]:
    return frozenset(
        name_of(name, info) for model in models for name, info in model.model_fields.items() if is_meant(info)
    )
