"""Parent run of a change in OpenLineage, from headers, so that the body is the same for every try of a task, and
earlier control planes accept it."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated
from urllib.parse import unquote
from uuid import UUID

from fastapi import Depends, Header

from engine.errors import RequestError
from engine.openlineage.runs import AskingRun, ParentRun

_PARENT = "OpenLineage-Parent"
_ROOT = "OpenLineage-Root"
_LONGEST = 2048


def read_run(text: str, header: str) -> ParentRun:
    """The run that `NAMESPACE/JOB/RUN_ID` names. A namespace may have slashes in it."""
    job, _, number = text.rpartition("/")
    namespace, _, name = job.rpartition("/")
    if namespace and name:
        with suppress(ValueError):
            return ParentRun(namespace=namespace, name=name, run_id=UUID(number))
    raise RequestError(
        f"the header {header} is {text!r}, which names no run",
        hint="write it as NAMESPACE/JOB/RUN_ID, where the last is a UUID, or leave it out",
    )


async def _asking_run(
    parent: Annotated[
        str | None,
        Header(
            alias=_PARENT,
            max_length=_LONGEST,
            description="The run of OpenLineage that asks for this, as `NAMESPACE/JOB/RUN_ID` with percent-encoding. "
            "It becomes the parent of the runs that follow, until another request changes what they do.",
        ),
    ] = None,
    root: Annotated[
        str | None,
        Header(
            alias=_ROOT,
            max_length=_LONGEST,
            description="The run that this one is a part of, such as that of a task's DAG, in the same form.",
        ),
    ] = None,
) -> AskingRun | None:
    if parent is not None:
        run = read_run(unquote(parent), _PARENT)
        return AskingRun(run, None if root is None else read_run(unquote(root), _ROOT))
    if root is not None:
        raise RequestError(
            f"the header {_ROOT} names a run, and {_PARENT} none that is a part of it",
            hint=f"name the run that asks in {_PARENT}, or leave both out",
        )
    return None


AskingRunDep = Annotated[AskingRun | None, Depends(_asking_run)]
"""Dependency of endpoints that make changes."""
