"""Connections to the control plane, blocking and in an event loop."""

from __future__ import annotations

import asyncio
import string
from collections.abc import Awaitable, Callable
from datetime import timedelta
from http import HTTPStatus
from typing import Any, Self, TypeVar
from urllib.parse import quote

import httpx

from airflow_provider_arroyo import connection_mistakes
from airflow_provider_arroyo.connection_mistakes import unanswered
from airflow_provider_arroyo.endpoint import Endpoint
from airflow_provider_arroyo.errors import RefusedError
from airflow_provider_arroyo.requests import ApiCall, AskingRun, refusal

T = TypeVar("T")

ANSWER_TIME = timedelta(seconds=20)
"""Response time in addition to the hold time. A control plane that shares two busy cores with Spark drivers took
several seconds."""


def request(
    call: ApiCall[Any], answer_time: timedelta = ANSWER_TIME, requested_by: str | None = None
) -> dict[str, Any]:
    """Return the call as an httpx request. A request for a change names the task that sends it."""
    headers = {"Idempotency-Key": call.key} if call.key else {}
    headers |= {HEADER: requested_by} if requested_by and call.method != "GET" else {}
    headers |= {} if call.asking_run is None else _named(call.asking_run)
    seconds = answer_time.total_seconds()
    timeout = httpx.Timeout(seconds + call.hold.total_seconds(), connect=min(10, seconds))
    parts: dict[str, Any] = {"method": call.method, "url": call.path, "headers": headers, "timeout": timeout}
    return {**parts, "params": dict(call.query)} | ({} if call.body is None else {"json": call.body})


def _named(asking: AskingRun) -> dict[str, str]:
    runs = {"OpenLineage-Parent": asking.run, "OpenLineage-Root": asking.root}
    return {header: quote(run, safe="/:") for header, run in runs.items() if run is not None}


def answer(call: ApiCall[T], response: httpx.Response, endpoint: Endpoint) -> T:
    """Parse the response; raise for anything but a success."""
    try:
        body: object = response.json() if response.content else None
    except ValueError:
        body = response.text
    if response.is_success and not isinstance(body, str):
        return call.answer(body)
    is_problem = isinstance(body, dict) and isinstance(body.get("code"), str)
    if not is_problem and not response.is_server_error and response.status_code != HTTPStatus.TOO_MANY_REQUESTS:
        raise connection_mistakes.other_server(endpoint, response.status_code)
    error = refusal(response.status_code, body)
    if isinstance(error, RefusedError) and error.code.startswith("auth."):
        raise connection_mistakes.login_refused(endpoint, error)
    raise error


class ControlPlaneConnection:
    """A blocking connection. After a failure the address is resolved again: an embedded server may have moved."""

    def __init__(
        self,
        find_endpoint: Callable[[], Endpoint],
        answer_time: timedelta = ANSWER_TIME,
        requested_by: str | None = None,
    ) -> None:
        self._find_endpoint = find_endpoint
        self._answer_time = answer_time
        self._requested_by = requested_by
        self._opened: tuple[Endpoint, httpx.Client] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._disconnect()

    def send(self, call: ApiCall[T]) -> T:
        """Send a request and wait for the answer."""
        endpoint, client = self._opened = self._opened or self._open()
        try:
            response = client.request(**request(call, self._answer_time, self._requested_by))
        except httpx.TransportError as error:
            self._disconnect()
            raise unanswered(call, endpoint, error) from error
        return answer(call, response, endpoint)

    def _open(self) -> tuple[Endpoint, httpx.Client]:
        endpoint = self._find_endpoint()
        return endpoint, endpoint.opened(httpx.Client)

    def _disconnect(self) -> None:
        if self._opened is not None:
            self._opened[1].close()
            self._opened = None


class AsyncControlPlaneConnection:
    """A connection in an event loop."""

    def __init__(self, find_endpoint: Callable[[], Awaitable[Endpoint]], requested_by: str | None = None) -> None:
        self._find_endpoint = find_endpoint
        self._requested_by = requested_by
        self._opened: tuple[Endpoint, httpx.AsyncClient] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._disconnect()

    async def send(self, call: ApiCall[T]) -> T:
        """Send a request and wait for the answer."""
        endpoint, client = self._opened = self._opened or await self._open()
        try:
            response = await client.request(**request(call, requested_by=self._requested_by))
        except httpx.TransportError as error:
            await self._disconnect()
            raise await asyncio.to_thread(unanswered, call, endpoint, error) from error
        return answer(call, response, endpoint)

    async def _open(self) -> tuple[Endpoint, httpx.AsyncClient]:
        endpoint = await self._find_endpoint()
        return endpoint, endpoint.opened(httpx.AsyncClient)

    async def _disconnect(self) -> None:
        if self._opened is not None:
            await self._opened[1].aclose()
            self._opened = None


HEADER = "X-Requested-By"
LONGEST = 300
_AS_IT_IS = "".join(sorted({*string.punctuation, " "} - {"%"}))


def name_of(task: Any) -> str:
    """Return `DAG/TASK/RUN` of a task instance, at most 300 characters of printable ASCII; others are
    percent-encoded."""
    name = quote(f"{task.dag_id}/{task.task_id}/{task.run_id}", safe=_AS_IT_IS)
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 3]}..."


def running_task() -> str | None:
    """Return the name of the task that runs this code; None outside of tasks."""
    from airflow.sdk import get_current_context  # noqa: PLC0415 - files with DAGs are read without it

    try:
        return name_of(get_current_context()["ti"])
    except (RuntimeError, KeyError, AttributeError):
        return None
