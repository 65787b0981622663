"""Names that we make ourselves; nothing a user wrote ever becomes a path."""

from __future__ import annotations

import re
import secrets
import string
from typing import Literal

_ALPHABET = string.ascii_letters + string.digits
_SHAPE = re.compile(r"(pl|job|sp|gate|part|reh|preview|cp|ct|udf)_[A-Za-z0-9]{16}")

Kind = Literal["pl", "job", "sp", "gate", "part", "reh", "preview", "cp", "ct", "udf"]
"""What an id is of: a pipeline, a job, a savepoint, a certificate of a gate, a consumer of partitions, a
rehearsal, a connection, a table or a function that is kept; of a preview it is the name."""


def make(kind: Kind) -> str:
    """A new random id, such as `pl_` and sixteen letters and digits."""
    return f"{kind}_{''.join(secrets.choice(_ALPHABET) for _ in range(16))}"


def is_id(text: str, kind: Kind) -> bool:
    """Whether a text has the shape of an id of that kind."""
    return text.startswith(f"{kind}_") and _SHAPE.fullmatch(text) is not None
