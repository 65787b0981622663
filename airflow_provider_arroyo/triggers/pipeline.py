"""Trigger of every deferred task of this provider."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_arroyo import conditions, events
from airflow_provider_arroyo.conditions import Wait
from airflow_provider_arroyo.control_plane import name_of
from airflow_provider_arroyo.errors import ArroyoError
from airflow_provider_arroyo.events import Event, broken
from airflow_provider_arroyo.hooks.arroyo import ArroyoHook
from airflow_provider_arroyo.protocols import OnKill, carry_out


class PipelineTrigger(BaseTrigger):
    """Waits for a condition of a pipeline; outages of the control plane and restarts of the triggerer do not matter.

    :param arroyo_conn_id: the connection; secrets stay in it.
    :param wait: the condition, as serialised by `conditions.to_json`.
    :param deadline: when to give up, as an ISO instant. It is absolute, so a restarted triggerer keeps it.
    :param poll_seconds: interval of polling.
    :param awaited: ids of the awaited pipelines that were read before, by name: others of these names are not awaited.
    :param on_kill: the action when a user ends the task: `detach`, `stop` or `savepoint_and_stop`.
    """

    def __init__(
        self,
        arroyo_conn_id: str,
        wait: dict[str, Any],
        deadline: str | None = None,
        poll_seconds: float = 5.0,
        on_kill: OnKill = "detach",
        awaited: dict[str, str] | None = None,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Airflow leaves it untyped
        self.arroyo_conn_id = arroyo_conn_id
        self.wait = wait
        self.deadline = deadline
        self.poll_seconds = poll_seconds
        self.kill_action = on_kill
        self.awaited = awaited

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the arguments that recreate the trigger."""
        return f"{type(self).__module__}.{type(self).__qualname__}", {
            "arroyo_conn_id": self.arroyo_conn_id,
            "wait": self.wait,
            "deadline": self.deadline,
            "poll_seconds": self.poll_seconds,
            "on_kill": self.kill_action,
            "awaited": self.awaited,
        }

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Yield one event, whatever happens."""
        event = events.to_json(await self._watch(conditions.from_json(self.wait)))
        yield TriggerEvent(event)  # type: ignore[no-untyped-call]  # Airflow leaves it untyped

    async def on_kill(self) -> None:
        """Apply the task's `on_kill` action to the pipeline, since a user has ended the task."""
        pipeline = conditions.from_json(self.wait).pipeline
        await self._hook.arun(carry_out(self.kill_action, pipeline, f"kill-{self.trigger_id}"))

    async def _watch(self, wait: Wait) -> Event:
        deadline = datetime.fromisoformat(self.deadline) if self.deadline else None
        poll = timedelta(seconds=self.poll_seconds)
        try:
            return await self._hook.await_event(wait, deadline=deadline, poll=poll, awaited=self.awaited)
        except ArroyoError as error:
            return broken(wait.pipeline, error)

    @property
    def _hook(self) -> ArroyoHook:
        task = self.task_instance
        return ArroyoHook(self.arroyo_conn_id, None if task is None else name_of(task))
