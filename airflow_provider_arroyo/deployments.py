"""Letting a pipeline be as a task wishes, on whichever try of the task this is."""

from __future__ import annotations

from dataclasses import dataclass, replace

from airflow_provider_arroyo import calls
from airflow_provider_arroyo.answers import Pipeline
from airflow_provider_arroyo.calls import Spec
from airflow_provider_arroyo.conversations import Backoff, Clock, Talk, ask, insist
from airflow_provider_arroyo.errors import ArroyoError, RefusedError
from airflow_provider_arroyo.identity import Remembered
from airflow_provider_arroyo.states import JobState


@dataclass(frozen=True, slots=True)
class Wish:
    """What a task wishes. The digest and the key are the same for every try."""

    name: str
    spec: Spec
    digest: str
    key: str
    force: bool = False


_MOST_LOST_RESTARTS = 5


@dataclass(frozen=True, slots=True)
class Submit:
    """Deploy; the control plane sees to it that it happens once."""


@dataclass(frozen=True, slots=True)
class Attach:
    """An earlier try has deployed this: wait for it."""


@dataclass(frozen=True, slots=True)
class Restart:
    """An earlier try has deployed this and it has failed since: go on from its checkpoint."""


Step = Submit | Attach | Restart


def decide(remembered: Remembered | None, digest: str, found: Pipeline | None) -> Step:
    """What a try of the task has to do, given what an earlier one has left and what there is now."""
    if remembered is None or remembered.digest != digest or found is None:
        return Submit()
    match found.state:
        case JobState.FAILED:
            return Restart()
        case JobState.STOPPED:
            return Submit()
    return Attach()


@dataclass(frozen=True, slots=True)
class Deployed:
    """A pipeline after a deployment, with the state and the run that it must leave first. Both None: it need not."""

    pipeline: Pipeline
    before: JobState | None = None
    after_run: int | None = None


def deploy(wish: Wish, remembered: Remembered | None, now: Clock) -> Talk[Deployed]:
    """Let the pipeline be as wished, and say what to wait for."""
    found = yield from _find(remembered.pipeline if remembered else wish.name, now)
    match decide(remembered, wish.digest, found):
        case Attach() if found is not None and remembered is not None:
            before = None if remembered.before is None else JobState(remembered.before)
            return Deployed(found, before, remembered.run)
        case Restart() if found is not None:
            return (yield from _restart(found, now))
    return (yield from _submit(wish, found, now))


def newest_run(pipeline: str, now: Clock) -> Talk[int | None]:
    """The number of the newest run of a pipeline; None when it has no job."""
    jobs = yield from insist(calls.list_jobs(pipeline), now)
    return max((job.run_id for job in jobs), default=None)


def _find(pipeline: str, now: Clock) -> Talk[Pipeline | None]:
    """The pipeline, or None when there is none, or none any more."""
    try:
        return (yield from insist(calls.get_pipeline(pipeline), now))
    except RefusedError as error:
        if error.status == 404:
            return None
        raise


def _submit(wish: Wish, found: Pipeline | None, now: Clock) -> Talk[Deployed]:
    """Deploy; the control plane sees to it that it happens once."""
    if found is None:
        return Deployed((yield from insist(calls.deploy(wish.name, wish.spec, key=wish.key, force=wish.force), now)))
    run = yield from newest_run(found.id, now)
    spec = wish.spec if wish.spec.parallelism is not None else replace(wish.spec, parallelism=found.parallelism)
    pipeline = yield from insist(calls.deploy(wish.name, spec, key=wish.key, force=wish.force), now)
    was_down = found.state in (JobState.FAILED, JobState.STOPPED)
    if was_down or (pipeline.version, pipeline.parallelism) != (found.version, found.parallelism):
        return Deployed(pipeline, found.state, run)
    return Deployed(pipeline)


def _restart(failed: Pipeline, now: Clock) -> Talk[Deployed]:
    """Start it again. When the answer is lost, look before asking again: a running job would be started anew."""
    run = yield from newest_run(failed.id, now)
    pipeline = failed
    failures = 0
    while pipeline.state is JobState.FAILED and (yield from newest_run(failed.id, now)) == run:
        try:
            yield from ask(calls.restart_pipeline(failed.id))
            break
        except ArroyoError as error:
            failures += 1
            if not error.retryable or failures > _MOST_LOST_RESTARTS:
                raise
        yield Backoff().pause(failures)
        pipeline = yield from insist(calls.get_pipeline(failed.id), now)
    return Deployed(pipeline, JobState.FAILED, run)
