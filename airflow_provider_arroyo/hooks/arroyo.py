"""Hook: from an Airflow connection to a control plane."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from airflow.configuration import AIRFLOW_HOME
from airflow.sdk.bases.hook import BaseHook
from airflow.sdk.log import mask_secret

from airflow_provider_arroyo import control_plane, protocols, requests
from airflow_provider_arroyo.airflow_versions import AirflowNotFoundException, amask_secret
from airflow_provider_arroyo.control_plane import AsyncControlPlaneConnection, ControlPlaneConnection
from airflow_provider_arroyo.embedded import start_or_adopt
from airflow_provider_arroyo.endpoint import Address, Endpoint, endpoint_of
from airflow_provider_arroyo.errors import ArroyoError, BadConnectionError
from airflow_provider_arroyo.protocols import Conversation, ask
from airflow_provider_arroyo.responses import JobState, Pipeline

if TYPE_CHECKING:
    from airflow.sdk import Connection

    from airflow_provider_arroyo.change_stream import Limits, SharedConnection
    from airflow_provider_arroyo.conditions import Wait
    from airflow_provider_arroyo.events import Event

T = TypeVar("T")

HOLD = timedelta(seconds=30)
"""How long one request may be held. Proxies often close a connection that is silent for a minute."""


_EXPLAINED = {
    JobState.SCHEDULING: ": its driver starts Spark, which takes some seconds",
    JobState.RECOVERING: ": it restarts from its last checkpoint",
}


def _sleep(length: timedelta) -> None:
    time.sleep(length.total_seconds())


async def _asleep(length: timedelta) -> None:
    await asyncio.sleep(length.total_seconds())


class ArroyoHook(BaseHook):
    """Connects to the control plane of a connection.

    The connection's host is a full URL, or host, port and scheme (`schema`) are separate; its password is the token.
    With `embedded` in its extra, the hook uses the control plane of `data_dir` on this machine, and starts it if
    necessary.

    :param arroyo_conn_id: the connection, of type `arroyo`.
    :param requested_by: the name of the requester in the control plane's events; by default the task that uses the
        hook.
    """

    conn_name_attr = "arroyo_conn_id"
    default_conn_name = "arroyo_default"
    conn_type = "arroyo"
    hook_name = "Arroyo"

    def __init__(self, arroyo_conn_id: str = default_conn_name, requested_by: str | None = None) -> None:
        super().__init__()
        self.arroyo_conn_id = arroyo_conn_id
        self._requested_by = requested_by
        self._states: dict[str, JobState] = {}

    @property
    def requested_by(self) -> str | None:
        """Return the name of the task in whose name this hook requests changes."""
        return self._requested_by or control_plane.running_task()

    def get_conn(self) -> Endpoint:
        """Return the address and the token; an embedded control plane is running when this returns."""
        endpoint = to_endpoint(self.get_connection(self.arroyo_conn_id))
        if endpoint.token:
            mask_secret(endpoint.token)
        return endpoint

    @property
    def is_embedded(self) -> bool:
        """Whether the connection uses a control plane that is started on this machine if there is none."""
        return _is_true(self.get_connection(self.arroyo_conn_id).extra_dejson.get("embedded"))

    async def aget_conn(self) -> Endpoint:
        """Return the endpoint of the connection without blocking the event loop. In the triggerer an exception that is
        not ours would end the task without its reason."""
        try:
            connection = await self.aget_connection(self.arroyo_conn_id)
        except AirflowNotFoundException:
            raise BadConnectionError(
                f"there is no connection {self.arroyo_conn_id!r}",
                code="connection.unknown",
                hint=f"Create {self.arroyo_conn_id!r} below Admin, or set AIRFLOW_CONN_{self.arroyo_conn_id.upper()} "
                "for the triggerer, too.",
            ) from None
        endpoint = await asyncio.to_thread(to_endpoint, connection)
        if endpoint.token:
            await amask_secret(endpoint.token)
        return endpoint

    def run(self, conversation: Conversation[T], pause: Callable[[timedelta], None] = _sleep) -> T:
        """Run a protocol and return its result."""
        with ControlPlaneConnection(self.get_conn, requested_by=self.requested_by) as connection:
            return protocols.run(self._log_progress(conversation), connection.send, pause)

    async def arun(self, conversation: Conversation[T]) -> T:
        """Run a protocol in an event loop."""
        async with AsyncControlPlaneConnection(self.aget_conn, self.requested_by) as connection:
            return await protocols.arun(self._log_progress(conversation), connection.send, _asleep)

    async def await_event(
        self,
        wait: Wait,
        *,
        poll: timedelta,
        deadline: datetime | None = None,
        awaited: Mapping[str, str] | None = None,
    ) -> Event:
        """Wait in an event loop like `polling.watch`, with the connection that all waits of the process share."""
        from airflow_provider_arroyo import polling  # noqa: PLC0415 - no DAG file waits
        from airflow_provider_arroyo.change_stream import Limits  # noqa: PLC0415 - the same

        async with self.share(wait, Limits(poll, deadline)) as connection:
            hold = timedelta(0) if await connection.has_stream() else HOLD
            conversation = polling.watch(
                wait, now=protocols.utc_now, deadline=deadline, poll=poll, hold=hold, awaited=awaited
            )
            return await protocols.arun(self._log_progress(conversation), connection.send, connection.pause)

    def share(self, wait: Wait, limits: Limits) -> SharedConnection:
        """Return the shared connection of this process, for a wait that sends its requests itself."""
        from airflow_provider_arroyo.change_stream import SharedConnection  # noqa: PLC0415 - no DAG file waits

        return SharedConnection(self.aget_conn, wait, limits, _asleep, self.requested_by)

    def send(self, call: requests.ApiCall[T]) -> T:
        """Send one request."""
        return self.run(ask(call))

    def _log_progress(self, conversation: Conversation[T]) -> Conversation[T]:
        """Log each failed request that may be repeated, and each new state of a pipeline: they explain a wait."""
        step = protocols.resume(conversation, None)
        while not isinstance(step, protocols.Done):
            outcome: object
            try:
                outcome = yield step
            except ArroyoError as error:
                if error.retryable:
                    self.log.warning("The control plane did not answer; trying again: %s", error)
                outcome = error
            if isinstance(outcome, Pipeline) and self._states.get(outcome.id) is not outcome.state:
                self._states[outcome.id] = outcome.state
                self.log.info("Pipeline %s is %s%s", outcome.name, outcome.state, _EXPLAINED.get(outcome.state, ""))
            step = protocols.resume(conversation, outcome)
        return step.value

    def test_connection(self) -> tuple[bool, str]:
        """Whether the control plane answers and accepts the token."""
        try:
            server = self.send(requests.ping())
            self.send(requests.list_pipelines())
        except ArroyoError as error:
            return False, str(error)
        return True, f"control plane {server.version}, instance {server.instance}"


def to_endpoint(connection: Connection, embedded: Callable[[Path], Endpoint] | None = None) -> Endpoint:
    """Return the endpoint of the connection. Start an embedded control plane if needed, unless `embedded` finds it."""
    conn_id = connection.conn_id
    if connection.conn_type != ArroyoHook.conn_type:
        raise BadConnectionError(
            f"connection {conn_id!r} has the type {connection.conn_type!r}, not {ArroyoHook.conn_type!r}",
            code="connection.type",
            hint=f"Set the connection type of {conn_id!r} to {ArroyoHook.hook_name} (`arroyo`), its host to the "
            "control plane's URL and its password to the control plane's token.",
        )
    extra: dict[str, Any] = connection.extra_dejson
    if _is_true(extra.get("embedded")):
        data_dir = Path(str(extra.get("data_dir") or Path(AIRFLOW_HOME) / "arroyo")).expanduser()
        return replace((embedded or start_or_adopt)(data_dir.absolute()), conn_id=conn_id, is_embedded=True)
    address = Address(connection.host or "", connection.port, connection.schema or None)
    return endpoint_of(conn_id, address, connection.password, _verify(extra.get("verify", True)))


def _verify(value: object) -> bool | str:
    """Return true, false, or the path of a file with certificates."""
    if isinstance(value, str) and value.lower() not in {"true", "false", "1", "0", ""}:
        return value
    return value == "" or _is_true(value)


def _is_true(value: object) -> bool:
    return value is True or str(value).lower() in {"true", "1", "yes"}
