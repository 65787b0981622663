"""Move a pipeline to another control plane."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_provider_arroyo import lineage, moves, requests, secret_sources
from airflow_provider_arroyo.errors import (
    BUSY,
    ArroyoError,
    BadConnectionError,
    DeadlineError,
    JobEndedError,
    MoveError,
    RefusedError,
    SecretError,
)
from airflow_provider_arroyo.hooks.arroyo import ArroyoHook
from airflow_provider_arroyo.moves import Arrival, Departure, MoveTask
from airflow_provider_arroyo.operators.base import PipelineOperator, now
from airflow_provider_arroyo.protocols import ask_until_answered
from airflow_provider_arroyo.requests import ApiCall
from airflow_provider_arroyo.responses import JobState

if TYPE_CHECKING:
    from airflow.sdk import Context

T = TypeVar("T")

_WAY_BACK = timedelta(minutes=1)
"""How long to ask the target control plane to release a pipeline whose state it is still copying."""


class MoveOperator(PipelineOperator):
    """Move a pipeline with its whole state to another control plane, and wait until it runs there.

    The pipeline stops here and continues there, at the same epoch and with the ledgers of its sinks: no row is lost or
    written twice. Both control planes are checked before anything stops. If a step before the release is refused, the
    pipeline returns and runs here again. A retry continues at the current step.

    The task waits on a worker, because it uses two control planes.

    :param pipeline: name or id of the pipeline (templated).
    :param to_conn_id: the connection, of type `arroyo`, to the other control plane; it cannot be embedded, since the
        address of those changes (templated).
    :param via: a location for the state that both control planes reach: `file:///folder` or `s3://bucket/prefix`
        (templated).
    :param secrets: the values of the script's secrets, as in `StreamingSqlOperator`: control planes do not show stored
        secrets.
    """

    template_fields: Sequence[str] = (*PipelineOperator.template_fields, "to_conn_id", "via")

    def __init__(
        self,
        *,
        pipeline: str,
        to_conn_id: str,
        via: str,
        secrets: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(pipeline=pipeline, deferrable=False, **kwargs)
        secret_sources.read_sources(secrets or {})
        self.to_conn_id = to_conn_id
        self.via = via
        self.secrets = secrets

    @cached_property
    def hook_there(self) -> ArroyoHook:
        """The way to the control plane that it goes to; made when the task runs."""
        return ArroyoHook(self.to_conn_id)

    def execute(self, context: Context) -> dict[str, Any]:
        """Continue the move from its current step, until the pipeline runs there."""
        if self.hook_there.is_embedded:
            raise BadConnectionError(
                f"connection {self.to_conn_id!r} leads to an embedded control plane, whose address changes",
                hint="Start one with `arroyo serve`, and set the connection's host to its URL.",
            )
        deadline = None if self.wait_timeout is None else now() + self.wait_timeout
        pipeline = self.send(requests.get_pipeline(self.pipeline)).id
        self.note(context, pipeline)
        to = self.hook_there.get_conn().url
        departure = self._departure(pipeline)
        if departure is not None and departure.step != "over" and departure.to != to:
            raise MoveError(
                f"pipeline {departure.name} is being moved to {departure.to}",
                hint="Finish that, or take it back: `arroyo move --take-back`.",
            )
        if departure is None or departure.to != to:
            departure = self._begin(pipeline, to)
        try:
            departure = self._carry(departure, deadline)
        except (RefusedError, MoveError, SecretError) as error:
            self._take_back(pipeline, error)
            raise
        return self._start(context, departure, deadline)

    def _begin(self, pipeline: str, to: str) -> Departure:
        """Check the move at both control planes, then request the stop."""
        shown = self.send(moves.begin_departure(pipeline, to, self.via, dry_run=True))
        welcome = self._send_there(moves.would_welcome(self._introduced(shown)))
        self.log.info("%s goes to %s, and writes there: %s", shown.name, to, ", ".join(welcome.targets) or "nothing")
        return self.send(moves.begin_departure(pipeline, to, self.via))

    def _carry(self, departure: Departure, deadline: datetime | None) -> Departure:
        """Import the pipeline there without starting it, and release it here."""
        name = departure.name
        if departure.step == "leaving":
            departure = self._until(lambda: self._exported(departure), f"the export of {name}", deadline)
            self.log.info("the state of %s is at %s", name, departure.place)
        if departure.step == "exported":
            self._until(lambda: self._arrived(departure), f"the import of {name}", deadline)
            departure = self.send(moves.go_on(departure.pipeline_id, "release"))
            self.log.info("%s is at %s, and runs here no more", name, departure.to)
        return departure

    def _start(self, context: Context, departure: Departure, deadline: datetime | None) -> dict[str, Any]:
        pipeline, name = departure.pipeline_id, departure.name
        if departure.step != "over":
            start = moves.start_arrived(pipeline, departure.key)
            self._send_there(start.asked_by(lineage.asking_run(context["ti"])))
            self._until(lambda: self._up(departure), f"the start of {name}", deadline)
            departure = self.send(moves.go_on(pipeline, "over"))
        self.log.info("%s has moved to %s", name, departure.to)
        state = self._send_there(requests.get_pipeline(pipeline)).state
        return {"pipeline_id": pipeline, "name": name, "to": departure.to, "state": str(state)}

    def _exported(self, departure: Departure) -> Departure | None:
        """Return the departure once its state is copied; raise if the move has ended otherwise."""
        shown = self.send(requests.get_pipeline(departure.pipeline_id))
        if shown.state in (JobState.FAILED, JobState.FINISHED):
            raise MoveError(f"pipeline {shown.name} is {shown.state} and not stopped", hint="See its events.")
        seen = self.send(moves.go_on(departure.pipeline_id, "export"))
        if seen.step != "leaving":
            return seen
        _check(seen.task, "the export")
        return None

    def _arrived(self, departure: Departure) -> Arrival | None:
        """Return the arrival once its state is imported."""
        seen = self._send_there(moves.arrive(self._introduced(departure)))
        if seen.step is not None:
            return seen
        _check(seen.task, "the import")
        return None

    def _up(self, departure: Departure) -> Arrival | None:
        """Return the arrival once it runs, or is stopped as before; a job that fails at its start is left for a person
        to inspect."""
        seen = self._send_there(moves.get_arrival(departure.pipeline_id))
        if seen.state == JobState.FAILED:
            raise JobEndedError(
                f"pipeline {departure.name} fails at {departure.to}",
                code="pipeline.failed",
                hint="See its events there; a retry finishes the move, `arroyo move --take-back` lets it go on here.",
            )
        return seen if seen.is_up else None

    def _take_back(self, pipeline: str, error: ArroyoError) -> None:
        """Undo the move, unless the pipeline was already given away; log what prevents that."""
        try:
            departure = self._departure(pipeline)
            if departure is None or departure.step not in ("leaving", "exported"):
                return
            self.log.warning("%s stays here: %s", departure.name, error)
            if departure.step == "exported":
                self._until(lambda: self._sent_back(pipeline), "the way back", now() + _WAY_BACK)
            self.send(moves.stay(pipeline))
        except ArroyoError as other:
            self.log.warning("it stands, and a retry goes on; `arroyo move --take-back` lets it run here: %s", other)

    def _sent_back(self, pipeline: str) -> bool:
        self._send_there(moves.send_back(pipeline))
        return True

    def _departure(self, pipeline: str) -> Departure | None:
        known = self.send(moves.list_departures(pipeline))
        return known[0] if known else None

    def _introduced(self, departure: Departure) -> dict[str, Any]:
        origin, secrets = self.hook.get_conn().url, secret_sources.resolve(self.secrets or {})
        return {"passport": departure.passport, "place": departure.place, "origin": origin, "secrets": secrets}

    def _send_there(self, call: ApiCall[T]) -> T:
        outcome = self.hook_there.run(ask_until_answered(call, now), self._pause)
        self._raise_if_killed()
        return outcome

    def _until(self, look: Callable[[], T | None], what: str, deadline: datetime | None) -> T:
        """Poll until there is a result; retry while the control plane is busy."""
        while True:
            try:
                seen = look()
            except RefusedError as error:
                if error.code != BUSY:
                    raise
                seen = None
            if seen is not None:
                return seen
            if deadline is not None and now() >= deadline:
                raise DeadlineError(f"{what} is not over in time; a retry goes on with it")
            self._pause(timedelta(seconds=self.poll_interval))


def _check(task: MoveTask | None, what: str) -> None:
    """Raise MoveError if a task of a control plane has failed."""
    if task is not None and task.state == "failed":
        raise MoveError(f"{what} has failed: {task.message}")
