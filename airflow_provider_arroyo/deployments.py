"""Deploy the pipeline of a task, on any try of the task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from airflow_provider_arroyo import approval, requests
from airflow_provider_arroyo.approval import UpgradePlan
from airflow_provider_arroyo.errors import UNKNOWN_PIPELINE, ArroyoError, RefusedError, StoppedMeanwhileError
from airflow_provider_arroyo.identity import AskedChange
from airflow_provider_arroyo.protocols import Backoff, Clock, Conversation, ask, ask_until_answered
from airflow_provider_arroyo.requests import AskingRun, PipelineSpec, UpgradeWish
from airflow_provider_arroyo.responses import JobState, Pipeline


@dataclass(frozen=True, slots=True)
class DesiredPipeline:
    """Pipeline that a task deploys. Digest and key are the same for every try."""

    name: str
    spec: PipelineSpec
    digest: str
    key: str
    force: bool = False
    upgrade: UpgradeWish | None = None
    asking_run: AskingRun | None = None
    """The task's run in OpenLineage; each try has another one."""


_MOST_LOST_RESTARTS = 5


class Step(Enum):
    """Next step of a task's try."""

    SUBMIT = auto()
    """Deploy; the control plane does it only once."""
    ATTACH = auto()
    """An earlier try has deployed this: wait for it."""
    RESTART = auto()
    """An earlier try has deployed this, and it has failed since: restart it from its checkpoint."""
    REFRAIN = auto()
    """An earlier try has deployed this, and a user has stopped or deleted it since: leave it unchanged."""


def decide(earlier: AskedChange | None, desired: DesiredPipeline, pipeline: Pipeline | None) -> Step:
    """Decide what a try of the task does, given the record of an earlier try and the current pipeline."""
    if earlier is None or earlier.digest != desired.digest or earlier.key not in (None, desired.key):
        return Step.SUBMIT
    if pipeline is None or pipeline.stop != "none":
        return Step.REFRAIN
    return Step.RESTART if pipeline.state is JobState.FAILED else Step.ATTACH


@dataclass(frozen=True, slots=True)
class Deployed:
    """A deployed pipeline, and the state and run that it must leave before it counts as running; None if it need
    not."""

    pipeline: Pipeline
    before: JobState | None = None
    after_run: int | None = None


def deploy(desired: DesiredPipeline, earlier: AskedChange | None, now: Clock) -> Conversation[Deployed]:
    """Bring the pipeline to the desired state, and return what to wait for."""
    pipeline = yield from find(earlier.pipeline if earlier else desired.name, now)
    match decide(earlier, desired, pipeline):
        case Step.ATTACH if pipeline is not None and earlier is not None:
            before = None if earlier.before is None else JobState(earlier.before)
            return Deployed(pipeline, before, earlier.run)
        case Step.RESTART if pipeline is not None:
            return (yield from _restart(desired, pipeline, now))
        case Step.REFRAIN:
            raise _stopped_meanwhile(desired, pipeline)
    return (yield from _submit(desired, pipeline, now))


def shown_plan(
    pipeline: str, query: str, udfs: Sequence[str] | None, wish: UpgradeWish, now: Clock
) -> Conversation[UpgradePlan]:
    """Preview what a deployment of this script does to the pipeline's state."""
    if (yield from find(pipeline, now)) is None:
        return UpgradePlan(is_refused=False, loses_nothing=True, text=f"there is no pipeline {pipeline} yet")
    return (yield from ask_until_answered(approval.plan_upgrade(pipeline, query, udfs, wish), now))


def newest_run(pipeline: str, now: Clock) -> Conversation[int | None]:
    """Return the number of the newest run of a pipeline; None if it has no job."""
    jobs = yield from ask_until_answered(requests.list_jobs(pipeline), now)
    return max((job.run_id for job in jobs), default=None)


def find(pipeline: str, now: Clock) -> Conversation[Pipeline | None]:
    """Return the pipeline, or None if it does not exist."""
    try:
        return (yield from ask_until_answered(requests.get_pipeline(pipeline), now))
    except RefusedError as error:
        if error.code == UNKNOWN_PIPELINE:
            return None
        raise


def _submit(desired: DesiredPipeline, before: Pipeline | None, now: Clock) -> Conversation[Deployed]:
    """Deploy; the control plane ensures that this happens once."""
    run = None if before is None else (yield from newest_run(before.id, now))
    request = requests.deploy(desired.name, desired.spec, key=desired.key, force=desired.force, upgrade=desired.upgrade)
    pipeline = yield from ask_until_answered(request.asked_by(desired.asking_run), now)
    if before is None:
        return Deployed(pipeline)
    if before.stop != "none":
        # A deployment lets it run. If it is still to be stopped, the answer was that of an earlier try.
        pipeline = yield from ask_until_answered(requests.get_pipeline(before.id), now)
        if pipeline.stop != "none":
            raise _stopped_meanwhile(desired, pipeline)
    was_down = before.state in (JobState.FAILED, JobState.STOPPED)
    if was_down or (pipeline.version, pipeline.parallelism) != (before.version, before.parallelism):
        return Deployed(pipeline, before.state, run)
    return Deployed(pipeline)


def _stopped_meanwhile(desired: DesiredPipeline, pipeline: Pipeline | None) -> StoppedMeanwhileError:
    if pipeline is None:
        return StoppedMeanwhileError(
            f"pipeline {desired.name} was deleted after this task had deployed it", code=UNKNOWN_PIPELINE
        )
    return StoppedMeanwhileError(
        f"pipeline {pipeline.name} was stopped by {pipeline.who_stopped_it}, after this task had deployed it"
    )


def _restart(desired: DesiredPipeline, failed: Pipeline, now: Clock) -> Conversation[Deployed]:
    """Restart the pipeline. If the answer is lost, check before repeating the request: a running job would be restarted
    again."""
    run = yield from newest_run(failed.id, now)
    pipeline = failed
    failures = 0
    while pipeline.state is JobState.FAILED and (yield from newest_run(failed.id, now)) == run:
        try:
            request = requests.restart_pipeline(failed.id, key=f"{desired.key} restart {run}")
            yield from ask(request.asked_by(desired.asking_run))
            break
        except ArroyoError as error:
            failures += 1
            if not error.retryable or failures > _MOST_LOST_RESTARTS:
                raise
        yield Backoff().pause(failures)
        pipeline = yield from ask_until_answered(requests.get_pipeline(failed.id), now)
    return Deployed(pipeline, JobState.FAILED, run)
