"""Trigger of sensors that start and end in the triggerer, without a worker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.listeners.listener import get_listener_manager
from airflow.sdk.execution_time.xcom import XCom
from airflow.triggers.base import BaseTrigger, TaskSuccessEvent, TriggerEvent

from airflow_provider_arroyo import conditions, events
from airflow_provider_arroyo.conditions import Wait
from airflow_provider_arroyo.errors import ArroyoError
from airflow_provider_arroyo.events import Event, Reached, broken
from airflow_provider_arroyo.hooks.arroyo import ArroyoHook
from airflow_provider_arroyo.links import link_of
from airflow_provider_arroyo.views import LINK_KEY, view_of

if TYPE_CHECKING:
    from airflow.sdk.definitions.context import Context
    from jinja2 import Environment


class SensorTrigger(BaseTrigger):
    """Waits for the condition of a sensor from its start on, and ends the task.

    Failures are raised on a worker, so that retries, callbacks and `soft_fail` work as usual. A retried or cleared task
    ends on a worker, too. Airflow stores the timeout with the task.

    :param arroyo_conn_id: the connection (templated).
    :param wait: the condition, as plain data (templated).
    :param poll_seconds: interval of polling.
    :param pushes: whether the result is an XCom. If not, nothing is stored before the task ends: Airflow's API, which
        stores results, needs some 70 MiB of a triggerer's memory.
    :param ends_here: whether the task may end in the triggerer.
    :param earlier: the condition of a trigger that was stored by version 0.1 of the provider.
    """

    def __init__(
        self,
        arroyo_conn_id: str,
        wait: dict[str, Any] | None = None,
        poll_seconds: float = 5.0,
        pushes: bool = True,
        ends_here: bool = True,
        **earlier: Any,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Airflow leaves it untyped
        self.arroyo_conn_id = arroyo_conn_id
        self.wait = _of_earlier(**earlier) if wait is None else wait
        self.poll_seconds = poll_seconds
        self.pushes = pushes
        self.ends_here = ends_here

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the arguments that recreate the trigger."""
        return f"{type(self).__module__}.{type(self).__qualname__}", {
            "arroyo_conn_id": self.arroyo_conn_id,
            "wait": self.wait,
            "poll_seconds": self.poll_seconds,
            "pushes": self.pushes,
            "ends_here": self.ends_here,
        }

    def render_template_fields(self, context: Context, jinja_env: Environment | None = None) -> None:
        """Render the condition, and release the DAG: Airflow decodes one for each trigger, and keeps it with the
        context during the wait. For 500 gates of 20 DAGs that is a tenth of a triggerer's memory."""
        self.template_fields = ("arroyo_conn_id", "wait")  # Airflow would take the names of the sensor's fields
        super().render_template_fields(context, jinja_env)
        context.clear()  # type: ignore[attr-defined]  # Airflow types it as if its keys were all there for ever
        task_instance: Any = self.task_instance
        task_instance.task = None

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Yield one event, whatever happens."""
        task: Any = self.task_instance
        try:
            wait = conditions.in_run(conditions.from_json(self.wait), task.dag_id, task.run_id)
        except ValueError:
            yield TriggerEvent(events.ON_WORKER)  # type: ignore[no-untyped-call]  # Airflow leaves it untyped
            return
        links = asyncio.create_task(self._note_links())
        try:
            event = await self._watch(wait)
            has_links = await links
        finally:
            links.cancel()
        # Airflow keeps the end of the try before where a triggerer ends a task: its duration would be negative
        can_end = self.ends_here and task.try_number <= 1
        if isinstance(event, Reached) and can_end and await self._can_end(event, has_links):
            yield TaskSuccessEvent(xcoms=None if self.pushes else {LINK_KEY: self._view})
        else:
            yield TriggerEvent(events.to_json(event))  # type: ignore[no-untyped-call]  # Airflow leaves it untyped

    async def _watch(self, wait: Wait) -> Event:
        poll = timedelta(seconds=self.poll_seconds)
        try:
            return await self._hook.await_event(wait, poll=poll)
        except ArroyoError as error:
            return broken(wait.pipeline, error)

    async def _note_links(self) -> bool:
        """Push the pipeline's page while waiting, so that the link works meanwhile; return whether that is done. Then
        only one result is left to be stored when the gate opens, since a triggerer stores one after the other; and the
        code that stores results is loaded, which takes a triggerer seconds once."""
        if not self.pushes:
            return False
        try:
            for key, value in (await self._links()).items():
                await _push(self.task_instance, key, value)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is tried again with the result
            self.log.info("The link to the pipeline cannot be stored yet: %s", error)
            return False
        return True

    async def _can_end(self, reached: Reached, has_links: bool) -> bool:
        """Push the results of a worker; return False if a worker is needed for that, and to end the task."""
        task: Any = self.task_instance
        if await asyncio.to_thread(_somebody_listens):
            return False
        if not self.pushes:
            return True
        result = {"return_value": events.summary(reached)}
        try:
            for key, value in (result if has_links else await self._links() | result).items():
                await _push(task, key, value)
        except Exception as error:  # noqa: BLE001 - whatever it is, a worker says so if it meets it too
            self.log.warning("A worker has to end %s, since its result could not be stored: %s", task.task_id, error)
            return False
        return True

    async def _links(self) -> dict[str, str]:
        """Return the links to the pipeline's page."""
        url = (await self._hook.aget_conn()).url
        return link_of(url, self.arroyo_conn_id, self.wait["pipeline"])

    @property
    def _view(self) -> str:
        """Return the path of the pipeline's page in Airflow. Links are parsed as JSON texts, too."""
        return view_of(self.arroyo_conn_id, self.wait["pipeline"])

    @property
    def _hook(self) -> ArroyoHook:
        return ArroyoHook(self.arroyo_conn_id)


def _of_earlier(sensor: str, **arguments: Any) -> dict[str, Any]:
    """Return the condition of a trigger of version 0.1, which has the sensor's name and arguments."""
    match sensor:
        case "lag":
            return {"kind": sensor, "pipeline": arguments.pop("pipeline"), "bounds": arguments}
        case "state":
            return {"kind": sensor, "pipeline": arguments["pipeline"], "goal": arguments["state"]}
        case _:
            return {"kind": sensor, **arguments}


async def _push(task: Any, key: str, value: Any) -> None:
    """Store an XCom like a worker does. Those of a `TaskSuccessEvent` are stored as JSON text."""
    await XCom.aset(key, value, dag_id=task.dag_id, task_id=task.task_id, run_id=task.run_id)


def _somebody_listens() -> bool:
    """Whether a plugin listens to the ends of tasks, which only a worker reports."""
    return bool(get_listener_manager().has_listeners)
