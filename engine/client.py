"""A small client of the control plane, for the command line and for drivers. Standard library only, no proxies."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote, urlencode, urlsplit

from engine.errors import EngineError, UnreachableError

Json: TypeAlias = "None | bool | int | float | str | list[Json] | dict[str, Json]"
PREFIX = "/api/v1"


class RefusedError(EngineError):
    """The control plane refused a request; `problem_code` says why, `status` is HTTP's."""

    code = "server.refused"

    def __init__(self, status: int, problem: Mapping[str, Json]) -> None:
        hint = problem.get("hint")
        super().__init__(str(problem.get("detail") or f"status {status}"), hint=str(hint) if hint else None)
        self.status = status
        self.problem = problem
        self.problem_code = str(problem.get("code") or f"http.{status}")

    def __str__(self) -> str:
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{self.problem_code}: {self.message}{hint}"


@dataclass(frozen=True, slots=True)
class Client:
    """Speaks to one control plane. Each request is a connection of its own, so there is nothing to close."""

    url: str
    token: str
    timeout: float = 30.0

    def get(self, path: str, query: Mapping[str, str | int | float] | None = None, hold: float = 0.0) -> Json:
        """Read something; `hold` is how long the server may keep the request on top of the usual time."""
        return self.send("GET", path + (f"?{urlencode(query)}" if query else ""), None, hold=hold)

    def send(
        self, method: str, path: str, body: Mapping[str, Json] | None, *, key: str | None = None, hold: float = 0.0
    ) -> Json:
        """Send one request and give the answer's JSON; raises RefusedError or UnreachableError."""
        content = None if body is None else json.dumps(body)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        try:
            connection = self._connect(self.timeout + hold)
            try:
                connection.request(method, PREFIX + path, content, headers)
                answer = connection.getresponse()
                text = answer.read()
            finally:
                connection.close()
        except (OSError, http.client.HTTPException) as lost:
            raise UnreachableError(
                f"no control plane answers at {self.url}: {lost}", hint="`arroyo serve` starts one"
            ) from lost
        found = _parse(text)
        if answer.status >= 400:
            raise RefusedError(answer.status, found if isinstance(found, dict) else {})
        return found

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        parts = urlsplit(self.url)
        host = parts.hostname or ""
        if parts.scheme == "https":
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(host, parts.port, timeout=timeout, context=context)
        return http.client.HTTPConnection(host, parts.port, timeout=timeout)


def segment(text: str) -> str:
    """A text as one piece of a path."""
    return quote(text, safe="")


def read_url(server_file: Path) -> str | None:
    """The address that the last control plane of a data directory has written down."""
    try:
        url = json.loads(server_file.read_text())["url"]
    except (OSError, ValueError, KeyError):
        return None
    return str(url)


def _parse(text: bytes) -> Json:
    try:
        found: Json = json.loads(text) if text else None
    except ValueError:
        return None
    return found
