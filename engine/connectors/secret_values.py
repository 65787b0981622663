"""Secrets and variables that options refer to: checked when a script is read, filled in when a driver starts.

`{{ secret:NAME }}` is the environment variable `ARROYO_SECRET_NAME` of the driver, or the file NAME in its directory
`ARROYO_SECRETS_DIR`. `{{ NAME }}` is a plain variable, whose name must begin with `ARROYO_VAR_`: a script must not be
able to read whatever else the driver's environment holds. In texts that Jinja renders, as in a DAG, both are written
with a dollar, which Jinja leaves alone:

    {{ secret:KAFKA }}     ${secret:KAFKA}       the secret KAFKA
    {{ ARROYO_VAR_HOST }}  ${ARROYO_VAR_HOST}    the variable ARROYO_VAR_HOST
    {{ HOME }}                                   refused
                           ${HOME}               text: a dollar and braces mean something elsewhere, too
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, get_args

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from engine.errors import SecretNotFoundError

M = TypeVar("M", bound=BaseModel)

SECRET_PREFIX = "ARROYO_SECRET_"  # noqa: S105 - the name of a variable
VARIABLE_PREFIX = "ARROYO_VAR_"
SECRETS_DIR = "ARROYO_SECRETS_DIR"
_REFERENCE = re.compile(
    r"""\{\{ \s* (?P<kind>secret:)? (?P<name>[^{}]*?) \s* \}\}
    |   \$\{ \s* (?P<dollar_kind>secret:) (?P<dollar_name>[^{}]*?) \s* \}
    |   \$\{ \s* (?P<variable>ARROYO_VAR_[^{}]*?) \s* \}""",
    re.VERBOSE,
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_secret(info: FieldInfo) -> bool:
    """Whether an option's value never prints."""
    return info.annotation is SecretStr or SecretStr in get_args(info.annotation)


@dataclass(frozen=True, slots=True)
class Reference:
    """What a text refers to."""

    name: str
    is_secret: bool


def references(text: str) -> list[Reference]:
    """Everything that a text refers to, in whichever spelling."""
    return [_reference(match) for match in _REFERENCE.finditer(text)]


def secrets_named(script: str) -> frozenset[str]:
    """The names of the secrets that a script refers to."""
    return frozenset(reference.name for reference in references(script) if reference.is_secret)


def refers_to_secret(value: object) -> bool:
    """Whether an option's value is made of a secret that it names."""
    return isinstance(value, str) and bool(secrets_named(value))


def complaint_about(info: FieldInfo, value: object) -> str | None:
    """What is wrong with the references in an option's value, in words, or None."""
    for reference in references(value) if isinstance(value, str) else ():
        name = reference.name
        if not _NAME.fullmatch(name):
            return f"names {name!r}, which is not a valid secret or variable; use letters, digits and underscores"
        if reference.is_secret and not is_secret(info):
            return "must not contain a secret, since it is shown in plans and logs"
        if not reference.is_secret and not name.startswith(VARIABLE_PREFIX):
            return (
                f"names the variable {name!r}, and only those that begin with {VARIABLE_PREFIX} can be read; "
                f"for a secret write {{{{ secret:NAME }}}} and set {SECRET_PREFIX}NAME where the job is started"
            )
    return None


def fill_in(options: M, environ: Mapping[str, str]) -> M:
    """The options with every reference replaced by what it stands for."""
    filled: dict[str, object] = {}
    for name, value in options:
        match value:
            case SecretStr() as secret if _REFERENCE.search(secret.get_secret_value()):
                filled[name] = SecretStr(_filled(secret.get_secret_value(), environ))
            case str() as text if _REFERENCE.search(text):
                filled[name] = _filled(text, environ)
    return options.model_copy(update=filled) if filled else options


def _filled(text: str, environ: Mapping[str, str]) -> str:
    return _REFERENCE.sub(lambda match: _value(_reference(match), environ), text)


def _reference(match: re.Match[str]) -> Reference:
    name = match["name"] or match["dollar_name"] or match["variable"] or ""
    return Reference(name, is_secret=bool(match["kind"] or match["dollar_kind"]))


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
    raise SecretNotFoundError(
        f"{subject} does not exist", hint=f"{hint}, or put it into a file of ARROYO_SECRETS_DIR" if is_secret else hint
    )
