"""Run a hand-over step by step: each step is one transaction, so it continues after a crash.

orders writes the topic counts; orders-again has read the input again under the prefix `again` and has caught up

    holding     orders-again stops                                 at clicks 28, watermark 12:04
    passing     orders runs until it has passed that               clicks 30, watermark 12:05
    stopping    orders stops                                       at clicks 30, watermark 12:05
    finishing   only if an epoch up to 31 was planned there: orders runs it, stays there, and stops again
    meeting     orders-again reads up to there, and no further     again-counts has all output of 30 clicks
    met         it stops, and its state is saved                   sp_1
    switching   orders continues from sp_1 with its query          counts has the output from click 31 on
    over        its first epoch is committed

The two never write to the same target. Until `switching` the original has its own state, and continues from it if there
is any problem.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from engine.checkpoints.manifest import read_manifest
from engine.control.context import Context
from engine.control.savepoints.take_savepoints import settle_taken, take_due
from engine.control.upgrades.auto_rollback import (
    EndIt,
    GoBack,
    StopIt,
    SwitchAction,
    WaitFor,
    follow,
    follow_stopped,
    plan_way_back,
)
from engine.control.upgrades.hand_over_plans import plan_hand_over
from engine.delivery.faults import reach
from engine.errors import EngineError, PipelineNotFoundError
from engine.jobs import disk
from engine.jobs.actors import CONTROL_PLANE, JobRecord
from engine.jobs.decisions import intend
from engine.jobs.decisions.intend import is_settled
from engine.jobs.decisions.spec import Pipeline, Restore, Spec, StopRequest, Upgrade
from engine.jobs.decisions.states import State
from engine.jobs.decisions.status import JobEvent
from engine.jobs.fault_points import HandOverPoint
from engine.jobs.processes.left_by_drivers import is_at_work
from engine.store import openlineage, savepoints
from engine.store.jobs import events
from engine.store.jobs.records import read_record
from engine.store.pipelines import pipeline_secrets, pipelines, reprocessings, versions
from engine.store.pipelines.reprocessings import HandOverStep, Reprocessing
from engine.store.savepoints import Savepoint

if TYPE_CHECKING:
    from engine.spark.upgrade.hand_over import Standing

LOG = logging.getLogger(__name__)
LONGEST_MEETING = timedelta(minutes=15)
"""Longest total time for which one of the two may be stopped; then both continue unchanged."""
_CLOSE = timedelta(seconds=20)
"""A copy that has reached the original's position of so long ago has caught up."""
_RUNS = State.RUNNING
_STOPS_IT = f"{CONTROL_PLANE}, for a hand-over"


