"""Connections to the control plane: the two ways to send a request, blocking and in an event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Self, TypeVar
from urllib.parse import quote

import httpx

from airflow_provider_arroyo import __version__
from airflow_provider_arroyo.calls import ApiCall, AskingRun, refusal
from airflow_provider_arroyo.errors import BadAnswerError, UnreachableError

T = TypeVar("T")

ANSWER_TIME = timedelta(seconds=20)
"""How long an answer may take beyond what the request allows. A control plane that shares two busy cores
with Spark drivers has been seen to take several seconds."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a control plane listens, and the token it wants; the token is never printed."""

    url: str
    token: str | None = field(default=None, repr=False)
    verify: bool | str = True

    @property
    def is_encrypted(self) -> bool:
        """Whether TLS is spoken there; a scheme may be written in capitals, too."""
        return self.url.lower().startswith("https:")

    def settings(self) -> dict[str, Any]:
        """Return the arguments of an httpx client. The environment's proxies do not apply to a control plane on this
        machine."""
        headers = {"User-Agent": f"airflow-provider-arroyo/{__version__}"}
        headers |= {"Authorization": f"Bearer {self.token}"} if self.token else {}
        # reading the certificate store takes 20 ms that http need not pay
        verify = self.verify if self.is_encrypted else False
        base_url = f"{self.url.rstrip('/')}/api/v1"
        return {"base_url": base_url, "headers": headers, "verify": verify, "trust_env": self.is_encrypted}


def request(call: ApiCall[Any], answer_time: timedelta = ANSWER_TIME) -> dict[str, Any]:
    """The call as httpx takes it."""
    headers = {"Idempotency-Key": call.key} if call.key else {}
    headers |= {} if call.asking_run is None else _named(call.asking_run)
    seconds = answer_time.total_seconds()
    timeout = httpx.Timeout(seconds + call.hold.total_seconds(), connect=min(10, seconds))
    parts: dict[str, Any] = {"method": call.method, "url": call.path, "headers": headers, "timeout": timeout}
    return {**parts, "params": dict(call.query)} | ({} if call.body is None else {"json": call.body})


def _named(asking: AskingRun) -> dict[str, str]:
    runs = {"OpenLineage-Parent": asking.run, "OpenLineage-Root": asking.root}
    return {header: quote(run, safe="/:") for header, run in runs.items() if run is not None}


def answer(call: ApiCall[T], response: httpx.Response) -> T:
    """Parse the response; anything but a success is an error."""
    try:
        body: object = response.json() if response.content else None
    except ValueError:
        body = None
        if response.is_success:
            raise BadAnswerError(f"{call.method} {call.path}: the answer is not JSON") from None
    if not response.is_success:
        raise refusal(response.status_code, body)
    return call.answer(body)


def unreachable(call: ApiCall[Any], error: httpx.TransportError) -> UnreachableError:
    """The error for a request that was sent and has got no answer."""
    url = error.request.url  # its `netloc` is without a user and a password
    return UnreachableError(
        f"no control plane answers at {url.scheme}://{url.netloc.decode()}: {call.method} {call.path}: "
        f"{type(error).__name__}: {error}",
        hint="See that it runs, and that the host of the connection is its URL.",
    )


class ControlPlaneConnection:
    """A blocking connection. After a failure the address is looked up anew: an embedded server may have moved."""

    def __init__(self, find_endpoint: Callable[[], Endpoint], answer_time: timedelta = ANSWER_TIME) -> None:
        self._find_endpoint = find_endpoint
        self._answer_time = answer_time
        self._client: httpx.Client | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._disconnect()

    def send(self, call: ApiCall[T]) -> T:
        """Send and wait for the answer."""
        if self._client is None:
            self._client = httpx.Client(**self._find_endpoint().settings())
        try:
            response = self._client.request(**request(call, self._answer_time))
        except httpx.TransportError as error:
            self._disconnect()
            raise unreachable(call, error) from error
        return answer(call, response)

    def _disconnect(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


class AsyncControlPlaneConnection:
    """The same in an event loop."""

    def __init__(self, find_endpoint: Callable[[], Awaitable[Endpoint]]) -> None:
        self._find_endpoint = find_endpoint
        self._client: httpx.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._disconnect()

    async def send(self, call: ApiCall[T]) -> T:
        """Send and wait for the answer."""
        if self._client is None:
            self._client = httpx.AsyncClient(**(await self._find_endpoint()).settings())
        try:
            response = await self._client.request(**request(call))
        except httpx.TransportError as error:
            await self._disconnect()
            raise unreachable(call, error) from error
        return answer(call, response)

    async def _disconnect(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None
