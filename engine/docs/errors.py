"""Every error a user can meet, by code."""

from __future__ import annotations

from itertools import groupby

from engine import errors
from engine.docs.markdown import code, page, section, sentence, table
from engine.errors import EngineError, cause_of

_FAMILIES = {
    "auth": "Who asks, and whether they may",
    "data": "What was read",
    "delivery": "What was written",
    "option": "Options of a table",
    "pipeline": "Pipelines on the control plane",
    "request": "Requests",
    "run": "Runs",
    "savepoint": "Savepoints",
    "server": "The control plane itself",
    "setting": "Settings",
    "sql": "The script",
    "state": "The state directory",
    "udf": "Functions in Python",
}


def declared_errors() -> list[type[EngineError]]:
    """The errors of `engine.errors`, by code."""
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, EngineError)]
    return sorted((kind for kind in kinds if kind is not EngineError), key=lambda kind: kind.code)


def errors_page() -> str:
    """Codes by family, each with its meaning."""
    families = groupby(declared_errors(), key=lambda kind: kind.code.split(".")[0])
    return page(
        "Errors",
        "The code of an error never changes; its text may. What the control plane does about a job follows from the "
        "cause: an outage is waited out however long it lasts, a mistake ends the job at once, and what is unknown is "
        "tried again as often as the setting `pipeline.allowed_restarts` says. All but mistakes are retryable.",
        [
            section(
                f"{_FAMILIES.get(family, family.capitalize())} ({code(family)})",
                table(
                    ["code", "meaning", "cause"],
                    [[code(kind.code), sentence(kind.__doc__), cause_of(kind).value] for kind in kinds],
                ),
            )
            for family, kinds in families
        ],
    )
