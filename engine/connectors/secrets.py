"""Secrets that a text only names: `{{ secret:NAME }}` stands for the variable `ARROYO_SECRET_NAME` of the environment.

No other variable can be named, so who writes SQL cannot read what else the workers' environment holds.
"""

from __future__ import annotations

import os
import re

from engine.errors import OptionValueError

PREFIX = "ARROYO_SECRET_"

_REFERENCE = re.compile(r"\{\{\s*secret:\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")


def reveal(text: str) -> str:
    """The text with every reference replaced; called where a connection is made, and nothing else holds a secret."""

    def value(found: re.Match[str]) -> str:
        known = os.environ.get(PREFIX + found[1])
        if known is None:
            raise OptionValueError(
                f"there is no secret {found[1]!r}", hint=f"set the variable {PREFIX}{found[1]} where the job runs"
            )
        return known

    return _REFERENCE.sub(value, text)
