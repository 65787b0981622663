"""Drivers that an earlier control plane has started, and that call this one."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection

from engine.jobs import desired
from engine.jobs.status import JobEvent, Run
from engine.jobs.wire import WIRE, is_spoken
from engine.store import events, pipelines, runs
from engine.store.records import read_record


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
        events.add(connection, JobEvent(run.job_id, now, "info", words, "run.adopted", generation=run.generation))
        return
    words = f"{version}, which the control plane does not speak any more); it stops after its epoch and starts anew"
    events.add(connection, JobEvent(run.job_id, now, "warn", words, "run.too_old", generation=run.generation))
    if record.pipeline.stop == "none":
        pipelines.update(connection, desired.ask_restart(record.pipeline, record.status, force=False))
