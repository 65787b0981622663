"""Reference of errors, by code."""

from __future__ import annotations

from itertools import groupby

from engine import errors
from engine.docs.markdown import code, page, section, sentence, table
from engine.docs.remedies import REMEDIES
from engine.errors import EngineError, cause_of

_FAMILIES = {
    "auth": "Authentication and authorization",
    "data": "Input data",
    "delivery": "Output",
    "lineage": "OpenLineage",
    "option": "Table options",
    "partition": "Time buckets",
    "pipeline": "Pipelines",
    "rehearsal": "Rehearsals",
    "request": "Requests",
    "run": "Runs",
    "savepoint": "Savepoints",
    "server": "Control plane",
    "setting": "Settings",
    "sql": "SQL",
    "state": "State",
    "stored": "Stored connections, tables and functions",
    "token": "Tokens",
    "udf": "Python functions",
}


def declared_errors() -> list[type[EngineError]]:
    """The errors of `engine.errors`, by code."""
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, EngineError)]
    return sorted((kind for kind in kinds if kind is not EngineError), key=lambda kind: kind.code)


def errors_page() -> str:
    """Return the page of all codes by family, each with its meaning, remedy and cause."""
    families = groupby(declared_errors(), key=lambda kind: kind.code.split(".")[0])
    return page(
        "Errors",
        "The code of an error never changes; its text may. An error also has its own hint, which may be more specific "
        "than the remedy here. The cause determines whether a job restarts: it retries until an outage "
        "ends, a mistake ends the job at once, and an unknown cause allows as many restarts as the setting "
        "`pipeline.allowed_restarts`. All errors except mistakes are retryable.",
        [
            section(
                f"{_FAMILIES.get(family, family.capitalize())} ({code(family)})",
                table(
                    ["code", "meaning", "remedy", "cause"],
                    [
                        [code(kind.code), sentence(kind.__doc__), REMEDIES[kind.code], cause_of(kind).value]
                        for kind in kinds
                    ],
                ),
            )
            for family, kinds in families
        ],
    )
