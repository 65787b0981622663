"""Report of a pipeline's state for notifications, since the state of a task does not show the state of the stream.

orders is Failed        data.source_refused: the broker refuses the password        a mistake: needs a fix
orders is Running       0:12:30 behind, complete until 05:00                        nothing lost: epoch 41 is stored
orders is Running       a minute behind                                             state.given_up: version 1, epoch 40
no response             unknown, with default values
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from airflow_provider_arroyo import events as job_ends
from airflow_provider_arroyo import requests, watermarks
from airflow_provider_arroyo.errors import ArroyoError
from airflow_provider_arroyo.protocols import Clock, Conversation, ask
from airflow_provider_arroyo.responses import Job, JobState, Pipeline, PipelineEvent
from airflow_provider_arroyo.watermarks import Watermark

LOSSES = frozenset({"state.given_up", "state.taken_back", "state.loss_accepted", "gate.voided"})
"""Event codes about the loss of a state, or of a state that a run has relied on."""
_ABOUT_STATE = ("state.", "delivery.ledger_")
"""Prefixes of failure codes about the state itself."""
_CAUSES = {"outage": "retried until it ends", "mistake": "needs a fix"}


@dataclass(frozen=True, slots=True)
class Report:
    """Report of one pipeline. `unknown` is the reason if there is no data; then all other fields have their
    defaults."""

    pipeline: str
    """Its name, or the requested name."""
    url: str | None = None
    """Its page in the web UI."""
    state: JobState | None = None
    code: str | None = None
    """Code of the failure; while the pipeline is running, of the last failure after which it was restarted."""
    message: str | None = None
    hint: str | None = None
    cause: str | None = None
    """Cause of the failure: `outage`, `mistake` or `unknown`."""
    restarts: int = 0
    """Number of consecutive restarts."""
    epoch: int | None = None
    watermark: datetime | None = None
    complete_until: datetime | None = None
    """Completeness of all its sinks; None if that of one of them is unknown."""
    lag: timedelta | None = None
    """Distance of its watermark from the clock."""
    losses: tuple[PipelineEvent, ...] = ()
    """Losses of its state since the given instant, newest first."""
    unknown: str | None = None

    @property
    def has_failed(self) -> bool:
        """Whether it stays down without another request."""
        return self.state is JobState.FAILED

    @property
    def headline(self) -> str:
        """Return the most important fact, in a line."""
        if self.unknown is not None:
            return f"pipeline {self.pipeline}: nothing is known of it"
        words = [f"pipeline {self.pipeline} is {self.state}"]
        if self.code is not None:
            words.append(f"({self.code})" if self.has_failed else f"after {self.code}")
        if self.lag is not None and not self.has_failed:
            words.append(f"and {_whole(self.lag)} behind")
        return " ".join(words) + (", its state is not what it was" if self.losses else "")

    @property
    def why(self) -> str | None:
        """The failure in the job's own words, and what is behind it; None where there is none."""
        if self.message is None:
            return self.code
        behind = "" if self.cause is None else f" ({self.cause}: {_CAUSES.get(self.cause, 'tried again some times')})"
        return f"{self.code}: {self.message}{behind}"

    @property
    def state_kept(self) -> str:
        """Whether state was lost, as far as that is known."""
        if self.unknown is not None:
            return "unknown"
        if self.losses:
            return "; ".join(f"{event.code}: {event.message}" for event in self.losses)
        if self.has_failed and self.code is not None and self.code.startswith(_ABOUT_STATE):
            return f"in doubt: the failure is about it ({self.code})"
        return "nothing was committed yet" if self.epoch is None else f"kept up to epoch {self.epoch}"

    @property
    def progress(self) -> str:
        """Describe how far the pipeline is."""
        if self.unknown is not None:
            return "unknown"
        behind = "its lag is not known" if self.lag is None else f"{_whole(self.lag)} behind"
        if self.complete_until is None:
            return f"{behind}; up to where its output is complete is not known"
        return f"{behind}; its output is complete until {self.complete_until.isoformat(timespec='seconds')}"


def report_on(pipeline: str, since: datetime, now: Clock) -> Conversation[Report]:
    """Read the state of a pipeline once. This never raises: an unreachable or refusing control plane is part of the
    report. Losses are those `since` an instant."""
    try:
        known = yield from ask(requests.get_pipeline(pipeline))
        job = yield from job_ends.newest_job(known)
        progress = yield from ask(watermarks.get_watermark(known.id))
        events = yield from ask(requests.list_events(known.id, since=since, severity="warn"))
    except ArroyoError as error:
        return Report(pipeline, unknown=str(error))
    losses = tuple(event for event in events if event.code in LOSSES)
    return replace(_facts(known, job, progress, now()), losses=losses)


def _facts(pipeline: Pipeline, job: Job | None, progress: Watermark, at: datetime) -> Report:
    report = Report(
        pipeline.name,
        state=pipeline.state,
        epoch=progress.epoch,
        watermark=progress.watermark,
        complete_until=_least([sink.complete_until for sink in progress.sinks.values()]),
        lag=None if progress.watermark is None or pipeline.state is JobState.FINISHED else at - progress.watermark,
    )
    if job is None:
        return report
    report = replace(report, restarts=job.restarts)
    is_down = pipeline.state in (JobState.FAILED, JobState.RECOVERING)
    if is_down and job.failure_code is not None:
        return replace(
            report,
            code=job.failure_code,
            message=job.failure_message,
            hint=job.failure_hint,
            cause=job.failure_cause,
        )
    return replace(report, code=job.restart_code) if job.restarts else report


def _least(instants: Sequence[datetime | None]) -> datetime | None:
    known = [instant for instant in instants if instant is not None]
    return min(known) if known and len(known) == len(instants) else None


def _whole(length: timedelta) -> timedelta:
    """Return whole seconds, which are precise enough for readers."""
    return timedelta(seconds=int(length.total_seconds()))
