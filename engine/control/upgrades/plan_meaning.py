"""Canonical form of everything that a run does, so that a comment or a line break in a script causes no restart.

    -- the clicks of today                 SELECT user, count(*)
    SELECT user, count(*) FROM clicks        FROM clicks

have the same form, and so have two files of functions with equivalent requirements. A plan's fingerprint covers less:
not the options that may change while a state is kept, lookup tables, passwords, or requirements.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, fields

from pydantic import BaseModel, SecretStr

from engine.compile import Program
from engine.connectors.base import Table
from engine.plan.identity.fingerprint import TAGS, stable_text
from engine.udf.declared import UdfFile
from engine.udf.requirements import needs_of


def meaning_of(program: Program, files: Sequence[UdfFile]) -> str:
    """Return a text that is equal for scripts that run alike. Defaults are left out, so that a new option changes
    nothing."""
    parts = [program.fingerprint, *(stable_text(write) for write in program.writes)]
    parts += [f"{name}: {list(_of_table(program.tables[name]))}" for name in sorted(program.tables)]
    # `{}` is what versions without a header have been written down with
    parts += [f"{file.digest} {needs_of(file) or {}}" for file in files]
    return hashlib.sha256("\n".join(parts).encode(errors="surrogatepass")).hexdigest()


def _of_table(table: Table) -> Iterator[str]:
    for field in fields(table):
        value = getattr(table, field.name)
        if field.default is MISSING or value != field.default:
            yield f"{field.name}={_text(value)}"


def _text(value: object) -> str:
    if isinstance(value, BaseModel):
        options = type(value).model_fields
        return str([f"{name}={_text(chosen)}" for name, chosen in value if chosen != options[name].default])
    if isinstance(value, SecretStr):
        return repr(value.get_secret_value())
    return stable_text(value) if type(value) in TAGS else repr(value)
