"""Secrets and variables in options: checked when a script is compiled, substituted when a driver starts.

`{{ secret:NAME }}` is the environment variable `ARROYO_SECRET_NAME` of the driver, or the file NAME in its directory
`ARROYO_SECRETS_DIR`. `{{ NAME }}` is a plain variable, whose name must begin with `ARROYO_VAR_`, so that a script
cannot read other variables of the driver.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar, get_args
from urllib.parse import parse_qsl, urlsplit

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from engine.errors import SecretNotFoundError
from engine.values.secret_references import (
    NAME,
    SECRET_PREFIX,
    SECRETS_DIR,
    VARIABLE_PREFIX,
    Reference,
    references,
    replace_references,
    secrets_named,
)

M = TypeVar("M", bound=BaseModel)

_NAME = re.compile(NAME)


class _InPart:
    """Marks an option that may contain secrets as a part. Its display shows the names of the secrets, or omits that
    part."""


IN_PART = _InPart()
_KEYS = re.compile(
    r"(api|access|auth|subscription)?[-_]?(key|token|secret|password|passwd|pwd)|sig(nature)?|code", re.IGNORECASE
)
"""Names of URL parameters that contain keys; `code` is used by Azure Functions."""
_KEY_IN_PATH = re.compile(
    r"bot\d+:.+"  # Telegram's
    r"|(?=.*\d)(?=.*[a-z])(?=.*[A-Z])[\w~-]{20,}"
    r"|(?=(?:[^\d]*\d){6})(?=.*[a-z])[0-9a-z]{24,}"
)
"""Path segment that looks like a generated key: long, of digits and letters, and of both cases or without a hyphen."""


def key_in_url(value: str) -> str | None:
    """Return the parameter of a URL that contains a plain key, or None."""
    if not _is_url(value):
        return None
    parameters = parse_qsl(urlsplit(value).query)
    return next((name for name, text in parameters if _KEYS.fullmatch(name) and not refers_to_secret(text)), None)


def has_key_in_path(value: str) -> bool:
    """Whether a part of the path of a URL looks like a key, as in `https://hooks.slack.com/services/T0/B0/KEY`."""
    if not _is_url(value):
        return False
    without = replace_references(value, lambda _: "")
    return any(_KEY_IN_PATH.fullmatch(part) for part in urlsplit(without).path.split("/"))


def _is_url(value: str) -> bool:
    return value.lower().startswith(("http://", "https://", "ws://", "wss://"))


def takes_secret_in_part(info: FieldInfo) -> bool:
    """Whether an option may name secrets in a part of its value, such as a URL."""
    return IN_PART in info.metadata


def _may_name_secrets(info: FieldInfo) -> bool:
    return is_secret(info) or takes_secret_in_part(info)


def is_secret(info: FieldInfo) -> bool:
    """Whether an option's value never prints."""
    return info.annotation is SecretStr or SecretStr in get_args(info.annotation)


def refers_to_secret(value: object) -> bool:
    """Whether an option's value contains a reference to a secret."""
    return isinstance(value, str) and bool(secrets_named(value))


def complaint_about(info: FieldInfo, value: object) -> str | None:
    """Return the error of the references in an option's value, or None."""
    for reference in references(value) if isinstance(value, str) else ():
        name = reference.name
        if not _NAME.fullmatch(name):
            return f"names {name!r}, which is not a valid secret or variable; use letters, digits and underscores"
        if reference.is_secret and not _may_name_secrets(info):
            return "must not contain a secret, since it is shown in plans and logs"
        if not reference.is_secret and not name.startswith(VARIABLE_PREFIX):
            return (
                f"names the variable {name!r}, and only variables that begin with {VARIABLE_PREFIX} can be read; "
                f"for a secret write {{{{ secret:NAME }}}} and set {SECRET_PREFIX}NAME where the job is started"
            )
    return None


def fill_in(options: M, environ: Mapping[str, str]) -> M:
    """Return the options with every reference replaced by its value."""
    filled: dict[str, object] = {}
    for name, value in options:
        match value:
            case SecretStr() as secret if references(secret.get_secret_value()):
                filled[name] = SecretStr(_filled(secret.get_secret_value(), environ))
            case str() as text if references(text):
                filled[name] = _filled(text, environ)
    return options.model_copy(update=filled) if filled else options


def _filled(text: str, environ: Mapping[str, str]) -> str:
    return replace_references(text, partial(_value, environ=environ))


def _value(reference: Reference, environ: Mapping[str, str]) -> str:
    name, is_secret = reference.name, reference.is_secret
    variable = f"{SECRET_PREFIX}{name}" if is_secret else name
    if variable in environ and (is_secret or name.startswith(VARIABLE_PREFIX)):
        return environ[variable]
    if is_secret and _NAME.fullmatch(name) and SECRETS_DIR in environ:
        file = Path(environ[SECRETS_DIR]) / name
        if file.is_file():
            return file.read_text().rstrip("\r\n")
    subject = f"secret {name!r}" if is_secret else f"variable {name!r}"
    hint = f"set {variable} where the job is started"
    if is_secret:
        hint = f"deploy the pipeline with it, {hint}, or put it into a file of {SECRETS_DIR}"
    raise SecretNotFoundError(f"{subject} does not exist", hint=hint)
