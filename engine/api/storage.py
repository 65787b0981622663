"""Disk usage of the control plane."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, Field

from engine.api.http.depends import ContextDep
from engine.api.savepoints.savepoint_rules import RetentionRules, shown_retention
from engine.api.sweep import Leak, look
from engine.jobs.disk import other_use, pipeline_use
from engine.store import savepoints as savepoint_rules
from engine.store.pipelines import pipelines

ROUTER = APIRouter(prefix="/storage", tags=["storage"])


class PipelineStorage(BaseModel):
    """Disk usage of one pipeline. A file with several hard links counts once."""

    pipeline_id: str = Field(description="The pipeline.")
    pipeline: str = Field(description="What it is called.")
    state_bytes: int = Field(description="Its state, with what savepoints share with it.")
    savepoint_bytes: int = Field(description="What only its savepoints have: so much is free without them.")
    savepoints: int = Field(description="How many savepoints are there.")
    log_bytes: int = Field(description="What its runs have printed, and their scratch space.")
    retention: RetentionRules = Field(description="What of its savepoints is kept; without any rule, all of them are.")


class OtherStorage(BaseModel):
    """Disk usage besides the pipelines."""

    kind: str = Field(description="What it is.")
    bytes: int = Field(description="The size of its files.")


class Storage(BaseModel):
    """The disk of a control plane."""

    data_dir: str = Field(description="The directory in which everything is.")
    free_bytes: int = Field(description="The room that is left where it is.")
    pipelines: list[PipelineStorage] = Field(description="What each pipeline takes, the largest first.")
    others: list[OtherStorage] = Field(description="What is stored besides the pipelines, the largest first.")
    leaks: list[Leak] = Field(description="What the next sweep removes, since it is no longer needed.")


@ROUTER.get("")
def show(context: ContextDep) -> Storage:
    """Show disk usage, and what the next sweep removes. Reads the size of every file."""
    with context.database.reading() as connection:
        names = pipelines.names(connection)
        policies = savepoint_rules.all_retentions(connection)
    uses = {pipeline_id: pipeline_use(context.directory, pipeline_id) for pipeline_id in names}
    others = other_use(context.directory, names)
    return Storage(
        data_dir=str(context.directory.root),
        free_bytes=context.free_bytes(),
        pipelines=[
            PipelineStorage(
                pipeline_id=pipeline_id,
                pipeline=names[pipeline_id],
                state_bytes=use.state,
                savepoint_bytes=use.savepoints,
                savepoints=use.savepoint_count,
                log_bytes=use.logs,
                retention=shown_retention(policies.get(pipeline_id)),
            )
            for pipeline_id, use in sorted(uses.items(), key=lambda item: (-item[1].all, names[item[0]]))
        ],
        others=[
            OtherStorage(kind=kind, bytes=size) for kind, size in sorted(others.items(), key=lambda item: -item[1])
        ],
        leaks=look(context),
    )