@dataclass(slots=True)
class HandOvers:
    """Advances every pending hand-over. Its memory is only a cache."""

    context: Context
    _seen: dict[str, tuple[datetime, Standing]] = field(default_factory=dict)
    """Position of each original, and when."""
    _checked: set[str] = field(default_factory=set)

    def look(self) -> None:
        """Advance every pending hand-over by one step."""
        with self.context.database.reading() as connection:
            pending = reprocessings.under_way(connection)
        for reprocessing in pending:
            try:
                pair = self._read(reprocessing)
            except PipelineNotFoundError as error:  # one of the two was deleted before anything had begun
                LOG.warning("a hand-over has ended: %s", error)
                self._forget(reprocessing)
                continue
            try:
                waits_for = self._advance(pair)
            except EngineError as error:
                LOG.warning("pipeline %s does not take over yet: %s", reprocessing.copy_id, error)
                waits_for = _said(error.code, error.message, error.hint)
            self._tell(pair, waits_for)

    def _read(self, reprocessing: Reprocessing) -> _Pair:
        with self.context.database.reading() as connection:
            copy = read_record(connection, reprocessing.copy_id)
            spec = versions.get(connection, copy.pipeline.id, copy.pipeline.version).spec
            return _Pair(reprocessing, read_record(connection, reprocessing.origin_id), copy, spec)

    def _advance(self, pair: _Pair) -> str | None:
        """Advance to the next step if possible; return what prevents it, if anything. Each step does the same."""
        if (why := _why_not(self.context, pair)) is not None:
            self.give_up(pair, why)
            return None
        match pair.row.step:
            case "waiting":
                return self._wait(pair)
            case "holding":
                self._hold(pair)
            case "passing":
                return self._pass(pair)
            case "stopping":
                self._stop(pair)
            case "finishing":
                return self._finish(pair)
            case "meeting":
                return self._meet(pair)
            case "met":
                self._save(pair)
            case "switching":
                return self._follow(pair)
            case "apart" | "over" | "given_up":
                return pair.row.told
        return None

    def _wait(self, pair: _Pair) -> str | None:
        """Start once both pipelines run and the copy has caught up."""
        for record in (pair.origin, pair.copy):
            if record.status.state is not _RUNS or not is_settled(record.pipeline, record.status):
                return _at_rest(record)
        at, other = self._standings(pair)
        if at is None or other is None:
            return "waiting for an epoch of each pipeline"
        if at.reads_history or other.reads_history:
            return f"{(pair.copy if at.reads_history else pair.origin).pipeline.name} is reading history"
        if _is_cut(at, other):
            return _cut(pair, at)
        return self._catch_up(pair, at, other) if self._can_be_done(pair) else None

    def _can_be_done(self, pair: _Pair) -> bool:
        """Whether the two pipelines fit each other; checked once, when both have a state."""
        if pair.row.copy_id not in self._checked:
            try:
                plan_hand_over(self.context, pair.origin.pipeline, pair.copy.pipeline)
            except EngineError as error:
                self.give_up(pair, error.message)
                return False
            self._checked.add(pair.row.copy_id)
        return True

    def _catch_up(self, pair: _Pair, at: Standing, other: Standing) -> str | None:
        now, copy_id = self.context.clock(), pair.row.copy_id
        when, ends = self._seen.setdefault(copy_id, (now, other))
        if self.context.meetings.has_read(pair.spec, at, ends.ends) and now - when <= _CLOSE:
            self._seen.pop(copy_id, None)
            self._to(pair, "holding", copy=_stopping(pair.copy, self.context))
            return None
        if now - when > _CLOSE:
            self._seen[copy_id] = (now, other)
        return f"{pair.copy.pipeline.name} is catching up"

    def _hold(self, pair: _Pair) -> None:
        if self._rests(pair.copy):
            self._to(pair, "passing")

    def _pass(self, pair: _Pair) -> str | None:
        if pair.origin.status.state is not _RUNS:
            return _failing(pair.origin)
        at, other = self._standings(pair)
        if at is None or other is None:
            return None
        if _is_cut(at, other):
            return _cut(pair, at)
        if self.context.meetings.is_behind(pair.spec, at, other):
            self._to(pair, "stopping", origin=_stopping(pair.origin, self.context))
        return None

    def _stop(self, pair: _Pair) -> None:
        """Make the position of the stopped original the meeting point, if it is at the end of an epoch."""
        if not self._rests(pair.origin):
            return
        at, other = self._standings(pair)
        if at is None or other is None:
            return
        meetings, state = self.context.meetings, self.context.directory.state(pair.row.origin_id)
        if _is_cut(at, other) or not meetings.is_behind(pair.spec, at, other):
            self._to(pair, "passing", origin=_running(pair.origin))
        elif (other.is_settled and meetings.is_at_one(other)) or meetings.has_come(pair.spec, state, other):
            self._to(pair, "meeting", copy=_running(pair.copy), ends=other)
        else:  # stopped at another moment it might be so again, and again
            self._to(pair, "finishing", origin=_running(pair.origin), finishes=other)

    def _finish(self, pair: _Pair) -> str | None:
        """Let the original finish its planned epochs, and no others: wherever it stops now, nothing else is planned."""
        state, (_, other) = self.context.directory.state(pair.row.origin_id), self._standings(pair)
        if pair.origin.status.state is not _RUNS:
            return _failing(pair.origin)
        if other is not None and other.is_settled and self.context.meetings.has_come(pair.spec, state, other):
            self._to(pair, "stopping", origin=_stopping(pair.origin, self.context))
        return None

    def _meet(self, pair: _Pair) -> str | None:
        at, other = self._standings(pair)
        if at is not None and other is not None and self.context.meetings.have_met(pair.spec, at, other):
            self._to(pair, "met", copy=_stopping(pair.copy, self.context))
            return None
        return _failing(pair.copy)

    def _save(self, pair: _Pair) -> None:
        """Save the state of the copy, which is at the position of the original, and let the original continue from
        it."""
        if not self._rests(pair.copy):
            return
        row = pair.row
        with self.context.database.reading() as connection:
            stored = None if row.savepoint_id is None else savepoints.find(connection, row.copy_id, row.savepoint_id)
        if stored is None:
            fresh = Savepoint(
                disk.make("sp"),
                row.copy_id,
                "hand-over",
                self.context.clock(),
                creator=CONTROL_PLANE,
                reason="hand-over",
            )
            with self.context.database.writing() as connection:
                if _is_current(connection, row):
                    savepoints.add(connection, fresh)
                    reprocessings.put(connection, replace(row, savepoint_id=fresh.id))
            take_due(self.context, row.copy_id)
        elif stored.state == "pending":
            take_due(self.context, row.copy_id)
        elif stored.state == "completed":
            self._switch(pair, stored)

    def _switch(self, pair: _Pair, stored: Savepoint) -> None:
        """Switch the original to the query and the state of the copy, in one transaction."""
        row, context = pair.row, self.context
        manifest = read_manifest(context.directory.savepoint(row.copy_id, stored.id))
        try:
            plan = plan_hand_over(context, pair.origin.pipeline, pair.copy.pipeline)
        except EngineError as error:  # the two stand still: nothing is won by asking again
            self.give_up(pair, error.message)
            return
        current, spec, planned = plan.current, plan.spec, plan.planned
        now, number = context.clock(), current.number + 1
        before = Savepoint(
            disk.make("sp"),
            row.origin_id,
            f"before version {number}",
            now,
            creator=CONTROL_PLANE,
            reason=f"hand-over from {pair.copy.pipeline.name}",
            before_version=number,
        )
        upgrade = Upgrade(
            savepoint_id=before.id,
            from_version=current.number,
            from_plan=current.fingerprint,
            is_fork=True,
            of_history=manifest.lineage,
        )
        version = planned.as_version(row.origin_id, number, spec, now, upgrade=upgrade)
        restore = Restore(
            stored.id, manifest.parallelism, allow_replay=True, save_as=before.id, of_pipeline=row.copy_id
        )
        context.meetings.release(context.directory.state(row.copy_id))
        reach(HandOverPoint.BEFORE_SWITCH)
        with context.database.writing() as connection:
            if not _is_current(connection, row):
                return
            savepoints.add(connection, before)
            versions.add(connection, version)
            versions.claim(connection, row.origin_id, number, planned.targets)
            self._pass_secrets_on(connection, row)
            changed = intend.ask_version(intend.ask_restore(_running(pair.origin), restore), version)
            pipelines.update(connection, changed, hands_over=True)
            openlineage.put_asking_run(
                connection, changed.job_id, now, openlineage.find_asking_run(connection, pair.copy.pipeline.job_id, now)
            )
            self._put(connection, pair, "switching", new_version=number)
        self._done(pair, "switching")
        take_due(context, row.origin_id)  # the state before, which is saved before anything is put in its place

    def _follow(self, pair: _Pair) -> str | None:
        """Follow the original to its first epoch with the other state, or to its failure."""
        origin, action = pair.origin, self._decide(pair)
        match action:
            case WaitFor(what):
                return what
            case StopIt(why):
                self._to(pair, "switching", why, origin=_stopping(origin, self.context))
            case EndIt(told):
                self._to(pair, "over", told, origin=_running(origin) if _is_stopped_for_it(origin) else None)
            case GoBack(saved, why):
                self._go_back(pair, saved, why)
        return None

    def _go_back(self, pair: _Pair, saved: Savepoint, why: str) -> None:
        row = pair.row
        plan = plan_way_back(self.context, pair.origin, saved)
        with self.context.database.writing() as connection:
            if not _is_current(connection, row):
                return
            back = plan.ask(connection, read_record(connection, row.origin_id))
            back = replace(back, stop="none", stop_request=None)
            pipelines.update(connection, back, hands_over=True)
            self._put(connection, pair, "given_up", told=why)
        self._done(pair, "given_up")

    def _decide(self, pair: _Pair) -> SwitchAction:
        row, origin, context = pair.row, pair.origin, self.context
        if not _is_stopped_for_it(origin):
            return follow(row, origin, context.clock(), _because(origin))
        if not self._rests(origin):
            return WaitFor(row.told)
        settle_taken(context, row.origin_id)
        with context.database.reading() as connection:
            upgrade = versions.get(connection, row.origin_id, origin.pipeline.version).upgrade
            wanted = None if upgrade is None else upgrade.savepoint_id
            saved = None if wanted is None else savepoints.find(connection, row.origin_id, wanted)
        return follow_stopped(row, origin, self._standings(pair)[1], saved, _because(origin))

    def _pass_secrets_on(self, connection: Connection, row: Reprocessing) -> None:
        vault, now = self.context.database.vault, self.context.clock()
        own = pipeline_secrets.read(connection, vault, row.origin_id)
        further = pipeline_secrets.read(connection, vault, row.copy_id)
        pipeline_secrets.replace(connection, vault, row.origin_id, {**own, **further}, now)

    def give_up(self, pair: _Pair, why: str) -> None:
        """Let both pipelines continue as before. An original that has failed with the other state is rolled back
        automatically (`engine/control/upgrades/auto_rollback.py`)."""
        self._seen.pop(pair.row.copy_id, None)
        with self.context.database.writing() as connection:
            if not _is_current(connection, pair.row):
                return
            let_go(connection, self.context, pair.row, pair.origin, pair.copy)
            self._put(connection, pair, "given_up", told=why)
        self._done(pair, "given_up")

    def _standings(self, pair: _Pair) -> tuple[Standing | None, Standing | None]:
        """Return the positions of the copy and of the original."""
        directory, meetings = self.context.directory, self.context.meetings
        return (
            meetings.standing(directory.state(pair.row.copy_id)),
            meetings.standing(directory.state(pair.row.origin_id)),
        )

    def _rests(self, record: JobRecord) -> bool:
        is_held = is_at_work(self.context.directory.driver_lock(record.pipeline.id))
        return record.status.state is State.STOPPED and not is_held

    def _tell(self, pair: _Pair, what: str | None) -> None:
        """Record what the hand-over waits for, or that nothing prevents it; ignore steps that have ended."""
        if pair.row.told != what:
            with self.context.database.writing() as connection:
                if _is_current(connection, pair.row):
                    reprocessings.put(connection, replace(pair.row, told=what))

    def _to(
        self,
        pair: _Pair,
        step: HandOverStep,
        told: str | None = None,
        *,
        origin: Pipeline | None = None,
        copy: Pipeline | None = None,
        ends: Standing | None = None,
        finishes: Standing | None = None,
    ) -> None:
        """Go to another step, and let one of the two stop or run for it: the copy as far as `ends`, the original until
        it has finished the planned epochs of `finishes`. They are told only if the hand-over was not cancelled
        meanwhile."""
        meetings, directory = self.context.meetings, self.context.directory
        with self.context.database.writing() as connection:
            if not _is_current(connection, pair.row):
                return
            if step in ("passing", "meeting"):
                meetings.release(directory.state(pair.row.origin_id))
            if ends is not None:
                meetings.ask(directory.state(pair.row.copy_id), ends)
            if finishes is not None:
                meetings.ask_to_finish(pair.spec, directory.state(pair.row.origin_id), finishes)
            for record, changed in ((pair.origin, origin), (pair.copy, copy)):
                if changed is not None and changed != record.pipeline:
                    pipelines.update(connection, changed, hands_over=True)
            self._put(connection, pair, step, told=told)
        self._done(pair, step)

    def _put(
        self,
        connection: Connection,
        pair: _Pair,
        step: HandOverStep,
        *,
        told: str | None = None,
        new_version: int | None = None,
    ) -> None:
        row, now = pair.row, self.context.clock()
        put = replace(
            row, step=step, since=_since(row, step, now), told=told, new_version=new_version or row.new_version
        )
        reprocessings.put(connection, put)
        message = _EVENTS[step].format(copy=pair.copy.pipeline.name, origin=pair.origin.pipeline.name, why=told)
        if told and step != "given_up":
            message = f"{message}; {told}"
        for record in (pair.origin, pair.copy):
            level = "warn" if told else "info"
            event = JobEvent(record.status.job_id, now, level, message, who=row.asked_by or CONTROL_PLANE)
            events.add(connection, event)

    def _done(self, pair: _Pair, step: HandOverStep) -> None:
        reach(HandOverPoint.AFTER_STEP, step)
        for record in (pair.origin, pair.copy):
            self.context.changed(record.pipeline.id)

    def _forget(self, reprocessing: Reprocessing) -> None:
        with self.context.database.writing() as connection:
            if reprocessings.find(connection, reprocessing.copy_id) is not None:
                put = replace(reprocessing, step="given_up", told="one of the two was deleted")
                reprocessings.put(connection, put)


