"""Base class of the operators: a pipeline, how to wait for it, and what to do when the task is killed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from airflow.sdk import BaseOperator

from airflow_provider_arroyo import conditions, events, lineage
from airflow_provider_arroyo.airflow_versions import conf
from airflow_provider_arroyo.conditions import Wait
from airflow_provider_arroyo.durations import to_duration, to_optional_duration
from airflow_provider_arroyo.endpoint import Endpoint
from airflow_provider_arroyo.errors import DetachedError
from airflow_provider_arroyo.events import Reached, settle
from airflow_provider_arroyo.hooks.arroyo import ArroyoHook
from airflow_provider_arroyo.links import PipelineLink, note_link
from airflow_provider_arroyo.protocols import Conversation, OnKill, ask_until_answered
from airflow_provider_arroyo.requests import ApiCall
from airflow_provider_arroyo.triggers.pipeline import PipelineTrigger

if TYPE_CHECKING:
    from airflow.sdk import Context

T = TypeVar("T")

SHORT_HOLD = timedelta(seconds=5)
"""How long a request may be held while a worker waits: a worker that is asked to end must notice it soon."""


def now() -> datetime:
    """Return the current time, aware."""
    return datetime.now(UTC)


class PipelineOperator(BaseOperator):
    """Changes one pipeline, and waits for it on a worker or in the triggerer.

    :param pipeline: name or id of the pipeline (templated).
    :param arroyo_conn_id: the connection, of type `arroyo` (templated).
    :param deferrable: wait in the triggerer; by default `[operators] default_deferrable`.
    :param wait_timeout: the longest wait, as a timedelta or in seconds, 30 minutes by default; None waits forever. A
        wait is never longer than the task's `execution_timeout`, which Airflow does not apply while a task is deferred.
    :param poll_interval: interval of polling, in seconds or as a timedelta.
    """

    template_fields: Sequence[str] = ("pipeline", "arroyo_conn_id")
    operator_extra_links = (PipelineLink(),)
    ui_color = "#d7ecdf"
    kill_action: OnKill = "detach"

    def __init__(
        self,
        *,
        pipeline: str,
        arroyo_conn_id: str = ArroyoHook.default_conn_name,
        deferrable: bool | None = None,
        wait_timeout: timedelta | float | None = timedelta(minutes=30),
        poll_interval: timedelta | float = 5.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.pipeline = pipeline
        self.arroyo_conn_id = arroyo_conn_id
        self.deferrable = (
            conf.getboolean("operators", "default_deferrable", fallback=False) if deferrable is None else deferrable
        )
        self.wait_timeout = to_optional_duration(wait_timeout, "wait_timeout")
        self.poll_interval = to_duration(poll_interval, "poll_interval").total_seconds()
        self._killed = False
        self._endpoint: Endpoint | None = None

    @cached_property
    def hook(self) -> ArroyoHook:
        """The way to the control plane; made when the task runs."""
        return ArroyoHook(self.arroyo_conn_id)

    def send(self, call: ApiCall[T]) -> T:
        """Send an idempotent request, and retry while the control plane is unreachable."""
        return self.hold(ask_until_answered(call, now))

    def ask(self, context: Context, call: ApiCall[T]) -> T:
        """Send a request that starts runs of a pipeline; OpenLineage records this task as their parent."""
        return self.send(call.asked_by(lineage.asking_run(context["ti"])))

    def hold(self, conversation: Conversation[T]) -> T:
        """Run a protocol with the control plane; it ends early if Airflow ends the task."""
        outcome = self.hook.run(conversation, self._pause)
        self._raise_if_killed()
        return outcome

    def note(self, context: Context, pipeline: str) -> None:
        """Publish the pipeline's page, before any waiting."""
        self._endpoint = self.hook.get_conn()
        context["ti"].xcom_push(key="pipeline_id", value=pipeline)
        note_link(context, self._endpoint.url, self.arroyo_conn_id, pipeline)

    def wait(self, wait: Wait, resume: str) -> Reached:
        """Wait for the condition. In deferrable mode this does not return: the task continues in the method
        `resume`."""
        return self.wait_until(self.deadline(), wait, resume)

    def deadline(self) -> datetime | None:
        """Return the deadline of a wait that begins now."""
        limits = [limit for limit in (self.wait_timeout, self.execution_timeout) if limit is not None]
        return now() + min(limits) if limits else None

    def wait_until(self, deadline: datetime | None, wait: Wait, resume: str, /, **kwargs: Any) -> Reached:
        """Wait until an instant; `resume` also gets `kwargs`."""
        self.log.info("Waiting for %s", conditions.describe(wait))
        if self.deferrable:
            self._defer(wait, deadline, resume, kwargs)
        from airflow_provider_arroyo import polling  # noqa: PLC0415 - no DAG file looks, and it brings most requests

        poll = timedelta(seconds=self.poll_interval)
        return settle(self.hold(polling.watch(wait, now=now, deadline=deadline, poll=poll, hold=SHORT_HOLD)))

    def sources_of(self, udfs: Sequence[str] | None) -> tuple[str, ...] | None:
        """Return the sources of Python functions: each is given directly, or is in a file next to the DAG. None stays
        None."""
        if udfs is None:
            return None
        return tuple((Path(self.dag.folder) / udf).read_text() if is_file(udf) else udf for udf in udfs)

    def on_kill(self) -> None:
        """Record that the task is to end, because of a user or its worker; the pipeline continues."""
        self._killed = True

    def _defer(self, wait: Wait, deadline: datetime | None, resume: str, kwargs: dict[str, Any]) -> NoReturn:
        trigger = PipelineTrigger(
            arroyo_conn_id=self.arroyo_conn_id,
            wait=conditions.to_json(wait),
            deadline=None if deadline is None else deadline.isoformat(),
            poll_seconds=self.poll_interval,
            on_kill=self.kill_action,
        )
        self.defer(trigger=trigger, method_name=resume, kwargs=kwargs or None)
        raise AssertionError("defer does not return")

    def _pause(self, length: timedelta) -> None:
        """Sleep in short pieces: Python continues to sleep after `on_kill`, which a signal handler calls."""
        end = time.monotonic() + length.total_seconds()
        while (remaining := end - time.monotonic()) > 0:
            self._raise_if_killed()
            time.sleep(min(remaining, 0.5))
        self._raise_if_killed()

    def _raise_if_killed(self) -> None:
        if self._killed:
            raise DetachedError(
                f"the task was stopped while it waited; the request to pipeline {self.pipeline} stays in force"
            )


def is_file(udf: str) -> bool:
    """Whether a text is the name of a file with Python functions instead of their source."""
    return udf.endswith(".py") and "\n" not in udf


def reached(event: object) -> Reached:
    """Return a successful event from the trigger; raise any other."""
    return settle(events.from_json(event))
