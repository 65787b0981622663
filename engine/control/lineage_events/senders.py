"""Receivers of events: an OpenLineage API, or a file with an event per line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

import httpx

from engine.control.limited_time import LimitedTransport
from engine.errors import LineageEventRefusedError, LineageUnreachableError
from engine.settings import OpenLineageSettings

_TIMEOUT = httpx.Timeout(10.0, connect=5.0)
_LIMIT = 20.0
"""Deadline of one event in seconds."""
_LATER = frozenset({401, 403, 404, 408, 429})
"""HTTP statuses after which the event is sent again, because the cause may be temporary or be fixed."""


class Sender(Protocol):
    """Sends events, each as JSON text."""

    def send(self, event: str) -> None:
        """Send an event. Raise LineageUnreachableError if it is to be sent again, and LineageEventRefusedError if it
        will never be accepted."""

    def close(self) -> None:
        """Release open resources."""


class HttpSender:
    """Posts events. Redirects are not followed, and no proxy or credentials are taken from the environment."""

    def __init__(self, settings: OpenLineageSettings, transport: httpx.BaseTransport | None = None) -> None:
        assert settings.url is not None
        self._url = f"{settings.url.rstrip('/')}/{settings.endpoint.lstrip('/')}"
        self._key = settings.api_key
        self._http = httpx.Client(
            timeout=_TIMEOUT,
            follow_redirects=False,
            trust_env=False,
            transport=transport or LimitedTransport(self._url, _LIMIT),
        )

    def send(self, event: str) -> None:
        """Post an event."""
        headers = {"content-type": "application/json"}
        if self._key is not None:
            headers["authorization"] = f"Bearer {self._key.get_secret_value()}"
        try:
            with self._http.stream("POST", self._url, content=event, headers=headers) as answer:
                status = answer.status_code  # what else it says is of no use here
        except httpx.HTTPError as error:
            raise LineageUnreachableError(
                f"{self._url} does not answer: {type(error).__name__} {error}".rstrip(),
                hint="see the setting openlineage.url, and that there is an API of OpenLineage",
            ) from error
        if httpx.codes.is_success(status):
            return
        if status >= 500 or status in _LATER or httpx.codes.is_redirect(status):
            raise LineageUnreachableError(
                f"{self._url} answers {status}", hint="see the settings openlineage.url, endpoint and api_key"
            )
        raise LineageEventRefusedError(f"{self._url} answers {status} to an event, which is left out")

    def close(self) -> None:
        """Close the connection."""
        self._http.close()


class FileSender:
    """Appends events to a file."""

    def __init__(self, path: Path) -> None:
        self._path = path.expanduser()

    def send(self, event: str) -> None:
        """Append an event. An incomplete line, such as after a full disk, stays, and a new one begins."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a+b") as file:
                if file.tell() > 0:
                    file.seek(-1, os.SEEK_END)
                    is_whole = file.read(1) == b"\n"
                else:
                    is_whole = True
                file.write((b"" if is_whole else b"\n") + event.encode() + b"\n")
        except OSError as error:
            raise LineageUnreachableError(
                f"{self._path} cannot be written: {error.strerror}", hint="see the setting openlineage.file"
            ) from error

    def close(self) -> None:
        """Do nothing: no file is open."""


def open_sender(settings: OpenLineageSettings) -> Sender | None:
    """Return the configured sender; None if there is none."""
    if settings.url is not None:
        return HttpSender(settings)
    return None if settings.file is None else FileSender(settings.file)
