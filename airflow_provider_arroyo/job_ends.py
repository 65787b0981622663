"""Describe how a job has ended."""

from __future__ import annotations

from airflow_provider_arroyo import calls
from airflow_provider_arroyo.answers import Job, Pipeline
from airflow_provider_arroyo.conversations import Conversation, ask
from airflow_provider_arroyo.events import Ended
from airflow_provider_arroyo.states import JobState


def end_of(pipeline: Pipeline) -> Conversation[Ended]:
    """The end of a job, with the job's own words when it failed."""
    hint: str | None = None
    is_mistake = False
    match pipeline.state:
        case JobState.FAILED:
            job = yield from newest_job(pipeline)
            hint = job.failure_hint if job else None
            is_mistake = job is not None and job.failure_cause == "mistake"
            code = (job and job.failure_code) or "pipeline.failed"
            message = (job and job.failure_message) or "the job failed and did not say why"
        case JobState.FINISHED:
            code, message = "pipeline.finished", "its input has ended"
        case _:
            code, message = "pipeline.stopped", f"it was stopped by {pipeline.who_stopped_it}"
    return Ended(pipeline.id, pipeline.state, code, message, hint, is_mistake)


def newest_job(pipeline: Pipeline) -> Conversation[Job | None]:
    """The job that a pipeline has now; None before its first."""
    jobs = yield from ask(calls.list_jobs(pipeline.id))
    current = [job for job in jobs if job.id == pipeline.job_id]
    return max(current or jobs, key=lambda job: job.run_id, default=None)
