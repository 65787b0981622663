"""Secrets that stand in a script as they are. Where scripts are kept and shown to others, they must be referred to.

password = 'hunter2'                 refused on a control plane
password = '{{ secret:KAFKA }}'      filled in where the job is started
endpoint = 'https://a.example/?token=hunter2'      refused as well
"""

from __future__ import annotations

from functools import cache

from sqlglot import exp

from engine.connectors import CONNECTORS
from engine.connectors.options import WithOption, name_of
from engine.connectors.secret_values import is_secret, key_in_url, refers_to_secret
from engine.errors import LiteralSecretError
from engine.formats import FORMATS
from engine.sql.complaints import Complaints
from engine.sql.tables.written_options import given_options
from engine.sql.text.parse import Script
from engine.values.secret_references import SECRET_PREFIX


def literal_secrets(script: Script) -> list[LiteralSecretError]:
    """A complaint for every secret that a statement of the script holds."""
    return [
        LiteralSecretError(
            f"option '{option.name}' holds a secret, which would be stored and shown with the script",
            hint=f"write '{{{{ secret:NAME }}}}' and set {SECRET_PREFIX}NAME where jobs are started",
            at=option.at,
        )
        for statement in script.statements
        if isinstance(statement.node, exp.Create)
        for option in given_options(statement.node, script, Complaints(), statement.at)
        if _is_literal_secret(option)
    ]


def _is_literal_secret(option: WithOption) -> bool:
    if isinstance(option.value, str) and key_in_url(option.value) is not None:
        return True
    return option.name in _secret_names() and bool(option.value) and not refers_to_secret(option.value)


@cache
def _secret_names() -> frozenset[str]:
    models = [model for connector in CONNECTORS for model in connector.options.values()]
    return frozenset(
        name_of(name, info)
        for model in (*models, *(form.options for form in FORMATS))
        for name, info in model.model_fields.items()
        if is_secret(info)
    )
