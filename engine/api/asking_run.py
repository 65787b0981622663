"""The run that a deployment is a step of, as OpenLineage names it: a header, so that a deployment is the same for every
try of a task, and control planes of earlier versions take it."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated
from urllib.parse import unquote
from uuid import UUID

from fastapi import Depends, Header

from engine.errors import RequestError
from engine.openlineage.runs import ParentRun


def read_run(text: str) -> ParentRun:
    """The run that `NAMESPACE/JOB/RUN_ID` names. A namespace may have slashes in it."""
    job, _, number = text.rpartition("/")
    namespace, _, name = job.rpartition("/")
    if namespace and name:
        with suppress(ValueError):
            return ParentRun(namespace=namespace, name=name, run_id=UUID(number))
    raise RequestError(
        f"the header OpenLineage-Parent is {text!r}, which names no run",
        hint="write it as NAMESPACE/JOB/RUN_ID, where the last is a UUID, or leave it out",
    )


def _asking_run(
    openlineage_parent: Annotated[
        str | None,
        Header(
            alias="OpenLineage-Parent",
            max_length=2048,
            description="The run of OpenLineage that asks for this, as `NAMESPACE/JOB/RUN_ID` with percent-encoding. "
            "It is told as the parent of the runs that follow, until another deployment changes the pipeline.",
        ),
    ] = None,
) -> ParentRun | None:
    return None if openlineage_parent is None else read_run(unquote(openlineage_parent))


AskingRunDep = Annotated[ParentRun | None, Depends(_asking_run)]
"""What handlers of deployments take."""
