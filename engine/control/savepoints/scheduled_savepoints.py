"""Take scheduled savepoints: each due instant once, even if the control plane dies.

    record   savepoint sp_1 is pending, and 04:00 is due next, in one transaction
    take     like a requested one; a restarted control plane continues with pending ones
    record   it is taken; with a restore test: the test is pending, and a restarted control plane repeats it
    record   it is proven

One at a time: an instant that is due meanwhile waits, until a later one is due. An event says why none was taken, once
per reason.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from engine.control.context import Context
from engine.control.savepoints.savepoint_tests import start_drill
from engine.control.savepoints.take_savepoints import take_due
from engine.delivery.faults import reach
from engine.errors import PipelineBusyError
from engine.jobs import disk
from engine.jobs.actors import CONTROL_PLANE, JobRecord
from engine.jobs.decisions.states import State
from engine.jobs.decisions.status import JobEvent
from engine.jobs.fault_points import SchedulePoint
from engine.jobs.schedules.savepoint_schedule import Hindrance, LeaveOut, Take, Timetable, Wait, decide, read_timetable
from engine.store import savepoints
from engine.store.jobs import events
from engine.store.jobs.records import read_record
from engine.store.savepoints import Outcome, Savepoint, StoredSchedule

CREATOR = "schedule"
"""Creator of scheduled savepoints."""


def carry_out(context: Context, pipeline_id: str) -> None:
    """Continue the current step of a pipeline's schedule, and start what is due."""
    with context.database.reading() as connection:
        stored = savepoints.schedule(connection, pipeline_id)
    if stored is None:
        return
    if stored.last is not None and stored.last.is_open:
        _go_on(context, pipeline_id)
    if stored.is_due(context.clock()):
        _begin(context, pipeline_id)


def next_after(timetable: Timetable, now: datetime) -> datetime:
    """Return the next instant of a timetable; there is one, since others are refused."""
    instant = timetable.cron.after(now)
    assert instant is not None
    return instant


def _begin(context: Context, pipeline_id: str) -> None:
    """Start what is due now: exactly one of several concurrent calls finds it due."""
    with context.database.writing() as connection:
        stored = savepoints.schedule(connection, pipeline_id)
        now = context.clock()
        if stored is None or not stored.is_due(now):
            return
        record = read_record(connection, pipeline_id)
        timetable = read_timetable(stored.schedule)
        match decide(timetable, stored.due_at, now, _hindrance(connection, record, stored)):
            case Take() as due:
                savepoint = _ask(connection, context, record, stored, due, timetable)
                done = replace(stored, due_at=next_after(timetable, now), last_at=due.due_at, last=savepoint)
            case LeaveOut(due_at, reason, next_at):
                outcome = Outcome("left_out", reason=reason)
                if stored.last != outcome:
                    told = f"no savepoint is taken as scheduled for {_shown(due_at, timetable)}: {reason}"
                    _tell(connection, context, record, told, "warn")
                done = replace(stored, due_at=next_at or next_after(timetable, now), last_at=due_at, last=outcome)
            case Wait():
                return
        savepoints.set_schedule(connection, pipeline_id, done)
        reach(SchedulePoint.BEFORE_SCHEDULED)
    reach(SchedulePoint.AFTER_SCHEDULED)
    take_due(context, pipeline_id)


def _ask(
    connection: Connection,
    context: Context,
    record: JobRecord,
    stored: StoredSchedule,
    due: Take,
    timetable: Timetable,
) -> Outcome:
    due_at = _shown(due.due_at, timetable)
    fresh = Savepoint(
        disk.make("sp"), record.pipeline.id, None, context.clock(), creator=CREATOR, reason=f"scheduled for {due_at}"
    )
    savepoints.add(connection, fresh)
    told = f"savepoint {fresh.id} is taken as scheduled for {due_at}"
    if due.is_late:
        told += ", late"
    if due.left_out_since is not None:
        told += f"; of those since {_shown(due.left_out_since, timetable)} that were not taken it is the only one"
    _tell(connection, context, record, told, "warn" if due.is_late else "info")
    return Outcome("taking", fresh.id)


def _hindrance(connection: Connection, record: JobRecord, stored: StoredSchedule) -> Hindrance | None:
    """Return why no savepoint can be taken now; None if one can."""
    state = record.status.state
    if state is not State.RUNNING:
        return Hindrance(f"the pipeline is {state}", passes=not state.is_terminal)
    if record.pipeline.restore is not None:
        return Hindrance("the pipeline is going back to a savepoint", passes=True)
    if stored.last is not None and stored.last.is_open:
        return Hindrance(f"savepoint {stored.last.savepoint_id} of the schedule is not done yet", passes=True)
    if "pending" in savepoints.states(connection, record.pipeline.id):
        return Hindrance("another savepoint is being taken", passes=True)
    return None


def _go_on(context: Context, pipeline_id: str) -> None:
    """Check the savepoint of the last instant, and start its restore test if requested."""
    with context.database.writing() as connection:
        stored = savepoints.schedule(connection, pipeline_id)
        if stored is None or stored.last is None or not stored.last.is_open:
            return
        record = read_record(connection, pipeline_id)
        savepoint = savepoints.find(connection, pipeline_id, stored.last.savepoint_id or "")
        outcome = _outcome(context, stored, savepoint)
        if outcome != stored.last:
            savepoints.set_schedule(connection, pipeline_id, replace(stored, last=outcome))
            if (told := _words(outcome)) is not None:
                _tell(connection, context, record, told, "warn" if outcome.state == "failed" else "info")
    reach(SchedulePoint.AFTER_OUTCOME)
    if outcome.state == "drilling" and savepoint is not None and _task_of(context, savepoint) is None:
        try:
            start_drill(context, savepoint, record.pipeline.job_id)
        except PipelineBusyError:
            return  # it is being verified or exported; the next round tries again


def _outcome(context: Context, stored: StoredSchedule, savepoint: Savepoint | None) -> Outcome:
    """Return the outcome of the last scheduled savepoint."""
    last = stored.last
    assert last is not None
    if savepoint is None:
        return Outcome("failed", last.savepoint_id, "it was deleted meanwhile")
    if savepoint.state == "pending":
        return last
    if savepoint.state == "failed":
        return Outcome("failed", savepoint.id, savepoint.failure_message)
    if last.state == "taking":
        return Outcome("drilling" if stored.schedule.drill else "taken", savepoint.id)
    task = _task_of(context, savepoint)
    if task is None or task == "running":
        return last
    if task == "done":
        return Outcome("proven", savepoint.id)
    return Outcome("failed", savepoint.id, f"its drill fails: {context.holds.tasks[savepoint.id].message}")


def _task_of(context: Context, savepoint: Savepoint) -> str | None:
    """Return the progress of a savepoint's restore test; None if it was not started in this process."""
    task = context.holds.tasks.get(savepoint.id)
    return None if task is None or task.kind != "drill" else task.state


def _words(outcome: Outcome) -> str | None:
    match outcome.state:
        case "failed":
            return f"savepoint {outcome.savepoint_id} of the schedule fails: {outcome.reason}"
        case "proven":
            return f"savepoint {outcome.savepoint_id} of the schedule is proven to be restorable"
        case _:
            return None


def _tell(connection: Connection, context: Context, record: JobRecord, message: str, level: str) -> None:
    job_id = record.pipeline.job_id
    events.add(connection, JobEvent(job_id, context.clock(), level, message, who=CONTROL_PLANE))


def _shown(instant: datetime, timetable: Timetable) -> str:
    return instant.astimezone(timetable.zone).isoformat(timespec="minutes")
