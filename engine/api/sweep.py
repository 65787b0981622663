"""Sweep: list and remove leftovers. States and savepoints are never touched."""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from engine.api.http.authentication import who_asks
from engine.api.http.problems import ContextDep
from engine.api.savepoints.savepoint_schedules import RetentionRules, shown_retention
from engine.control.context import Context
from engine.jobs.actors import CONTROL_PLANE
from engine.jobs.disk import LeakedPath, OpenRun, leaked_paths, other_use, pipeline_use
from engine.store import old_rows
from engine.store import savepoints as savepoint_rules
from engine.store.jobs.records import read_page
from engine.store.pipelines import pipelines

LOG = logging.getLogger(__name__)
ROUTER = APIRouter(prefix="/sweep", tags=["sweep"])


class Leak(BaseModel):
    """A leftover: a file, a directory, or rows of one kind."""

    kind: str = Field(description="What it is.")
    path: str | None = Field(description="Where it is; null for rows of the database.")
    count: int = Field(description="How many there are.")
    bytes: int | None = Field(description="The size of the files; null for rows.")
    reason: str = Field(description="Why it may go.")


class SweepAnswer(BaseModel):
    """Leftovers that can be, or were, removed."""

    dry_run: bool = Field(description="Whether nothing was deleted.")
    leaks: list[Leak] = Field(description="What is left behind.")
    bytes: int = Field(description="The size of all files among it.")


@ROUTER.post("")
def sweep_now(
    request: Request,
    context: ContextDep,
    dry_run: Annotated[bool, Query(description="Whether only to say what would go.")] = False,
) -> SweepAnswer:
    """Remove what is left behind: scratch directories of processes that are no more, files and records of old runs, old
    events, certificates and idempotency keys. Nothing of a run that is alive, of a state or of a savepoint is touched;
    the control plane does the same at every start and now and then."""
    leaks = look(context) if dry_run else sweep(context)
    if not dry_run:
        _tell(leaks, who_asks(request) or CONTROL_PLANE)
    return SweepAnswer(dry_run=dry_run, leaks=leaks, bytes=sum(leak.bytes or 0 for leak in leaks))


def look(context: Context) -> list[Leak]:
    """List what may be deleted."""
    with context.database.reading() as connection:
        counts = old_rows.count(connection, context.clock(), context.limits)
    return [*map(_of_path, _paths(context)), *_of_rows(counts, context)]


def sweep(context: Context) -> list[Leak]:
    """Delete what may be deleted, and return it. What cannot be removed is left to the next time."""
    gone = [_of_path(leaked) for leaked in _paths(context) if _remove(leaked)]
    counts: dict[str, int] = {}
    while True:
        with context.database.writing() as connection:
            removed = old_rows.remove_some(connection, context.clock(), context.limits)
        counts = {name: counts.get(name, 0) + count for name, count in removed.items()}
        if not any(removed.values()):
            return [*gone, *_of_rows(counts, context)]


@dataclass(slots=True)
class Sweeper:
    """Sweeps at the start of a control plane and then regularly, on a thread of its own."""

    context: Context
    interval: timedelta
    _is_over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Sweep until closed."""
        while not self._is_over.is_set():
            try:
                _tell(sweep(self.context), CONTROL_PLANE)
            except Exception:
                LOG.exception("an error ends this sweep; the next one tries again")
            self._is_over.wait(self.interval.total_seconds())

    def close(self) -> None:
        """Make `run` return."""
        self._is_over.set()


def _tell(leaks: Sequence[Leak], who: str) -> None:
    for leak in leaks:
        LOG.info("sweep by %s: %s %s: %s", who, leak.kind, leak.path or leak.count, leak.reason)


def _paths(context: Context) -> Sequence[LeakedPath]:
    with context.database.reading() as connection:
        open_runs = _open_runs(connection)
    return list(leaked_paths(context.directory, open_runs, context.clock(), context.limits))


def _open_runs(connection: Connection) -> dict[str, OpenRun | None]:
    """Return every pipeline, with its run if one is open."""
    runs = {record.pipeline.id: record.run for record in read_page(connection, None, None)}
    return {name: None if run is None else OpenRun(run.generation, run.pid) for name, run in runs.items()}


def _remove(leaked: LeakedPath) -> bool:
    try:
        if leaked.path.is_dir():
            shutil.rmtree(leaked.path)
        else:
            leaked.path.unlink(missing_ok=True)
    except OSError as error:
        LOG.warning("%s cannot be removed yet: %s", leaked.path, error)
        return False
    return True


def _of_path(leaked: LeakedPath) -> Leak:
    return Leak(kind=leaked.kind, path=str(leaked.path), count=1, bytes=leaked.bytes, reason=leaked.reason)


def _of_rows(counts: Mapping[str, int], context: Context) -> list[Leak]:
    reasons = old_rows.reasons(context.limits)
    return [
        Leak(kind=name, path=None, count=count, bytes=None, reason=reasons[name])
        for name, count in counts.items()
        if count
    ]


STORAGE_ROUTER = APIRouter(prefix="/storage", tags=["storage"])


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


@STORAGE_ROUTER.get("")
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
