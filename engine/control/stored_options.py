"""Options of stored connections and tables: secrets are separated from them, and never shown.

{"auth": {"password": "hunter2"}}                    as sent
auth.password = {{ secret:cp_..._auth_password }}    as stored; the secret itself is encrypted
{"auth": {"password": "**********"}}                 as shown
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from engine.connectors.kinds import Connector
from engine.connectors.option_schemas import flat_values, nested_values, secret_options
from engine.connectors.options import name_of
from engine.connectors.secret_values import is_secret, refers_to_secret
from engine.errors import OptionValueError, SecretValueError, message_of
from engine.formats import FORMATS
from engine.jobs.processes.probes import HIDDEN
from engine.store.stored import Options

_LOGIN = re.compile(r"(?<=://)[^/@\s]+(?=@)")
"""User and password in a URL."""
_LONGEST_SECRET = 16_384
Values: TypeAlias = "dict[str, str | bool | int | float | list[str]]"


@dataclass(frozen=True, slots=True)
class SplitSecrets:
    """Options with references instead of secrets, and the secrets by reference name."""

    options: Values
    secrets: Mapping[str, str]


def read_config(config: Mapping[str, Any]) -> Values:
    """Validate the options that a client sends."""
    try:
        return flat_values(config)
    except ValueError as error:
        raise OptionValueError(message_of(error), hint="GET /connectors has the options of each connector") from error


def split_secrets(owner: str, connector: Connector, options: Values) -> SplitSecrets:
    """Separate the secrets; raise if one is the placeholder that is shown for it, or if another option contains a
    login."""
    names = secret_options(connector) | _secrets_of_formats()
    split, secrets = dict(options), dict[str, str]()
    for name, value in options.items():
        if name not in names:
            if isinstance(value, str) and _LOGIN.search(value):
                raise SecretValueError(
                    f"option '{name}' holds a login, which would be shown", hint="a connection has options for it"
                )
            continue
        text = str(value)
        if text == HIDDEN:
            raise SecretValueError(
                f"option '{name}' is the placeholder that responses show for a secret",
                hint="send the secret itself, or its name",
            )
        if not text or refers_to_secret(value):
            continue
        if "\0" in text or len(text) > _LONGEST_SECRET:
            raise SecretValueError(
                f"option '{name}' has a null character, or more than {_LONGEST_SECRET} characters",
                hint="an environment cannot hold it",
            )
        reference = f"{owner}_{re.sub('[^A-Za-z0-9]', '_', name)}"
        secrets[reference] = text
        split[name] = f"{{{{ secret:{reference} }}}}"
    return SplitSecrets(split, secrets)


def shown_config(connector: Connector, options: Options) -> dict[str, Any]:
    """Return the options as answers show them: without secrets, and without the login of a URL."""
    names = secret_options(connector) | _secrets_of_formats()
    shown = {name: HIDDEN if name in names and value else _plain(value) for name, value in options.items()}
    return nested_values(connector, shown)


def _plain(value: object) -> object:
    """Return a value for JSON, without the login of a URL; a duration is text."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, bool | int | float) else _LOGIN.sub(HIDDEN, str(value))


def _secrets_of_formats() -> frozenset[str]:
    fields = [field for form in FORMATS for field in form.options.model_fields.items()]
    return frozenset(name_of(name, info) for name, info in fields if is_secret(info))