@dataclass(slots=True)
class HandOverWatch:
    """Advances hand-overs on a thread of its own."""

    context: Context
    interval: timedelta = timedelta(milliseconds=500)
    _is_over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Advance hand-overs periodically until closed."""
        hand_overs = HandOvers(self.context)
        while not self._is_over.is_set():
            try:
                hand_overs.look()
            except Exception:
                LOG.exception("an error ends this look at the hand-overs; the next one tries again")
            self._is_over.wait(self.interval.total_seconds())

    def close(self) -> None:
        """Make `run` return."""
        self._is_over.set()


_EVENTS: dict[HandOverStep, str] = {
    "apart": "hand-over from {origin} to {copy} cancelled",
    "waiting": "hand-over from {origin} to {copy}: waiting until {copy} has caught up",
    "holding": "hand-over from {origin} to {copy}: {copy} is stopping",
    "passing": "hand-over from {origin} to {copy}: waiting until {origin} has read past the position of {copy}",
    "stopping": "hand-over from {origin} to {copy}: {origin} is stopping",
    "finishing": "hand-over from {origin} to {copy}: {origin} completes its planned epoch",
    "meeting": "hand-over from {origin} to {copy}: {copy} reads up to the position of {origin}",
    "met": "hand-over from {origin} to {copy}: {copy} and {origin} have reached the same position",
    "switching": "hand-over from {origin} to {copy}: {origin} switches to the query and the state of {copy}",
    "over": "hand-over from {origin} to {copy} completed: {origin} runs the query of {copy}, and {copy} stays stopped",
    "given_up": "hand-over from {origin} to {copy} abandoned: {why}",
}


@dataclass(frozen=True, slots=True)
class _Pair:
    """The two pipelines of a hand-over. `spec` is that of the copy."""

    row: Reprocessing
    origin: JobRecord
    copy: JobRecord
    spec: Spec


def let_go(connection: Connection, context: Context, row: Reprocessing, origin: JobRecord, copy: JobRecord) -> None:
    """Let both pipelines of a failed hand-over continue as before. A run that was told where to stop would read no
    further, so it is restarted."""
    if row.step not in reprocessings.MEETING:
        return
    for record, steps in ((origin, ("stopping", "finishing")), (copy, ("meeting", "met"))):
        context.meetings.release(context.directory.state(record.pipeline.id))
        freed = _running(record)
        if row.step in steps and record.status.state not in (State.FAILED, State.FINISHED):
            freed = intend.ask_restart(freed, record.status, force=False)
        if freed != record.pipeline:
            pipelines.update(connection, freed, hands_over=True)


def _why_not(context: Context, pair: _Pair) -> str | None:
    """Return why a hand-over cannot be completed; None if it can."""
    row, origin, copy = pair.row, pair.origin, pair.copy
    if row.step == "switching":
        is_undone = origin.pipeline.version != row.new_version
        if not is_undone and (origin.status.version != row.new_version or origin.status.state is not State.FAILED):
            return None
        return f"{origin.pipeline.name} {'was rolled back' if is_undone else f'has failed{_because(origin)}'}"
    if origin.pipeline.version != row.origin_version or copy.pipeline.version != row.copy_version:
        return "one of the two pipelines has a new query"
    if row.step == "waiting":
        return None
    for record in (origin, copy):
        if record.status.state in (State.FAILED, State.FINISHED):
            return f"{record.pipeline.name} has {str(record.status.state).lower()}{_because(record)}"
    if context.clock() - row.since > LONGEST_MEETING:
        last = f"; last status: {row.told}" if row.told else ""
        return f"it took longer than {LONGEST_MEETING.total_seconds() / 60:.0f} minutes{last}"
    with context.database.reading() as connection:
        stored = None if row.savepoint_id is None else savepoints.find(connection, row.copy_id, row.savepoint_id)
    if stored is not None and stored.state == "failed":
        return f"cannot save the state of {copy.pipeline.name}: {stored.failure_message}"
    return None


def _at_rest(record: JobRecord) -> str:
    """Return why one of the two pipelines cannot start yet, and the remedy."""
    name, state = record.pipeline.name, record.status.state
    if state is _RUNS:
        return f"{name} has a pending change"
    why = "" if state is State.STOPPED else _because(record)
    start = f": `arroyo start {name}` starts it" if state.is_terminal else ""
    return f"{name} is {state}{why}{start}"


def _failing(record: JobRecord) -> str | None:
    """Return why a pipeline that should run has failed; it is restarted automatically. A failure before a stop does not
    count."""
    is_away = record.status.state not in (_RUNS, State.STOPPED) and record.status.failure is not None
    return _at_rest(record) if is_away else None


def _because(record: JobRecord) -> str:
    """Return why it has failed, with the code of the error and the remedy."""
    failure = record.status.failure
    if failure is None:
        return ""
    return f" ({_said(failure.code, failure.message, failure.hint)})"


def _said(code: str, message: str, hint: str | None) -> str:
    return f"{code}: {message}{f'; {hint}' if hint else ''}"


def _is_cut(at: Standing, other: Standing) -> bool:
    """Whether the original may have open windows with rows that the copy has left out."""
    return at.since is not None and not other.has_closed(at.since)


def _cut(pair: _Pair, at: Standing) -> str:
    origin, copy = pair.origin.pipeline.name, pair.copy.pipeline.name
    return f"{origin} has open windows with rows before {at.since:%Y-%m-%dT%H:%M:%SZ}, which {copy} has not read"


def _since(row: Reprocessing, step: HandOverStep, now: datetime) -> datetime:
    """Return when the two began to wait for each other, over all steps in which they do."""
    both = row.step in reprocessings.MEETING and step in reprocessings.MEETING
    return row.since if both else now


def _is_current(connection: Connection, row: Reprocessing) -> bool:
    """Whether the hand-over was neither cancelled nor advanced since it was read."""
    return reprocessings.find(connection, row.copy_id) == row


def _stopping(record: JobRecord, context: Context) -> Pipeline:
    return replace(record.pipeline, stop="checkpoint", stop_request=StopRequest(_STOPS_IT, context.clock()))


def _is_stopped_for_it(record: JobRecord) -> bool:
    """Whether the hand-over, and not a user, has stopped the pipeline."""
    request = record.pipeline.stop_request
    return record.pipeline.stop != "none" and request is not None and request.by == _STOPS_IT


def _running(record: JobRecord) -> Pipeline:
    return replace(record.pipeline, stop="none", stop_request=None)
