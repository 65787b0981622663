"""Where the pipelines write that were deployed before anybody wrote it down."""

from __future__ import annotations

import logging

from engine.control.context import Context
from engine.errors import EngineError, PipelineNotFoundError
from engine.store.pipelines import pipelines, targets, versions

LOG = logging.getLogger(__name__)


def read_unread(context: Context) -> None:
    """Plan those versions once more, and write down their targets. Two pipelines that write to one already go on; the
    next version of either is refused."""
    with context.database.reading() as connection:
        pending = targets.unread(connection)
    for pipeline_id, number in pending:
        names = _targets_of(context, pipeline_id, number)
        with context.database.writing() as connection:
            targets.write(connection, pipeline_id, number, names)


def _targets_of(context: Context, pipeline_id: str, number: int) -> tuple[str, ...]:
    try:
        with context.database.reading() as connection:
            pipelines.get(connection, pipeline_id)
            spec = versions.get(connection, pipeline_id, number).spec
        return context.planner.plan(spec.query, spec.udfs).targets
    except PipelineNotFoundError:
        return ()
    except EngineError as error:
        LOG.warning("pipeline %s: the targets of version %s are unknown, since %s", pipeline_id, number, error)
        return ()
