"""Run rehearsals, up to the limit at once, and record their results.

    waiting     its turn has come, and resources suffice: start its process
    running     it has written a result: done or failed
                its process has ended without one: lost
                its timeout has passed, or the disk is nearly full: kill its process
    not open    cancelled, or its pipeline deleted: kill its process

Files of rehearsals that are not open are removed at the next look, also those of an earlier control plane. Rehearsals
that it has started continue, and are recorded here.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from engine.control.context import Context
from engine.control.rehearsals import refuse_without_memory, refuse_without_room, why_ended
from engine.control.stored_objects import stored_secrets
from engine.delivery.faults import reach
from engine.errors import (
    EngineError,
    RehearsalFailedError,
    RehearsalLostError,
    RehearsalTimeError,
    message_of,
)
from engine.jobs.actors import CONTROL_PLANE
from engine.jobs.decisions.rollback import RehearsalOrder
from engine.jobs.decisions.status import JobEvent
from engine.jobs.fault_points import RehearsalPoint
from engine.jobs.processes.processes import log_tail
from engine.jobs.processes.rehearsal_processes import Rehearsers, folder_of
from engine.store.jobs import events
from engine.store.jobs.records import read_record
from engine.store.pipelines import pipeline_secrets, rehearsals, versions
from engine.store.pipelines.rehearsals import Rehearsal

LOG = logging.getLogger(__name__)
_GRACE = timedelta(minutes=1)
"""Additional timeout of the process itself, which may be without a control plane."""


@dataclass(slots=True)
class RehearsalWatch:
    """Runs rehearsals on a thread of its own."""

    context: Context
    rehearsers: Rehearsers
    interval: timedelta = timedelta(seconds=1)
    idle: timedelta = timedelta(seconds=10)
    _is_over: bool = False

    def run(self) -> None:
        """Advance rehearsals periodically until closed; a running one continues then."""
        while not self._is_over:
            is_busy = True
            try:
                is_busy = self.look()
            except Exception:
                LOG.exception("an error ends this look at the rehearsals; the next one tries again")
            self.context.rehearsals_changed.wait((self.interval if is_busy else self.idle).total_seconds())
            self.context.rehearsals_changed.clear()

    def close(self) -> None:
        """Make `run` return."""
        self._is_over = True
        self.context.rehearsals_changed.set()

    def look(self) -> bool:
        """Do what is due; return whether any rehearsal has not ended."""
        with self.context.database.reading() as connection:
            not_over = rehearsals.not_over(connection)
        for rehearsal in not_over:
            if rehearsal.state == "running":
                self._attend(rehearsal)
        with self.context.database.reading() as connection:
            not_over = rehearsals.not_over(connection)
        running = {rehearsal.id for rehearsal in not_over if rehearsal.state == "running"}
        for left in self.rehearsers.left():
            if left not in running:
                self.rehearsers.end_processes(left)
                self.rehearsers.remove(left)
        waiting = [rehearsal for rehearsal in not_over if rehearsal.state == "waiting"]
        for rehearsal in waiting[: max(0, self.context.rehearsals.at_once - len(running))]:
            self._begin(rehearsal)
        return bool(not_over)

    def _attend(self, rehearsal: Rehearsal) -> None:
        """Check a running rehearsal."""
        now = self.context.clock()
        is_alive = self.rehearsers.is_alive(rehearsal.id)  # first: a result may be its last act
        if (result := self._result(rehearsal)) is not None:
            self._settle(_settled(rehearsal, now, result))
        elif (error := self._why_ended(rehearsal, is_alive=is_alive)) is not None:
            self._settle(rehearsal.given_up(now, error))

    def _result(self, rehearsal: Rehearsal) -> dict[str, Any] | None:
        try:
            result = json.loads(folder_of(self.context.directory, rehearsal.id).result.read_bytes())
        except (OSError, ValueError):
            return None
        return result if isinstance(result, dict) else None

    def _why_ended(self, rehearsal: Rehearsal, *, is_alive: bool) -> EngineError | None:
        limits = self.context.rehearsals
        if (full := why_ended(self.context.free_bytes(), limits.free_bytes)) is not None:
            return full
        if not is_alive:
            words = self._last_words(rehearsal)
            return RehearsalLostError(
                f"the process that played it has ended {words}", hint="nothing is known of its rows; ask for it again"
            )
        begun = rehearsal.started_at or rehearsal.created_at
        if self.context.clock() - begun > rehearsal.time_limit:
            return RehearsalTimeError(
                f"it was not over after {rehearsal.time_limit}",
                hint="allow it more time, up to the setting rehearsal.limit, or rehearse from a newer savepoint",
            )
        return None

    def _last_words(self, rehearsal: Rehearsal) -> str:
        lines = log_tail(folder_of(self.context.directory, rehearsal.id).log).splitlines()
        return f"with the words: {lines[-1][:500]}" if lines else "without a word"

    def _begin(self, rehearsal: Rehearsal) -> None:
        """Start the next rehearsal. That is recorded first: if the control plane dies in between, the rehearsal is
        lost, and none runs twice."""
        context, now = self.context, self.context.clock()
        running = replace(rehearsal, state="running", started_at=now)
        try:
            refuse_without_room(context.free_bytes(), 0, context.rehearsals.free_bytes)
            refuse_without_memory(context.free_memory(), rehearsal.change.settings)
            order, script, secrets = self._order(rehearsal)
        except EngineError as error:
            self._settle(rehearsal.given_up(now, error))
            return
        with context.database.writing() as connection:
            if not rehearsals.move_on(connection, running):
                return
        reach(RehearsalPoint.BEFORE_PROCESS)
        try:
            self.rehearsers.start(rehearsal.id, order, script, secrets)
        except OSError as error:
            failed = RehearsalFailedError(
                f"its process cannot be started: {message_of(error)}", hint="see the disk and the memory"
            )
            self._settle(running.given_up(now, failed))
        reach(RehearsalPoint.AFTER_PROCESS)

    def _order(self, rehearsal: Rehearsal) -> tuple[RehearsalOrder, str, dict[str, str]]:
        """Return the input of the process, the scripts that name secrets, and the pipeline's own secrets."""
        context, directory = self.context, self.context.directory
        with context.database.reading() as connection:
            record = read_record(connection, rehearsal.pipeline_id)
            number = rehearsal.version or record.pipeline.version
            old = versions.get(connection, rehearsal.pipeline_id, number).spec.query
            own = pipeline_secrets.read(connection, context.database.vault, rehearsal.pipeline_id)
            secrets = {**own, **stored_secrets(connection, context, rehearsal.change.query)}
        savepoint = None
        if rehearsal.savepoint_id is not None:
            savepoint = directory.savepoint(rehearsal.pipeline_id, rehearsal.savepoint_id)
        order = RehearsalOrder(
            change=rehearsal.change,
            state_dir=directory.state(rehearsal.pipeline_id),
            savepoint=savepoint,
            connections=context.connections,
            limit_seconds=(rehearsal.time_limit + _GRACE).total_seconds(),
        )
        return order, f"{old}\n{rehearsal.change.query}\n{context.connections}", secrets

    def _settle(self, rehearsal: Rehearsal) -> None:
        """End the processes of a rehearsal, record its outcome, and remove its files: in this order, so that a crash in
        between is repaired by the next control plane."""
        self.rehearsers.end_processes(rehearsal.id)
        reach(RehearsalPoint.AFTER_END)
        with self.context.database.writing() as connection:
            if rehearsals.move_on(connection, rehearsal):
                job_id = read_record(connection, rehearsal.pipeline_id).pipeline.job_id
                events.add(connection, _event(rehearsal, job_id))
        reach(RehearsalPoint.AFTER_OUTCOME)
        self.rehearsers.remove(rehearsal.id)


def _settled(rehearsal: Rehearsal, at: datetime, result: Mapping[str, Any]) -> Rehearsal:
    """Return the rehearsal whose process has left a result."""
    if "code" in result:
        return rehearsal.failed(at, result["code"], result["message"], result["hint"])
    return rehearsal.played(at, result["report"], result["text"])


def _event(rehearsal: Rehearsal, job_id: str) -> JobEvent:
    at = rehearsal.ended_at or rehearsal.created_at
    if rehearsal.report is None:
        words = f"rehearsal {rehearsal.id} failed: {rehearsal.message}"
        return JobEvent(job_id, at, "warn", words, rehearsal.code, rehearsal.hint, who=CONTROL_PLANE)
    different = [str(sink["sink"]) for sink in rehearsal.report["sinks"] if sink["differs"]]
    told = f"rows of {', '.join(different)} differ" if different else "no row differs"
    return JobEvent(job_id, at, "info", f"rehearsal {rehearsal.id} finished: {told}", who=CONTROL_PLANE)
