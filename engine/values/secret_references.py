"""References to secrets and variables in scripts.

In texts that Jinja renders, as in a DAG, they are written with a dollar, which Jinja ignores:

    {{ secret:KAFKA }}     ${secret:KAFKA}       the secret KAFKA
    {{ ARROYO_VAR_HOST }}  ${ARROYO_VAR_HOST}    the variable ARROYO_VAR_HOST
    {{ HOME }}                                   refused
                           ${HOME}               text, since other languages use it
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

SECRET_PREFIX = "ARROYO_SECRET_"  # noqa: S105 - the name of a variable
VARIABLE_PREFIX = "ARROYO_VAR_"
SECRETS_DIR = "ARROYO_SECRETS_DIR"
NAME = r"[A-Za-z_][A-Za-z0-9_]*"
"""Pattern of the name of a secret or variable."""
_REFERENCE = re.compile(
    r"""\{\{ \s* (?P<kind>secret:)? (?P<name>[^{}]*?) \s* \}\}
    |   \$\{ \s* (?P<dollar_kind>secret:) (?P<dollar_name>[^{}]*?) \s* \}
    |   \$\{ \s* (?P<variable>ARROYO_VAR_[^{}]*?) \s* \}""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference in a text."""

    name: str
    is_secret: bool


def references(text: str) -> list[Reference]:
    """Return all references in a text, in whichever spelling."""
    return [_reference(match) for match in _REFERENCE.finditer(text)]


def secrets_named(script: str) -> frozenset[str]:
    """Return the names of the secrets that a script refers to."""
    return frozenset(reference.name for reference in references(script) if reference.is_secret)


def replace_references(text: str, value_of: Callable[[Reference], str]) -> str:
    """Return the text with every reference replaced by its value."""
    return _REFERENCE.sub(lambda match: value_of(_reference(match)), text)


def _reference(match: re.Match[str]) -> Reference:
    name = match["name"] or match["dollar_name"] or match["variable"] or ""
    return Reference(name, is_secret=bool(match["kind"] or match["dollar_kind"]))
