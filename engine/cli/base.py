"""Declaration of a command line verb."""

from __future__ import annotations

import getpass
import json
import os
import re
import socket
import ssl
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote, urlencode

from engine import __version__
from engine.cli.terminal import is_text
from engine.errors import EngineError, RequestError, UnreachableError, message_of
from engine.jobs.address import API_PREFIX, LONGEST_NAME, NAME

if TYPE_CHECKING:
    import httpx


@dataclass(frozen=True, slots=True)
class Command:
    """A verb: its arguments, and its function; `run` returns the exit code."""

    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]


def path(text: str) -> Path:
    """Return the argument that names a file or a directory. Raise for an empty one: it is usually an unset variable,
    and would mean this directory."""
    if not text:
        raise ArgumentTypeError("is empty")
    if text.lower().startswith(("s3://", "s3::")):
        raise ArgumentTypeError(f"{text!r} is in a bucket, and must be on this machine")
    return Path(text)


_NO_CONTENT = 204
_SHOWN = 40
"""Number of characters of an invalid name to show."""
Query: TypeAlias = "Mapping[str, str | int | float | Sequence[str]]"
Json: TypeAlias = "None | bool | int | float | str | list[Json] | dict[str, Json]"


class RefusedError(EngineError):
    """The control plane refused a request; `problem_code` is the reason, `status` is HTTP's."""

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


def is_away(error: EngineError) -> bool:
    """Whether a control plane may answer later: it has not answered, or only that it is unavailable now."""
    return isinstance(error, UnreachableError) or (isinstance(error, RefusedError) and error.status >= 500)


@dataclass(frozen=True, slots=True)
class Client:
    """Sends requests to one control plane. Each uses a connection of its own, so there is nothing to close."""

    url: str
    token: str
    timeout: float = 30.0

    def get(self, path: str, query: Query | None = None, hold: float = 0.0) -> Json:
        """Read a resource; `hold` is how long the server may delay the answer on top of the usual time."""
        return self._send("GET", path + (f"?{urlencode(query, doseq=True)}" if query else ""), hold=hold)

    def send(self, method: str, path: str, body: Mapping[str, Json] | None, *, key: str | None = None) -> Json:
        """Send a change; `key` makes it idempotent."""
        if key is not None and not (key.strip() and key.isascii() and key.isprintable()):
            raise RequestError(f"{key!r} is not an idempotency key", hint="write it in ASCII, or leave it out")
        return self._send(method, path, body, {} if key is None else {"Idempotency-Key": key})

    def _send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Json] | None = None,
        headers: Mapping[str, str] | None = None,
        hold: float = 0.0,
    ) -> Json:
        """Send one request and return the answer's JSON; raise RefusedError or UnreachableError."""
        import httpx  # noqa: PLC0415 - a tenth of a second that verbs without a control plane need not pay

        if not (self.token.isascii() and self.token.isprintable()):
            raise RequestError("the token has characters that no token has", hint="`arroyo token create` makes one")
        try:
            address = httpx.URL(self.url).join(API_PREFIX + path)
            answer = httpx.request(
                method,
                address,
                json=body,
                headers={"Authorization": f"Bearer {self.token}", "User-Agent": _agent(), **(headers or {})},
                timeout=self.timeout + hold,
                trust_env=False,  # a proxy of the environment must not see the token, and cannot reach this machine
                # to read the certificates of this machine takes 20 ms, which http need not pay for each request
                verify=False if address.scheme == "http" else ssl.create_default_context(),
            )
        except UnicodeEncodeError as error:
            raise RequestError("the request holds what is not UTF-8 text", hint="see its arguments") from error
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise UnreachableError(
                f"no control plane answers at {self.url}: {message_of(error)}", hint="`arroyo serve` starts one"
            ) from error
        content = _parse(answer)
        if answer.is_error:
            raise RefusedError(answer.status_code, content if isinstance(content, dict) else {})
        if not isinstance(content, dict) and answer.status_code != _NO_CONTENT:
            raise UnreachableError(
                f"what answers at {self.url} is no control plane: it has sent neither a problem nor a JSON object",
                hint="name the address of a control plane with --url",
            )
        return content


def _agent() -> str:
    """Return the name of the caller, for later questions about who stopped a pipeline."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a container may have a user without a name
        user = str(os.getuid())
    name = f"{user}@{socket.gethostname()}".encode("ascii", "replace").decode()
    return f"arroyo/{__version__} ({name})"


def segment(text: str) -> str:
    """Return a name as one segment of a path; raise if it cannot be one, since it would lead nowhere, or elsewhere."""
    if not _is_name(text):
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        raise RequestError(
            f"{shown!r} is not a name",
            hint=f"a name is UTF-8 text of up to {LONGEST_NAME} characters, more than dots, and has no slash, no "
            "backslash and no control character",
        )
    return quote(text, safe="")


def _is_name(text: str) -> bool:
    fits = re.fullmatch(NAME, text) is not None and len(text) <= LONGEST_NAME
    return fits and is_text(text) and text not in {".", ".."}


def field_of(answer: Mapping[str, Json], name: str) -> str:
    """Return a field that every answer of that kind has."""
    if answer.get(name) is None:
        raise UnreachableError(
            f"what answers is no control plane: its answer has no {name!r}",
            hint="name the address of a control plane with --url",
        )
    return str(answer[name])


def _parse(answer: httpx.Response) -> Json:
    """Return the JSON of an answer; for server-sent events, that of the last one."""
    text = answer.text
    if text.startswith("data: "):
        text = next((line[6:] for line in reversed(text.splitlines()) if line.startswith("data: ")), "")
    try:
        content: Json = json.loads(text) if text else None
    except ValueError:
        return None
    return content
