"""Drivers that an earlier control plane has started, and that call this one."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from engine.jobs.authors import CONTROL_PLANE
from engine.jobs.decisions import desired
from engine.jobs.decisions.status import JobEvent, Run
from engine.jobs.processes.wire import WIRE, is_spoken
from engine.store.jobs import events, runs
from engine.store.jobs.records import read_record
from engine.store.pipelines import pipelines


def adopt(connection: Connection, run: Run, wire: int, now: datetime) -> None:
    """Let a driver of another version work on, or have it stop after its epoch and start anew; an event says which. One
    of this version is no news: its hello was lost, or could not be written down."""
    runs.set_wire(connection, run, wire)
    if wire == WIRE:
        return
    record = read_record(connection, run.pipeline_id)
    if record.status.generation != run.generation or run.ended_at is not None:
        return
    version = f"run {run.generation} was started by another version of the engine (it speaks version {wire}"
    if is_spoken(wire):
        words = f"{version}, the control plane {WIRE}); it is adopted and works on"
        _tell(connection, run, JobEvent(run.job_id, now, "info", words, "run.adopted"))
        return
    if run.wire is not None and record.pipeline.restarts_asked > record.status.restarts_done:
        return  # it was told so before
    words = f"{version}, which the control plane no longer speaks); it stops after its epoch and restarts"
    _tell(connection, run, JobEvent(run.job_id, now, "warn", words, "run.too_old"))
    if record.pipeline.stop == "none":
        again = desired.ask_restart(record.pipeline, record.status, force=False)
        pipelines.update(connection, replace(again, asked_by=None))


def _tell(connection: Connection, run: Run, event: JobEvent) -> None:
    events.add(connection, replace(event, generation=run.generation, who=CONTROL_PLANE))
